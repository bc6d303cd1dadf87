#include "grove/coupling/links.h"

#include <array>

#include <gtest/gtest.h>

namespace grove {
namespace {

std::unique_ptr<Links> links_of(LinkKind kind, double penalty, const Vector& start) {
  return make_links({.kind = kind, .penalties = {penalty}}, start);
}

Vector pull_of(const Links& links, const Vector& x) {
  Vector pull = Vector::Zero(x.size());
  links.add_pull(x, pull);
  return pull;
}

void say(Links& from, const Vector& x, Links& to, std::uint64_t sequence) {
  from.speak(x);
  to.receive(0, Message{.sequence = sequence, .payload = from.payload_to(0, x)});
}

// Two ends i, j with mu = 2 at x = 0; both step, to x_i = 1 and x_j = 3. By hand:
// dual_ij = (mu/2)(1 - 3) = -2 and the pull at x_i is dual + (mu/2)(x_i - x_j) = -2 - 2 = -4;
// in edge form u_ij = mu x_j - dual_before = 6, and mu x_i - u_ij = 2 - 6 = -4.
class LinkPair : public testing::TestWithParam<LinkKind> {};
INSTANTIATE_TEST_SUITE_P(BothKinds, LinkPair, testing::Values(LinkKind::broadcast, LinkKind::edge));

TEST_P(LinkPair, PullsAsWorkedByHandAfterBothEndsStep) {
  const Vector start = Vector::Zero(1), x_i = Vector::Constant(1, 1), x_j = Vector::Constant(1, 3);
  auto i = links_of(GetParam(), 2, start), j = links_of(GetParam(), 2, start);
  EXPECT_EQ(pull_of(*i, start)[0], 0);
  i->speak(x_i);
  j->speak(x_j);
  const std::array<double, 1> from_i{i->payload_to(0, x_i)[0]}, from_j{j->payload_to(0, x_j)[0]};
  i->receive(0, Message{.sequence = 1, .payload = from_j});
  j->receive(0, Message{.sequence = 1, .payload = from_i});
  i->end_round(x_i, true);
  j->end_round(x_j, true);
  EXPECT_DOUBLE_EQ(pull_of(*i, x_i)[0], -4);
  EXPECT_DOUBLE_EQ(pull_of(*j, x_j)[0], 4);
}

TEST_P(LinkPair, StartsWithoutPullWhereverItStarts) {
  const Vector start = Vector::LinSpaced(3, -1, 2);
  EXPECT_LT(pull_of(*links_of(GetParam(), 0.7, start), start).norm(), 1e-15);
}

TEST_P(LinkPair, SavedStateContinuesExactly) {
  const Vector start = Vector::Zero(2), x = Vector::LinSpaced(2, 1, 2);
  auto original = links_of(GetParam(), 0.3, start), other = links_of(GetParam(), 0.3, start);
  say(*other, x, *original, 1);
  original->end_round(start, false);
  ByteWriter writer;
  original->save(writer);
  auto loaded = links_of(GetParam(), 0.3, start);
  ByteReader reader(writer.bytes());
  loaded->load(reader);
  EXPECT_TRUE(reader.finished());
  EXPECT_EQ(pull_of(*loaded, x), pull_of(*original, x));
  EXPECT_GT(original->disagreement(start), 0);
  EXPECT_EQ(loaded->disagreement(start), original->disagreement(start));
}

TEST(BroadcastLinks, DualsStayOppositeWhicheverEndIsActive) {
  const Vector start = Vector::Zero(1);
  auto i = links_of(LinkKind::broadcast, 1, start), j = links_of(LinkKind::broadcast, 1, start);
  Vector x_i = start, x_j = start;
  for (int round = 1; round <= 20; ++round) {
    const bool i_active = round % 2 == 0, j_active = round % 3 == 0;
    if (i_active) x_i[0] += round;
    if (j_active) x_j[0] -= 0.5 * round;
    if (i_active) say(*i, x_i, *j, round);
    if (j_active) say(*j, x_j, *i, round);
    i->end_round(x_i, i_active);
    j->end_round(x_j, j_active);
    EXPECT_EQ(pull_of(*i, x_i)[0], -pull_of(*j, x_j)[0]) << "round " << round;
  }
}

// mu = 2, x_i = 1, x_j = 0: a whole move of the dual is 1, and the pull is the dual and 1.
TEST(BroadcastLinks, MoveADualEverLessWhileOneEndRestsWhereRatesAreUnequal) {
  const Vector start = Vector::Zero(1), x = Vector::Constant(1, 1);
  for (const bool unequal : {false, true}) {
    const LinkOptions options{.penalties = {2}, .unequal_rates = unequal};
    const auto i = make_links(options, start), j = make_links(options, start);
    double whole = 0, sum = 0;
    for (int k = 1; k <= 3; ++k) {
      whole += 1;
      sum += 1.0 / k;
      say(*i, x, *j, 1);
      i->end_round(x, true);
      j->end_round(start, false);
      EXPECT_DOUBLE_EQ(pull_of(*i, x)[0], (unequal ? sum : whole) + 1);
      EXPECT_DOUBLE_EQ(pull_of(*j, start)[0], -pull_of(*i, x)[0]);
    }
  }
}

TEST(BroadcastLinks, NothingMovesWhenBothEndsRest) {
  const Vector start = Vector::Zero(1), x = Vector::Constant(1, 5);
  auto i = links_of(LinkKind::broadcast, 1, start);
  const double before = pull_of(*i, x)[0];
  i->end_round(x, false);
  EXPECT_EQ(pull_of(*i, x)[0], before);
}

TEST(EdgeLinks, OldAndRepeatedMessagesChangeNothing) {
  const Vector start = Vector::Zero(1), x = Vector::Constant(1, 2);
  auto i = links_of(LinkKind::edge, 1, start), j = links_of(LinkKind::edge, 1, start);
  say(*j, x, *i, 5);
  const double pull = pull_of(*i, x)[0];
  say(*j, x, *i, 5);
  say(*j, 7 * x, *i, 4);
  EXPECT_EQ(pull_of(*i, x)[0], pull);
}

}  // namespace
}  // namespace grove
