#include "grove/coupling/curvature_links.h"

#include <cmath>
#include <cstring>
#include <random>
#include <utility>

#include <gtest/gtest.h>

namespace grove {
namespace {

Matrix spd(Index dimension, double condition) {
  Matrix result(dimension, dimension);
  for (Index r = 0; r < dimension; ++r)
    for (Index c = 0; c < dimension; ++c)
      result(r, c) = std::sin(1.0 + static_cast<double>(3 * r + 7 * c * r + c));
  result = Matrix(result * result.transpose());
  result.diagonal().array() += result.diagonal().mean() / condition;
  return result;
}

Matrix dense(const Curvature& curvature, Index dimension) {
  Matrix result = Matrix::Zero(dimension, dimension);
  curvature.add_to(1, result);
  return result.selfadjointView<Eigen::Lower>();
}

class EveryForm : public testing::TestWithParam<CurvatureForm> {};
INSTANTIATE_TEST_SUITE_P(Curvature, EveryForm,
                         testing::Values(CurvatureForm{CurvatureShape::scalar},
                                         CurvatureForm{CurvatureShape::diagonal},
                                         CurvatureForm{CurvatureShape::low_rank, 2},
                                         CurvatureForm{CurvatureShape::full}));

TEST_P(EveryForm, MultipliesLikeTheMatrixItAdds) {
  const Curvature curvature(GetParam(), spd(5, 100));
  const Vector v = Vector::LinSpaced(5, -1, 3);
  Vector product = Vector::Ones(5);
  curvature.add_product(0.5, v, product);
  const Vector expected = Vector::Ones(5) + 0.5 * dense(curvature, 5) * v;
  EXPECT_LT((product - expected).norm(), 1e-12 * expected.norm());
}

TEST_P(EveryForm, TravelsUnchanged) {
  const Curvature curvature(GetParam(), spd(5, 100));
  std::vector<double> words;
  curvature.append_words(words);
  EXPECT_EQ(words.size(), GetParam().words(5));
  const auto arrived = Curvature::from_words(GetParam(), 5, words);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(dense(*arrived, 5), dense(curvature, 5));
}

TEST_P(EveryForm, MeansAreThoseOfTheMatricesAndTheSameFromBothSides) {
  const Curvature a(GetParam(), spd(5, 100)), b(GetParam(), spd(5, 3));
  const Curvature mean = Curvature::mean_of(a, b);
  ASSERT_EQ(mean.known(), GetParam().shape != CurvatureShape::low_rank);
  if (!mean.known()) return;
  const Matrix expected = 0.5 * (dense(a, 5) + dense(b, 5));
  EXPECT_LT((dense(mean, 5) - expected).norm(), 1e-7 * expected.norm());
  EXPECT_EQ(dense(Curvature::mean_of(b, a), 5), dense(mean, 5));
}

TEST_P(EveryForm, RefusesWordsThatAreNoCurvature) {
  const std::vector<double> zeros(GetParam().words(5), 0.0), longer(GetParam().words(5) + 1, 1.0);
  EXPECT_FALSE(Curvature::from_words(GetParam(), 5, zeros).value().sound());
  EXPECT_FALSE(Curvature::from_words(GetParam(), 5, longer));
}

std::vector<double> words_of(const std::vector<float>& numbers) {
  std::vector<double> words((numbers.size() + 1) / 2);
  std::memcpy(words.data(), numbers.data(), numbers.size() * sizeof(float));
  return words;
}

// [[1, 2], [2, 1]] has a positive diagonal and the eigenvalue -1; base 2 with l = 1 likewise. A
// long vector stands for a larger eigenvalue than l.
TEST(Curvature, RefusesMatricesThatAreNotPositiveDefiniteOrTooLargeToWorkWith) {
  const CurvatureForm full{CurvatureShape::full}, low_rank{CurvatureShape::low_rank, 1},
      diagonal{CurvatureShape::diagonal};
  const auto sound = [](CurvatureForm form, const std::vector<float>& numbers) {
    return Curvature::from_words(form, 2, words_of(numbers)).value().sound();
  };
  EXPECT_TRUE(sound(full, {3, 2, 2}));
  EXPECT_FALSE(sound(full, {1, 2, 1}));
  EXPECT_FALSE(sound(full, {1, NAN, 1}));
  EXPECT_TRUE(sound(full, {1e37f, 0, 1e37f}));
  EXPECT_FALSE(sound(full, {1.1e37f, 0, 1}));
  EXPECT_FALSE(sound(diagonal, {1.1e37f, 1}));
  EXPECT_TRUE(sound(low_rank, {1, 2, 0.6f, 0.8f}));
  EXPECT_FALSE(sound(low_rank, {2, 1, 0.6f, 0.8f}));
  EXPECT_FALSE(sound(low_rank, {1, 2, 10, 0}));
  EXPECT_FALSE(sound(low_rank, {1, 2, 1e25f, 0}));
}

// The squares of features in units of any size leave single precision, in which curvatures travel.
TEST_P(EveryForm, IsSoundHoweverLargeOrSmallTheMatrix) {
  for (const double scale : {1e-25, 1e-20, 1e20, 1e25}) {
    Matrix matrix = spd(5, 10);
    matrix.row(1) *= scale;
    matrix.col(1) *= scale;
    EXPECT_TRUE(Curvature(GetParam(), matrix).sound()) << scale;
  }
}

TEST(Curvature, FormsKeepWhatTheyPromise) {
  const Matrix matrix = spd(6, 1000);
  const auto error = [&](CurvatureForm form) {
    return (dense(Curvature(form, matrix), 6) - matrix).norm() / matrix.norm();
  };
  EXPECT_LT(error({CurvatureShape::full}), 1e-7);
  EXPECT_LT(error({CurvatureShape::low_rank, 6}), 1e-6);
  const Matrix scalar = dense(Curvature({CurvatureShape::scalar}, matrix), 6);
  EXPECT_NEAR(scalar(3, 3), matrix.trace() / 6, 1e-6 * matrix.trace());
  const Matrix diagonal = dense(Curvature({CurvatureShape::diagonal}, matrix), 6);
  EXPECT_LT((diagonal.diagonal() - matrix.diagonal()).norm(), 1e-6 * matrix.norm());
}

// diag(1, 2, 8, 100) at rank 1 keeps 100; the others become (1*2*8)^(1/3).
TEST(Curvature, LowRankReplacesTheRestByItsGeometricMean) {
  const Matrix matrix = Vector{{1, 2, 8, 100}}.asDiagonal();
  const Matrix kept = dense(Curvature({CurvatureShape::low_rank, 1}, matrix), 4);
  const double rest = std::cbrt(16.0);
  EXPECT_LT((kept - Matrix(Vector{{rest, rest, rest, 100}}.asDiagonal())).norm(), 1e-5);
}

/// One agent with one neighbour, in one dimension: its links, x and how far it has counted.
struct End {
  explicit End(LinkKind kind)
      : links(make_curvature_links(kind, {CurvatureShape::full}, 1, 1)), x(Vector::Zero(1)) {}

  void publish(double curvature, std::uint64_t version) {
    links->publish(Curvature({CurvatureShape::full}, Matrix::Constant(1, 1, curvature)), version,
                   x);
  }
  std::vector<double> say() {
    ++sequence;
    links->speak(x, 0);
    const auto payload = links->payload_to(0).subspan(1);
    return {payload.begin(), payload.end()};
  }
  void hear(const std::vector<double>& said, std::uint64_t from_sequence) {
    links->receive(0, {.from = {}, .sequence = from_sequence, .payload = said}, x);
  }
  double pull() const {
    Vector result = Vector::Zero(1);
    links->add_pull(x, result);
    return result[0];
  }

  std::unique_ptr<CurvatureLinks> links;
  Vector x;
  std::uint64_t sequence = 0;
};

void exchange(End& i, End& j) {
  const auto from_i = i.say(), from_j = j.say();
  i.hear(from_j, j.sequence);
  j.hear(from_i, i.sequence);
  i.links->end_round(i.x, true);
  j.links->end_round(j.x, true);
}

class BothKinds : public testing::TestWithParam<LinkKind> {};
INSTANTIATE_TEST_SUITE_P(CurvatureLinks, BothKinds,
                         testing::Values(LinkKind::broadcast, LinkKind::edge));

// C_i = 1 and C_j = 3 make P = 2; the middle is 0. With x_i = 1 and x_j = 3 both ends take it 0.85
// of the way to where they are: to 3.4. The dual of i is 0.85 P (1 - 3) = -3.4, and the pull -3.4 +
// P (1 - 3.4) = -8.2; that of j is 3.4 + P (3 - 3.4) = 2.6.
TEST_P(BothKinds, PullLikeTheMeanOfTheTwoCurvatures) {
  End i(GetParam()), j(GetParam());
  i.publish(1, 1);
  j.publish(3, 1);
  exchange(i, j);
  EXPECT_EQ(i.pull(), 0) << "an introduction does not pull";
  EXPECT_TRUE(i.links->weights().works(0));
  EXPECT_EQ(i.links->weights().sum()(0, 0), 2);
  i.x[0] = 1;
  j.x[0] = 3;
  exchange(i, j);
  EXPECT_NEAR(i.pull(), -8.2, 1e-12);
  EXPECT_NEAR(j.pull(), 2.6, 1e-12);
}

// A process that lost its state gives version 1 again, to another curvature.
TEST(CurvatureEdgeLinks, TellTwoCurvaturesOfOneVersionApart) {
  End i(LinkKind::edge), j(LinkKind::edge), again(LinkKind::edge);
  i.publish(4, 1);
  j.publish(2, 1);
  for (int k = 0; k < 3; ++k) exchange(i, j);
  EXPECT_EQ(j.links->weights().sum()(0, 0), 3);
  again.publish(8, 1);
  again.sequence = 100;  // above what j has heard
  for (int k = 0; k < 5; ++k) exchange(again, j);
  EXPECT_EQ(again.links->weights().sum()(0, 0), 5);
  EXPECT_EQ(j.links->weights().sum()(0, 0), 5);
  EXPECT_EQ(j.links->disagreement(j.x), 0) << "both ends use the same P";
}

// d = 5: a full curvature is 15 numbers in single precision, 8 words, the room of two vectors.
TEST_P(BothKinds, CountTheVectorsThatAMessageHasRoomFor) {
  const Vector x = Vector::Ones(5);
  const auto i = make_curvature_links(GetParam(), {CurvatureShape::full}, 5, 1);
  const auto j = make_curvature_links(GetParam(), {CurvatureShape::full}, 5, 1);
  const bool edge = GetParam() == LinkKind::edge;
  for (const auto& end : {i.get(), j.get()}) {
    end->publish(Curvature({CurvatureShape::full}, spd(5, 10)), 1, x);
    end->speak(x, 0);
  }
  EXPECT_EQ(i->vectors_to(0), edge ? 2u : 1u + 2u) << "no vector before both ends are known";
  i->receive(0, {.from = {}, .sequence = 1, .payload = j->payload_to(0).subspan(1)}, x);
  i->end_round(x, true);
  i->speak(x, 0);
  EXPECT_EQ(i->vectors_to(0), 1u);
}

TEST_P(BothKinds, DoNotWorkBeforeBothEndsHaveIntroducedThemselves) {
  End i(GetParam()), j(GetParam());
  i.publish(1, 1);
  exchange(i, j);
  EXPECT_FALSE(i.links->weights().works(0));
  EXPECT_FALSE(j.links->weights().works(0));
  i.x[0] = 5;
  EXPECT_EQ(i.pull(), 0);
  j.publish(1, 2);
  exchange(i, j);
  exchange(i, j);
  EXPECT_TRUE(i.links->weights().works(0));
  EXPECT_TRUE(j.links->weights().works(0));
}

/// Two introduced ends somewhere on their way.
struct Pair {
  explicit Pair(LinkKind kind) : i(kind), j(kind) {
    i.publish(1, 1);
    j.publish(3, 1);
    exchange(i, j);
    i.x[0] = 1;
    j.x[0] = 3;
    exchange(i, j);
  }
  End i, j;
};

/// A round in which j rests.
void work_alone(End& i, End& j) {
  const auto said = i.say();
  j.hear(said, i.sequence);
  i.links->end_round(i.x, true);
  j.links->end_round(j.x, false);
}

// From the middle 3.4 and the duals -3.4 and 3.4 of the test above. i moves to 2 while j rests at
// 3: the dual becomes -3.4 + 0.85 P (2 - 3.4) = -5.78, the middle 3.4 + 0.85 (2 - 3.4) = 2.21.
TEST_P(BothKinds, MoveByThePartOfTheEndThatWorked) {
  Pair pair(GetParam());
  pair.i.x[0] = 2;
  work_alone(pair.i, pair.j);
  EXPECT_NEAR(pair.i.pull(), -5.78 + 2 * (2 - 2.21), 1e-12);
  EXPECT_NEAR(pair.j.pull(), 5.78 + 2 * (3 - 2.21), 1e-12);
}

// Where it minimizes against the same pull it stays, however long the other end rests: agents that
// work at unequal rates do not run away. What it says meanwhile comes to an end.
TEST_P(BothKinds, PullAnEndThatWorksAloneAlwaysTheSame) {
  Pair pair(GetParam());
  const double alone = pair.i.pull();
  double before = pair.j.pull(), change = 0;
  for (int k = 0; k < 30; ++k) {
    work_alone(pair.i, pair.j);
    EXPECT_NEAR(pair.i.pull(), alone, 1e-12);
    change = std::abs(pair.j.pull() - std::exchange(before, pair.j.pull()));
  }
  EXPECT_LT(change, 1e-12);
}

// They are one method: what broadcast links know of the middle is in the messages of edges.
TEST(CurvatureLinks, OfBothKindsPullAlikeWhoeverWorks) {
  Pair broadcast(LinkKind::broadcast), edge(LinkKind::edge);
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> place(-1, 1);
  for (int k = 0; k < 100; ++k) {
    const auto who = random() % 3;
    const double at_i = place(random), at_j = place(random);
    for (Pair* pair : {&broadcast, &edge}) {
      if (who != 1) pair->i.x[0] = at_i;
      if (who != 0) pair->j.x[0] = at_j;
      if (who == 0) work_alone(pair->i, pair->j);
      if (who == 1) work_alone(pair->j, pair->i);
      if (who == 2) exchange(pair->i, pair->j);
    }
    ASSERT_NEAR(broadcast.i.pull(), edge.i.pull(), 1e-10) << k;
    ASSERT_NEAR(broadcast.j.pull(), edge.j.pull(), 1e-10) << k;
  }
}

// The round in which i tells a new curvature is still one of P = 2: from the middle 3.4 and the
// dual -3.4 both ends go to 3.4 + 0.85 (1 + 3 - 6.8) = 1.02 and -3.4 + 0.85 P (1 - 3) = -6.8. These
// stay when P becomes 26.5.
TEST(CurvatureBroadcastLinks, KeepMiddleAndDualsThroughARefreshAtOneEnd) {
  Pair pair(LinkKind::broadcast);
  pair.i.publish(50, 2);
  exchange(pair.i, pair.j);
  EXPECT_EQ(pair.i.links->weights().sum()(0, 0), 26.5);
  EXPECT_EQ(pair.j.links->weights().sum()(0, 0), 26.5);
  EXPECT_NEAR(pair.i.pull(), -6.8 + 26.5 * (1 - 1.02), 1e-12);
  EXPECT_NEAR(pair.j.pull(), 6.8 + 26.5 * (3 - 1.02), 1e-12);
}

TEST(CurvatureEdgeLinks, ANewCurvatureDoesNotMakeThePullJumpAtEitherEnd) {
  Pair pair(LinkKind::edge);
  const double at_i = pair.i.pull(), at_j = pair.j.pull();
  pair.i.publish(50, 2);
  EXPECT_NEAR(pair.i.pull(), at_i, 1e-12);
  // j adopts it from a message whose vector it must ignore: one without its own current version.
  pair.j.publish(4, 2);
  pair.j.hear(pair.i.say(), pair.i.sequence);
  EXPECT_NEAR(pair.j.pull(), at_j, 1e-12);
}

TEST(CurvatureEdgeLinks, MessagesMadeWithAnotherPairChangeNothing) {
  Pair pair(LinkKind::edge);
  const auto old_message = pair.j.say();
  pair.i.publish(50, 2);
  const double before = pair.i.pull();
  pair.i.hear(old_message, pair.j.sequence);
  EXPECT_EQ(pair.i.pull(), before);
}

TEST(CurvatureEdgeLinks, ALostCurvatureIsSentAgainAndThenNoMore) {
  Pair pair(LinkKind::edge);
  const std::size_t plain = pair.i.say().size();
  pair.i.publish(50, 2);
  EXPECT_GT(pair.i.say().size(), plain);  // and is lost
  int sent = 0;
  for (int round = 0; round < 6; ++round) {
    const auto from_i = pair.i.say(), from_j = pair.j.say();
    sent += from_i.size() > plain;
    pair.j.hear(from_i, pair.i.sequence);
    pair.i.hear(from_j, pair.j.sequence);
  }
  EXPECT_EQ(sent, 1);
  EXPECT_EQ(pair.i.links->weights().sum()(0, 0), pair.j.links->weights().sum()(0, 0));
}

// The neighbour knows version 2 of an agent that fell back to version 1: a third is needed, for
// the number 2 now stands for another matrix.
TEST(CurvatureEdgeLinks, AnAgentThatFellBackLearnsThatItMustPublishAgain) {
  Pair pair(LinkKind::edge);
  ByteWriter writer;
  pair.i.links->save(writer);
  pair.i.publish(50, 2);
  exchange(pair.i, pair.j);
  ByteReader reader(writer.bytes());
  pair.i.links->load(reader);
  ASSERT_TRUE(reader.finished());
  EXPECT_FALSE(pair.i.links->outrun());
  exchange(pair.i, pair.j);
  EXPECT_TRUE(pair.i.links->outrun());
  pair.i.publish(7, 9);
  exchange(pair.i, pair.j);
  exchange(pair.i, pair.j);
  EXPECT_FALSE(pair.i.links->outrun());
  EXPECT_EQ(pair.i.links->weights().sum()(0, 0), pair.j.links->weights().sum()(0, 0));
  EXPECT_EQ(pair.i.links->weights().sum()(0, 0), 5);
}

TEST(CurvatureEdgeLinks, TellTheCurvatureAgainToANeighbourThatHasForgottenIt) {
  Pair pair(LinkKind::edge);
  exchange(pair.i, pair.j);
  const std::size_t plain = pair.i.say().size();
  End fresh(LinkKind::edge);  // j, come back without its past
  fresh.publish(3, 7);
  pair.i.hear(fresh.say(), 100);
  EXPECT_GT(pair.i.say().size(), plain);
}

TEST(CurvatureEdgeLinks, TellACurvatureThatDidNotGetOutInTheNextMessage) {
  Pair pair(LinkKind::edge);
  const std::size_t plain = pair.i.say().size();
  pair.i.publish(50, 2);
  for (int k = 0; k < 10; ++k) {
    EXPECT_GT(pair.i.say().size(), plain);
    pair.i.links->not_sent(0);
  }
}

// With P = 2, u_ij = P x_i = 2 and the message 2 P x_j - u_ji = 12 - 6 = 6: off by (6 - 2) / P.
TEST(CurvatureEdgeLinks, DisagreementIsInUnitsOfX) {
  End i(LinkKind::edge), j(LinkKind::edge);
  EXPECT_TRUE(std::isinf(i.links->disagreement(i.x)));
  i.x[0] = 1;
  j.x[0] = 3;
  i.publish(1, 1);
  j.publish(3, 1);
  exchange(i, j);
  exchange(i, j);
  EXPECT_DOUBLE_EQ(i.links->disagreement(i.x), 2);
  EXPECT_DOUBLE_EQ(j.links->disagreement(j.x), 2);
  i.publish(5, 2);
  EXPECT_TRUE(std::isinf(i.links->disagreement(i.x))) << "the ends do not yet use the same P";
}

TEST_P(BothKinds, ALinkThatIsDroppedPullsNoMoreAndANewOneStartsAfresh) {
  Pair pair(GetParam());
  pair.i.links->disconnect(0);
  EXPECT_EQ(pair.i.pull(), 0);
  EXPECT_EQ(pair.i.links->weights().working(), 0u);
  EXPECT_EQ(pair.i.links->disagreement(pair.i.x), 0);
  pair.i.links->connect(pair.i.x);
  EXPECT_EQ(pair.i.pull(), 0);
  EXPECT_FALSE(pair.i.links->weights().works(0));
}

TEST_P(BothKinds, SavedStateContinuesExactly) {
  Pair pair(GetParam());
  ByteWriter writer;
  pair.i.links->save(writer);
  End loaded(GetParam());
  ByteReader reader(writer.bytes());
  loaded.links->load(reader);
  EXPECT_TRUE(reader.finished());
  loaded.x = pair.i.x;
  EXPECT_EQ(loaded.pull(), pair.i.pull());
  EXPECT_EQ(loaded.say(), pair.i.say());
}

}  // namespace
}  // namespace grove
