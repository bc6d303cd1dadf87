#include <array>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "grove/coupling/test_link.h"

namespace grove {
namespace {

using namespace coupling_test;

class FixedPenaltyOfBothKinds : public testing::TestWithParam<LinkKind> {};
INSTANTIATE_TEST_SUITE_P(Coupling, FixedPenaltyOfBothKinds,
                         testing::Values(LinkKind::broadcast, LinkKind::edge));

// Two ends i, j with mu = 2 at x = 0; both step, to x_i = 1 and x_j = 3. By hand:
// dual_ij = (mu/2)(1 - 3) = -2 and the gradient at x_i is dual + (mu/2)(x_i - x_j) = -2 - 2 = -4;
// in edge form u_ij = mu x_j - dual_before = 6, and mu x_i - u_ij = 2 - 6 = -4.
TEST_P(FixedPenaltyOfBothKinds, HaveTheGradientWorkedOutByHandAfterBothEndsStep) {
  End i(with_penalty(GetParam(), 2)), j(with_penalty(GetParam(), 2));
  EXPECT_EQ(i.gradient(), 0);
  i.x[0] = 1;
  j.x[0] = 3;
  exchange(i, j);
  EXPECT_DOUBLE_EQ(i.gradient(), -4);
  EXPECT_DOUBLE_EQ(j.gradient(), 4);
}

TEST_P(FixedPenaltyOfBothKinds, HaveNoGradientAtTheStartWhereverThatIs) {
  const Vector start = Vector::LinSpaced(3, -1, 2);
  const auto coupling = make_coupling(with_penalty(GetParam(), 0.7), start, 2);
  EXPECT_LT(gradient_of(*coupling, start).norm(), 1e-15);
}

TEST_P(FixedPenaltyOfBothKinds, ContinueExactlyFromASavedStateWithAFixedPenalty) {
  const Vector start = Vector::Zero(2), x = Vector::LinSpaced(2, 1, 2);
  const CouplingOptions options = with_penalty(GetParam(), 0.3);
  End original(options, start), other(options, start), loaded(options, start);
  other.x = x;
  activate_only(other, original);
  ByteWriter writer;
  original.coupling->save(writer);
  ByteReader reader(writer.bytes());
  loaded.coupling->load(reader);
  EXPECT_TRUE(reader.finished());
  EXPECT_EQ(gradient_of(*loaded.coupling, x), gradient_of(*original.coupling, x));
  EXPECT_GT(original.coupling->disagreement(start), 0);
  EXPECT_EQ(loaded.coupling->disagreement(start), original.coupling->disagreement(start));
}

// mu = 2, x_i = 1, x_j = 0. After k rounds of i alone z = 1 - 2^-k and dual_ij = 2 (1 - 2^-k): the
// gradient at i is always 2 (1 - 2^-k) + 2 * 2^-k = 2, and at j it is -4 (1 - 2^-k).
TEST_P(FixedPenaltyOfBothKinds, LeaveTheGradientOfAnEndThatIsActiveAloneAsItIs) {
  End i(with_penalty(GetParam(), 2)), j(with_penalty(GetParam(), 2));
  i.x[0] = 1;
  for (int k = 1; k <= 30; ++k) {
    activate_only(i, j);
    EXPECT_DOUBLE_EQ(i.gradient(), 2);
    EXPECT_DOUBLE_EQ(j.gradient(), -4 * (1 - std::pow(0.5, k)));
  }
}

/// A complete network of agents in three dimensions.
struct Network {
  static constexpr std::size_t agents = 4;

  explicit Network(const CouplingOptions& options) {
    for (auto& coupling : couplings) coupling = make_coupling(options, start(), agents - 1);
    xs.fill(start());
  }
  static Vector start() { return Vector::LinSpaced(3, -1, 2); }
  static std::size_t slot(std::size_t at, std::size_t of) { return of < at ? of : of - 1; }

  /// Every active agent moves to the point given for it.
  void play_round(const std::array<bool, agents>& active, const std::array<Vector, agents>& to) {
    ++round;
    for (std::size_t i = 0; i < agents; ++i) {
      if (!active[i]) continue;
      xs[i] = to[i];
      couplings[i]->prepare_messages(xs[i]);
    }
    for (std::size_t i = 0; i < agents; ++i)
      for (std::size_t j = 0; j < agents; ++j) {
        if (i == j || !active[i]) continue;
        Message message{.sequence = round};
        couplings[i]->fill_message(slot(i, j), xs[i], message);
        couplings[j]->receive(slot(j, i), message, xs[j]);
      }
    for (std::size_t i = 0; i < agents; ++i) couplings[i]->end_round(xs[i], active[i]);
  }

  std::array<std::unique_ptr<Coupling>, agents> couplings;
  std::array<Vector, agents> xs;
  std::uint64_t round = 0;
};

/// Points and activity of a network, at random.
struct RandomRounds {
  std::array<Vector, Network::agents> points() {
    std::array<Vector, Network::agents> result;
    for (Vector& point : result)
      point = Vector::NullaryExpr(3, [this] { return coordinate(random); });
    return result;
  }
  std::array<bool, Network::agents> activity() {
    std::array<bool, Network::agents> result;
    for (bool& active : result) active = random() % 2 == 0;
    return result;
  }

  std::mt19937_64 random{1};
  std::uniform_real_distribution<double> coordinate{-1, 1};
};

TEST(FixedPenalty, BothKindsHaveTheSameGradientsWhoeverIsActive) {
  for (const double relaxation : {1.0, 1.7}) {
    Network broadcast(with_penalty(LinkKind::broadcast, 0.7, relaxation)),
        edge(with_penalty(LinkKind::edge, 0.7, relaxation));
    RandomRounds rounds;
    for (int k = 0; k < 200; ++k) {
      const auto active = rounds.activity();
      const auto points = rounds.points();
      broadcast.play_round(active, points);
      edge.play_round(active, points);
      for (std::size_t i = 0; i < Network::agents; ++i)
        ASSERT_LT((gradient_of(*broadcast.couplings[i], broadcast.xs[i]) -
                   gradient_of(*edge.couplings[i], edge.xs[i]))
                      .norm(),
                  1e-12)
            << "agent " << i << ", round " << k;
    }
  }
}

// dual_ij += (mu/2)(x_i - x_j) for every link, and the gradient of the augmented Lagrangian at x_i
// is the sum of dual_ij + (mu/2)(x_i - x_j).
TEST_P(FixedPenaltyOfBothKinds, FollowThePapersRuleForDualsWhenEveryoneIsActive) {
  constexpr double mu = 0.7;
  Network network(with_penalty(GetParam(), mu));
  RandomRounds rounds;
  std::array<std::array<Vector, Network::agents>, Network::agents> dual;
  for (auto& row : dual) row.fill(Vector::Zero(3));
  for (int k = 0; k < 100; ++k) {
    const auto points = rounds.points();
    network.play_round({true, true, true, true}, points);
    for (std::size_t i = 0; i < Network::agents; ++i) {
      Vector expected = Vector::Zero(3);
      for (std::size_t j = 0; j < Network::agents; ++j) {
        if (i == j) continue;
        dual[i][j] += mu / 2 * (points[i] - points[j]);
        expected += dual[i][j] + mu / 2 * (points[i] - points[j]);
      }
      ASSERT_LT((gradient_of(*network.couplings[i], points[i]) - expected).norm(), 1e-12)
          << "agent " << i << ", round " << k;
    }
  }
}

// For every active end e of a link, all with the z of before the round:
//   z_ij += (relaxation/2)(x_e - z_ij), dual_e += (relaxation/2) mu (x_e - z_ij), and the dual of
// the other end stays opposite.
TEST_P(FixedPenaltyOfBothKinds, MoveZAndDualsByTheShareOfEveryActiveEnd) {
  constexpr double mu = 0.7;
  for (const double relaxation : {1.0, 1.7}) {
    Network network(with_penalty(GetParam(), mu, relaxation));
    RandomRounds rounds;
    std::array<std::array<Vector, Network::agents>, Network::agents> z, dual;  // by i < j
    for (auto& row : z) row.fill(Network::start());
    for (auto& row : dual) row.fill(Vector::Zero(3));
    for (int k = 0; k < 200; ++k) {
      const auto active = rounds.activity();
      network.play_round(active, rounds.points());
      std::array<Vector, Network::agents> expected;
      expected.fill(Vector::Zero(3));
      for (std::size_t i = 0; i < Network::agents; ++i)
        for (std::size_t j = i + 1; j < Network::agents; ++j) {
          const Vector &x_i = network.xs[i], &x_j = network.xs[j], before = z[i][j];
          if (active[i]) {
            z[i][j] += relaxation / 2 * (x_i - before);
            dual[i][j] += relaxation / 2 * mu * (x_i - before);
          }
          if (active[j]) {
            z[i][j] += relaxation / 2 * (x_j - before);
            dual[i][j] -= relaxation / 2 * mu * (x_j - before);
          }
          expected[i] += dual[i][j] + mu * (x_i - z[i][j]);
          expected[j] += -dual[i][j] + mu * (x_j - z[i][j]);
        }
      for (std::size_t i = 0; i < Network::agents; ++i)
        ASSERT_LT((gradient_of(*network.couplings[i], network.xs[i]) - expected[i]).norm(), 1e-12)
            << "agent " << i << ", round " << k;
    }
  }
}

/// Of one link in one dimension, as its coupling saves them.
struct LinkState {
  explicit LinkState(const Coupling& coupling) {
    ByteWriter writer;
    coupling.save(writer);
    ByteReader reader(writer.bytes());
    for (double* value : {&neighbour_x, &dual, &z}) reader.get(std::span<double>(value, 1));
    EXPECT_TRUE(reader.ok());
  }
  double neighbour_x = 0, dual = 0, z = 0;
};

// Whoever is active, and although sums are rounded: the numbers are no binary fractions.
TEST(BroadcastCoupling, ZStaysEqualAndDualsStayOppositeBitForBit) {
  const CouplingOptions options = with_penalty(LinkKind::broadcast, 0.7, 1.7);
  End i(options), j(options);
  for (int round = 1; round <= 20; ++round) {
    const bool i_active = round % 2 == 0, j_active = round % 3 == 0;
    if (i_active) i.x[0] += 0.1 * round;
    if (j_active) j.x[0] -= 0.3 * round;
    play_round(i, i_active, j, j_active);
    const LinkState at_i(*i.coupling), at_j(*j.coupling);
    EXPECT_EQ(at_i.neighbour_x, j.x[0]);
    EXPECT_EQ(at_i.dual, -at_j.dual) << "round " << round;
    EXPECT_EQ(at_i.z, at_j.z) << "round " << round;
    EXPECT_DOUBLE_EQ(i.gradient(), at_i.dual + 0.7 * (i.x[0] - at_i.z));
  }
}

TEST(BroadcastCoupling, NothingMovesWhenBothEndsAreInactive) {
  End i(with_penalty(LinkKind::broadcast, 1));
  i.x[0] = 5;
  const double before = i.gradient();
  i.coupling->end_round(i.x, false);
  EXPECT_EQ(i.gradient(), before);
}

TEST(EdgeCoupling, OldAndRepeatedMessagesChangeNothing) {
  End i(with_penalty(LinkKind::edge, 1)), j(with_penalty(LinkKind::edge, 1));
  i.x[0] = j.x[0] = 2;
  j.sequence = 4;
  const StoredMessage fifth = j.send();
  i.receive(fifth);
  const double gradient = i.gradient();
  EXPECT_NE(gradient, 2);  // which it would be without a message
  i.receive(fifth);
  j.x[0] = 14;
  j.sequence = 3;
  i.receive(j.send());
  EXPECT_EQ(i.gradient(), gradient);
}

TEST_P(FixedPenaltyOfBothKinds, WithAFixedPenaltyARemovedLinkHasNoGradientAndANewOneStartsWithout) {
  End i(with_penalty(GetParam(), 2)), j(with_penalty(GetParam(), 2));
  i.x[0] = 1;
  j.x[0] = 3;
  exchange(i, j);
  i.coupling->remove_link(0);
  EXPECT_EQ(i.gradient(), 0);
  EXPECT_EQ(i.weight(), 0);
  i.coupling->add_link(i.x);
  EXPECT_EQ(i.gradient(), 0);
  EXPECT_EQ(i.weight(), 2);
}

}  // namespace
}  // namespace grove
