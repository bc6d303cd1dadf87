// Three instances of tree-newton whose data are given by formulas and whose answers were worked out
// by an independent program (numpy). Agents k = 0..n-1 have m rows s = 0..m-1 each,
//   X[k,s,j] = sin(1 + 7k + 3s + 5j + k s), X[k,s,0] = 1,   u = frac(0.5 + 0.618034 (k m + s + 1)),
// and minimize sum_k f_k + n l1 |x|_1, f_k = mean loss + l2/2 |x|^2, from 0, without an intro wave,
// all active in every round and nothing lost.

#include <cmath>

#include <gtest/gtest.h>

#include "grove/methods/tree_newton.h"
#include "support/glm_objective.h"
#include "support/tree_network.h"

namespace grove::testing_support {
namespace {

struct Rows {
  Matrix X;
  Vector u;
};

Rows rows_of(int n, int m, int d) {
  Rows rows{Matrix(n * m, d), Vector(n * m)};
  for (int k = 0; k < n; ++k)
    for (int s = 0; s < m; ++s) {
      const int at = k * m + s;
      for (int j = 0; j < d; ++j)
        rows.X(at, j) = j == 0 ? 1 : std::sin(1.0 + 7 * k + 3 * s + 5 * j + k * s);
      rows.u[at] = std::fmod(0.5 + 0.618034 * (at + 1), 1.0);
    }
  return rows;
}

Vector logistic_targets(const Rows& rows, const Vector& truth) {
  Vector y(rows.u.size());
  for (Index j = 0; j < y.size(); ++j)
    y[j] = rows.u[j] < 1 / (1 + std::exp(-rows.X.row(j).dot(truth))) ? 1 : 0;
  return y;
}

Glms dealt(const Matrix& X, const Vector& y, int m, GlmFamily family, double l2) {
  Glms parts;
  for (Index first = 0; first < y.size(); first += m)
    parts.push_back(std::make_shared<GlmObjective>(
        GlmObjective::Data{X.middleRows(first, m), y.segment(first, m), family, l2}));
  return parts;
}

/// The largest relative error of the point that waves carry, in the units of the table: the square
/// root of the mean over agents of |x - x*|^2 / |x*|^2.
double error_of(const TreeNetwork& network, const Vector& optimum, bool accepted) {
  double sum = 0;
  for (const TreeNewtonAgent* agent : network.agents()) {
    Vector x = agent->estimate();
    if (!accepted && agent->question().step.size() > 0) x += agent->question().step;
    sum += (x - optimum).squaredNorm();
  }
  return std::sqrt(sum / static_cast<double>(network.agents().size())) / optimum.norm();
}

struct KnownAnswer {
  TreeProblem problem;
  Vector optimum;
  double objective;
  AgentId root;
  std::vector<std::pair<int, double>> errors;    ///< by round, of the wave's point
  std::vector<std::pair<int, double>> accepted;  ///< by round, of estimate()
  int rounds;
  std::uint64_t waves;
};

void expect_six_digits(double found, double wanted, const std::string& what) {
  EXPECT_NEAR(found, wanted, 0.6e-5 * std::abs(wanted)) << what;
}

void expect_known(const KnownAnswer& known, bool masked) {
  const Vector optimum = glm_optimum(known.problem.parts, known.problem.l1);
  EXPECT_LT((optimum - known.optimum).lpNorm<Eigen::Infinity>(), 6e-10) << "nine digits";
  const TreeNewtonOptions options{.intro = false, .double_hessians = true};
  TreeProblem problem = known.problem;
  problem.masked = masked;
  TreeNetwork network(problem, options);
  auto errors = known.errors, accepted = known.accepted;
  int rounds = 0;
  while (!network.finished() && rounds < 100) {
    network.advance();
    ++rounds;
    for (const auto& [round, error] : errors)
      if (round == rounds)
        expect_six_digits(error_of(network, optimum, false), error,
                          "wave, round " + std::to_string(round));
    for (const auto& [round, error] : accepted)
      if (round == rounds)
        expect_six_digits(error_of(network, optimum, true), error,
                          "accepted, round " + std::to_string(round));
  }
  EXPECT_EQ(rounds, known.rounds);
  for (const TreeNewtonAgent* agent : network.agents()) {
    EXPECT_EQ(agent->sums().plan().root, known.root);
    EXPECT_EQ(agent->sums().plan().depth, 2u);
    EXPECT_EQ(agent->sums().wave().id.number(), known.waves);
    EXPECT_EQ(agent->sums().refused_totals(), 0u);
    EXPECT_EQ(agent->estimate(), network.agents()[0]->estimate()) << "bit by bit";
    EXPECT_LT((agent->estimate() - optimum).norm(), 1e-12 * optimum.norm());
    ASSERT_TRUE(agent->certificate());
    EXPECT_NEAR(agent->certificate()->objective, known.objective,
                1e-11 * std::abs(known.objective));
    EXPECT_LT(agent->certificate()->residual, 1e-9 * std::abs(known.objective));
    EXPECT_EQ(agent->certificate()->members, static_cast<double>(network.agents().size()));
  }
}

/// Masked sums are exact, so that they take the same way.
void expect_known(const KnownAnswer& known) {
  expect_known(known, false);
  expect_known(known, true);
}

// Logistic, path of 5. The accepted point is that of the wave before.
TEST(KnownAnswersOfTreeNewton, LogisticOnAPath) {
  const Rows rows = rows_of(5, 30, 4);
  const Vector y = logistic_targets(rows, Vector{{-0.5, 1, -2, 0.5}});
  expect_known(
      {.problem = {.parts = dealt(rows.X, y, 30, GlmFamily::logistic, 1e-3),
                   .edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}},
                   .l1 = 0},
       .optimum = Vector{{-0.425922983, -0.277665724, -1.488369319, -0.566722464}},
       .objective = 2.68033527165,
       .root = AgentId{2},
       .errors = {{8, 0.181520}, {12, 0.0162429}, {16, 0.000152170}, {20, 1.37975e-08}},
       .accepted = {{8, 1}, {12, 0.181520}, {16, 0.0162429}, {20, 0.000152170}, {24, 1.37975e-08}},
       .rounds = 32,
       .waves = 8});
}

// l1 logistic with sorted labels, ring of 6 with a chord.
TEST(KnownAnswersOfTreeNewton, SparseLogisticWithSortedLabels) {
  const Rows rows = rows_of(6, 20, 6);
  const Vector y = logistic_targets(rows, Vector{{0.2, 2, 0, 0, -1.5, 0}});
  Matrix X(rows.X.rows(), rows.X.cols());
  Vector sorted(y.size());
  Index at = 0;
  for (const double label : {0.0, 1.0})
    for (Index j = 0; j < y.size(); ++j)
      if (y[j] == label) {
        X.row(at) = rows.X.row(j);
        sorted[at++] = label;
      }
  expect_known({.problem = {.parts = dealt(X, sorted, 20, GlmFamily::logistic, 0),
                            .edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {0, 5}, {1, 4}},
                            .l1 = 1e-2},
                .optimum = Vector{{0.044592097, 2.42110683, 0, 0, -0.413392284, 0}},
                .objective = 2.5057868844,
                .root = AgentId{1},
                .errors = {{8, 0.290333}, {12, 0.0580110}, {16, 0.00280664}, {20, 6.89757e-06}},
                .accepted = {{12, 0.290333}, {16, 0.0580110}, {20, 0.00280664}, {24, 6.89757e-06}},
                .rounds = 32,
                .waves = 8});
}

// Poisson on a binary tree. The full steps of waves 2 and 4 are refused and cut to 1/16 and 1/2, so
// that no agent ever shows the point of wave 2, at 16 times the distance of the start.
TEST(KnownAnswersOfTreeNewton, PoissonWithShortenedSteps) {
  const Rows rows = rows_of(7, 25, 3);
  Vector y(rows.u.size());
  for (Index j = 0; j < y.size(); ++j) {
    const double mean = std::exp(rows.X.row(j).dot(Vector{{3, 1.5, -1}}));
    y[j] = std::max(0.0, std::floor(mean + 1.5 * std::sqrt(mean) * (2 * rows.u[j] - 1) + 0.5));
  }
  const KnownAnswer known{.problem = {.parts = dealt(rows.X, y, 25, GlmFamily::poisson, 0),
                                      .edges = {{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 6}},
                                      .l1 = 0},
                          .optimum = Vector{{3.008564509, 1.478561593, -0.969923565}},
                          .objective = -701.620200144,
                          .root = AgentId{0},
                          .errors = {{8, 15.5995},
                                     {12, 0.437331},
                                     {16, 0.418328},
                                     {20, 0.0116639},
                                     {24, 0.000259854},
                                     {28, 1.33273e-07}},
                          .accepted = {{8, 1},
                                       {12, 0.437331},
                                       {16, 0.437331},
                                       {20, 0.0116639},
                                       {24, 0.0116639},
                                       {28, 0.000259854},
                                       {32, 1.33273e-07}},
                          .rounds = 40,
                          .waves = 10};
  expect_known(known);
  TreeNetwork network(known.problem, {.intro = false});
  for (int round = 0; round < 40; ++round) network.advance();
  std::vector<double> lengths;
  for (const AgentEvent& event : network.agents()[0]->events())
    if (event.kind == AgentEvent::Kind::shortened_step) lengths.push_back(event.value);
  EXPECT_EQ(lengths, (std::vector<double>{1.0 / 16, 0.5}));
  // With the intro wave, 24 rounds and 6 waves; Hessians in single precision change nothing.
  TreeNetwork quick(known.problem, {});
  int rounds = 0;
  for (; !quick.finished() && rounds < 100; ++rounds) quick.advance();
  EXPECT_EQ(rounds, 24);
  EXPECT_EQ(quick.agents()[0]->sums().wave().id.number(), 6u);
}

}  // namespace
}  // namespace grove::testing_support
