#include "grove/coupling/coupling.h"

#include <array>
#include <cmath>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "grove/agent/cost.h"

namespace grove {
namespace {

constexpr LinkWeightForm full{LinkWeightShape::full};

CouplingOptions with_penalty(LinkKind kind, double mu, double relaxation = 1) {
  return {.kind = kind, .weighting = FixedPenalty{mu}, .relaxation = relaxation};
}

CouplingOptions with_published_weights(LinkKind kind) {
  return {.kind = kind, .weighting = full, .relaxation = 1.7};
}

Vector gradient_of(const Coupling& coupling, const Vector& x) {
  Vector gradient = Vector::Zero(x.size());
  coupling.add_gradient(x, gradient);
  return gradient;
}

/// One agent with one neighbour, in one dimension unless it starts elsewhere.
struct End {
  explicit End(const CouplingOptions& options, const Vector& start = Vector::Zero(1))
      : coupling(make_coupling(options, start, 1)), x(start) {}

  void publish(double weight, std::uint64_t version) {
    coupling->publish(LinkWeight(full, Matrix::Constant(1, 1, weight)), version, x);
  }
  StoredMessage send() {
    coupling->prepare_messages(x);
    Message message{.sequence = ++sequence};
    coupling->fill_message(0, x, message);
    return StoredMessage(message);
  }
  void receive(const StoredMessage& message) { coupling->receive(0, message.view(), x); }
  bool sends_weight() { return !send().view().weight_update.empty(); }

  double gradient() const { return gradient_of(*coupling, x)[0]; }
  double weight() const {
    Vector product = Vector::Zero(1);
    coupling->weights().sum().add_product(Vector::Ones(1), product);
    return product[0];
  }
  bool established() const { return coupling->weights().established(0); }

  std::unique_ptr<Coupling> coupling;
  Vector x;
  std::uint64_t sequence = 0;
};

void play_round(End& i, bool i_active, End& j, bool j_active) {
  std::optional<StoredMessage> from_i, from_j;
  if (i_active) from_i = i.send();
  if (j_active) from_j = j.send();
  if (from_j) i.receive(*from_j);
  if (from_i) j.receive(*from_i);
  i.coupling->end_round(i.x, i_active);
  j.coupling->end_round(j.x, j_active);
}

void exchange(End& i, End& j) { play_round(i, true, j, true); }
/// A round in which j is inactive.
void activate_only(End& i, End& j) { play_round(i, true, j, false); }

class BothKinds : public testing::TestWithParam<LinkKind> {};
INSTANTIATE_TEST_SUITE_P(Coupling, BothKinds, testing::Values(LinkKind::broadcast, LinkKind::edge));

// ---- Fixed penalties

// Two ends i, j with mu = 2 at x = 0; both step, to x_i = 1 and x_j = 3. By hand:
// dual_ij = (mu/2)(1 - 3) = -2 and the gradient at x_i is dual + (mu/2)(x_i - x_j) = -2 - 2 = -4;
// in edge form u_ij = mu x_j - dual_before = 6, and mu x_i - u_ij = 2 - 6 = -4.
TEST_P(BothKinds, HaveTheGradientWorkedOutByHandAfterBothEndsStep) {
  End i(with_penalty(GetParam(), 2)), j(with_penalty(GetParam(), 2));
  EXPECT_EQ(i.gradient(), 0);
  i.x[0] = 1;
  j.x[0] = 3;
  exchange(i, j);
  EXPECT_DOUBLE_EQ(i.gradient(), -4);
  EXPECT_DOUBLE_EQ(j.gradient(), 4);
}

TEST_P(BothKinds, HaveNoGradientAtTheStartWhereverThatIs) {
  const Vector start = Vector::LinSpaced(3, -1, 2);
  const auto coupling = make_coupling(with_penalty(GetParam(), 0.7), start, 2);
  EXPECT_LT(gradient_of(*coupling, start).norm(), 1e-15);
}

TEST_P(BothKinds, ContinueExactlyFromASavedStateWithAFixedPenalty) {
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
TEST_P(BothKinds, LeaveTheGradientOfAnEndThatIsActiveAloneAsItIs) {
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
TEST_P(BothKinds, FollowThePapersRuleForDualsWhenEveryoneIsActive) {
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
TEST_P(BothKinds, MoveZAndDualsByTheShareOfEveryActiveEnd) {
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

TEST_P(BothKinds, WithAFixedPenaltyARemovedLinkHasNoGradientAndANewOneStartsWithout) {
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

// ---- Published weights

// C_i = 1 and C_j = 3 make P = 2; z is 0. With x_i = 1 and x_j = 3 both ends move z by 0.85 of the
// way to their x: to 3.4. The dual of i is 0.85 P (1 - 3) = -3.4, and the gradient -3.4 +
// P (1 - 3.4) = -8.2; that of j is 3.4 + P (3 - 3.4) = 2.6.
TEST_P(BothKinds, WeightALinkByTheMeanOfTheTwoPublishedWeights) {
  End i(with_published_weights(GetParam())), j(with_published_weights(GetParam()));
  i.publish(1, 1);
  j.publish(3, 1);
  exchange(i, j);
  EXPECT_EQ(i.gradient(), 0) << "establishing a link has no gradient";
  EXPECT_TRUE(i.established());
  EXPECT_EQ(i.weight(), 2);
  i.x[0] = 1;
  j.x[0] = 3;
  exchange(i, j);
  EXPECT_NEAR(i.gradient(), -8.2, 1e-12);
  EXPECT_NEAR(j.gradient(), 2.6, 1e-12);
}

// A process that lost its state uses version 1 again, for another weight.
TEST(EdgeCoupling, DistinguishesTwoWeightsOfOneVersion) {
  End i(with_published_weights(LinkKind::edge)), j(with_published_weights(LinkKind::edge)),
      restarted(with_published_weights(LinkKind::edge));
  i.publish(4, 1);
  j.publish(2, 1);
  for (int k = 0; k < 3; ++k) exchange(i, j);
  EXPECT_EQ(j.weight(), 3);
  restarted.publish(8, 1);
  restarted.sequence = 100;  // above all that j has received
  for (int k = 0; k < 5; ++k) exchange(restarted, j);
  EXPECT_EQ(restarted.weight(), 5);
  EXPECT_EQ(j.weight(), 5);
  EXPECT_EQ(j.coupling->disagreement(j.x), 0) << "both ends use the same P";
}

// d = 5: a full weight is 15 numbers in single precision, 60 bytes, which two vectors of 40 bytes
// hold.
TEST_P(BothKinds, SendVectorsAndWeightsThatAreCountedInVectors) {
  const Vector x = Vector::Ones(5);
  const auto i = make_coupling(with_published_weights(GetParam()), x, 1),
             j = make_coupling(with_published_weights(GetParam()), x, 1);
  const bool edge = GetParam() == LinkKind::edge;
  const auto message_of = [&](Coupling& end, std::uint64_t sequence) {
    end.prepare_messages(x);
    Message message{.sequence = sequence};
    end.fill_message(0, x, message);
    return message;
  };
  const auto cost_of = [](const Message& message) {
    Cost cost;
    cost.count_message(message, 5);
    return cost;
  };
  for (const auto& end : {i.get(), j.get()})
    end->publish(LinkWeight(full, 2 * Matrix::Identity(5, 5)), 1, x);
  const std::size_t ids = edge ? 2 * Message::encoded_weight_id_bytes : 0;
  const Message first = message_of(*i, 1);
  EXPECT_EQ(cost_of(first).vectors_sent, edge ? 2u : 1u + 2u)
      << "edge coupling sends no vector before the weights of both ends are known";
  EXPECT_EQ(cost_of(first).bytes_sent, (edge ? 60u : 100u) + ids);
  i->receive(0, message_of(*j, 1), x);
  i->end_round(x, true);
  const Message second = message_of(*i, 2);
  EXPECT_EQ(cost_of(second).vectors_sent, 1u);
  EXPECT_EQ(cost_of(second).bytes_sent, 40u + ids);
}

TEST_P(BothKinds, EstablishALinkOnceBothEndsHavePublished) {
  End i(with_published_weights(GetParam())), j(with_published_weights(GetParam()));
  i.publish(1, 1);
  exchange(i, j);
  EXPECT_FALSE(i.established());
  EXPECT_FALSE(j.established());
  i.x[0] = 5;
  EXPECT_EQ(i.gradient(), 0);
  j.publish(1, 2);
  exchange(i, j);
  exchange(i, j);
  EXPECT_TRUE(i.established());
  EXPECT_TRUE(j.established());
}

/// The two ends of an established link after a round in which both have moved.
struct Pair {
  explicit Pair(LinkKind kind) : i(with_published_weights(kind)), j(with_published_weights(kind)) {
    i.publish(1, 1);
    j.publish(3, 1);
    exchange(i, j);
    i.x[0] = 1;
    j.x[0] = 3;
    exchange(i, j);
  }
  End i, j;
};

// From z = 3.4 and the duals -3.4 and 3.4 of the first test of published weights. i moves to 2
// while j is inactive at 3: the dual becomes -3.4 + 0.85 P (2 - 3.4) = -5.78, and z becomes
// 3.4 + 0.85 (2 - 3.4) = 2.21.
TEST_P(BothKinds, MoveAnEstablishedLinkByTheShareOfTheActiveEnd) {
  Pair pair(GetParam());
  pair.i.x[0] = 2;
  activate_only(pair.i, pair.j);
  EXPECT_NEAR(pair.i.gradient(), -5.78 + 2 * (2 - 2.21), 1e-12);
  EXPECT_NEAR(pair.j.gradient(), 5.78 + 2 * (3 - 2.21), 1e-12);
}

// Where it minimizes with the same gradient it stays, however long the other end is inactive:
// agents that are active at unequal rates do not diverge. The effect of its messages converges.
TEST_P(BothKinds, LeaveTheGradientAsItIsOnAnEstablishedLinkWithOneActiveEnd) {
  Pair pair(GetParam());
  const double expected = pair.i.gradient();
  double before = pair.j.gradient(), change = 0;
  for (int k = 0; k < 30; ++k) {
    activate_only(pair.i, pair.j);
    EXPECT_NEAR(pair.i.gradient(), expected, 1e-12);
    change = std::abs(pair.j.gradient() - std::exchange(before, pair.j.gradient()));
  }
  EXPECT_LT(change, 1e-12);
}

// They are one method: what broadcast coupling knows of z is in the messages of edge coupling.
TEST(PublishedWeights, BothKindsHaveTheSameGradientsWhoeverIsActive) {
  Pair broadcast(LinkKind::broadcast), edge(LinkKind::edge);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> coordinate(-1, 1);
  for (int k = 0; k < 100; ++k) {
    const auto active = random() % 3;  // i, j or both
    const double x_i = coordinate(random), x_j = coordinate(random);
    for (Pair* pair : {&broadcast, &edge}) {
      if (active != 1) pair->i.x[0] = x_i;
      if (active != 0) pair->j.x[0] = x_j;
      play_round(pair->i, active != 1, pair->j, active != 0);
    }
    ASSERT_NEAR(broadcast.i.gradient(), edge.i.gradient(), 1e-10) << k;
    ASSERT_NEAR(broadcast.j.gradient(), edge.j.gradient(), 1e-10) << k;
  }
}

// The round in which i publishes a new weight still has P = 2: from z = 3.4 and the dual -3.4 both
// ends move to 3.4 + 0.85 (1 + 3 - 6.8) = 1.02 and -3.4 + 0.85 P (1 - 3) = -6.8. These stay when P
// becomes 26.5.
TEST(BroadcastCoupling, KeepsZAndDualsWhenOneEndPublishesANewWeight) {
  Pair pair(LinkKind::broadcast);
  pair.i.publish(50, 2);
  exchange(pair.i, pair.j);
  EXPECT_EQ(pair.i.weight(), 26.5);
  EXPECT_EQ(pair.j.weight(), 26.5);
  EXPECT_NEAR(pair.i.gradient(), -6.8 + 26.5 * (1 - 1.02), 1e-12);
  EXPECT_NEAR(pair.j.gradient(), 6.8 + 26.5 * (3 - 1.02), 1e-12);
}

TEST(EdgeCoupling, ANewWeightDoesNotMakeTheGradientJumpAtEitherEnd) {
  Pair pair(LinkKind::edge);
  const double at_i = pair.i.gradient(), at_j = pair.j.gradient();
  pair.i.publish(50, 2);
  EXPECT_NEAR(pair.i.gradient(), at_i, 1e-12);
  // j adopts it from a message whose vector it must ignore: one without its own current version.
  pair.j.publish(4, 2);
  pair.j.receive(pair.i.send());
  EXPECT_NEAR(pair.j.gradient(), at_j, 1e-12);
  EXPECT_EQ(pair.j.weight(), 27);
}

TEST(EdgeCoupling, MessagesComputedWithAnotherPairOfWeightsChangeNothing) {
  Pair pair(LinkKind::edge);
  const StoredMessage old_message = pair.j.send();
  pair.i.publish(50, 2);
  const double before = pair.i.gradient();
  pair.i.receive(old_message);
  EXPECT_EQ(pair.i.gradient(), before);
}

TEST(EdgeCoupling, ALostWeightIsSentAgainAndThenNoMore) {
  Pair pair(LinkKind::edge);
  EXPECT_FALSE(pair.i.sends_weight());
  pair.i.publish(50, 2);
  EXPECT_TRUE(pair.i.sends_weight());  // and is lost
  int sent = 0;
  for (int round = 0; round < 6; ++round) {
    const StoredMessage from_i = pair.i.send(), from_j = pair.j.send();
    sent += !from_i.view().weight_update.empty();
    pair.j.receive(from_i);
    pair.i.receive(from_j);
  }
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(pair.i.weight(), pair.j.weight());
}

// The neighbour knows version 2 of an agent that was rolled back to version 1: a third is needed,
// because the agent may use version 2 again for another weight.
TEST(EdgeCoupling, AnAgentThatWasRolledBackLearnsThatItMustPublishAgain) {
  Pair pair(LinkKind::edge);
  ByteWriter writer;
  pair.i.coupling->save(writer);
  pair.i.publish(50, 2);
  exchange(pair.i, pair.j);
  ByteReader reader(writer.bytes());
  pair.i.coupling->load(reader);
  ASSERT_TRUE(reader.finished());
  EXPECT_FALSE(pair.i.coupling->rolled_back());
  exchange(pair.i, pair.j);
  EXPECT_TRUE(pair.i.coupling->rolled_back());
  pair.i.publish(7, 9);
  exchange(pair.i, pair.j);
  exchange(pair.i, pair.j);
  EXPECT_FALSE(pair.i.coupling->rolled_back());
  EXPECT_EQ(pair.i.weight(), pair.j.weight());
  EXPECT_EQ(pair.i.weight(), 5);
}

TEST(EdgeCoupling, SendsItsWeightAgainToANeighbourThatHasLostIt) {
  Pair pair(LinkKind::edge);
  exchange(pair.i, pair.j);
  EXPECT_FALSE(pair.i.sends_weight());
  End restarted(with_published_weights(LinkKind::edge));  // j without its state
  restarted.publish(3, 7);
  restarted.sequence = 99;
  pair.i.receive(restarted.send());
  EXPECT_TRUE(pair.i.sends_weight());
}

TEST(EdgeCoupling, SendsAWeightAgainAtOnceAfterAMessageThatWasNotSent) {
  Pair pair(LinkKind::edge);
  EXPECT_FALSE(pair.i.sends_weight());
  pair.i.publish(50, 2);
  for (int k = 0; k < 10; ++k) {
    EXPECT_TRUE(pair.i.sends_weight());
    pair.i.coupling->not_sent(0);
  }
}

// With P = 2, u_ij = P x_i = 2 and the message 2 P x_j - u_ji = 12 - 6 = 6: they differ by
// (6 - 2) / P.
TEST(EdgeCoupling, DisagreementIsInUnitsOfX) {
  End i(with_published_weights(LinkKind::edge)), j(with_published_weights(LinkKind::edge));
  EXPECT_TRUE(std::isinf(i.coupling->disagreement(i.x)));
  i.x[0] = 1;
  j.x[0] = 3;
  i.publish(1, 1);
  j.publish(3, 1);
  exchange(i, j);
  exchange(i, j);
  EXPECT_DOUBLE_EQ(i.coupling->disagreement(i.x), 2);
  EXPECT_DOUBLE_EQ(j.coupling->disagreement(j.x), 2);
  i.publish(5, 2);
  EXPECT_TRUE(std::isinf(i.coupling->disagreement(i.x))) << "the ends do not yet use the same P";
}

TEST_P(BothKinds, ARemovedLinkHasNoGradientAndANewOneIsNotEstablished) {
  Pair pair(GetParam());
  pair.i.coupling->remove_link(0);
  EXPECT_EQ(pair.i.gradient(), 0);
  EXPECT_EQ(pair.i.coupling->weights().established(), 0u);
  EXPECT_EQ(pair.i.coupling->disagreement(pair.i.x), 0);
  pair.i.coupling->add_link(pair.i.x);
  EXPECT_EQ(pair.i.gradient(), 0);
  EXPECT_FALSE(pair.i.established());
}

template <class Numbers>
auto values(const Numbers& span) {
  return std::vector(span.begin(), span.end());
}

TEST_P(BothKinds, ContinueExactlyFromASavedStateWithPublishedWeights) {
  Pair pair(GetParam());
  ByteWriter writer;
  pair.i.coupling->save(writer);
  End loaded(with_published_weights(GetParam()));
  ByteReader reader(writer.bytes());
  loaded.coupling->load(reader);
  EXPECT_TRUE(reader.finished());
  loaded.x = pair.i.x;
  EXPECT_EQ(loaded.gradient(), pair.i.gradient());
  const StoredMessage expected = pair.i.send(), found = loaded.send();
  EXPECT_EQ(found.view().weights, expected.view().weights);
  EXPECT_EQ(values(found.view().vector), values(expected.view().vector));
  EXPECT_EQ(values(found.view().weight_update), values(expected.view().weight_update));
}

}  // namespace
}  // namespace grove
