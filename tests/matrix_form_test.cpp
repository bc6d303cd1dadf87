// DRUID-VL for all agents at once: stacked iterates, the graph as a dense matrix, plain loops over
// samples. With everyone active it is the iteration that the paper's Lemma 1 prints; otherwise the
// rule of docs/reference/druid-vl.md. The agents, who know only their neighbours, must compute the
// same to the last digits.

#include <gtest/gtest.h>
#include <Eigen/LU>

#include "grove/data/dataset.h"
#include "support/network.h"

namespace grove::testing_support {
namespace {

struct Setting {
  double penalty;        ///< mu_z
  double theta_penalty;  ///< mu_theta
  double prox;           ///< every eps_i
  LocalModelKind local_model;
  std::vector<int> work;  ///< E_i
};

/// a (Kronecker) I of dimension d.
Matrix stacked(const Matrix& a, Index d) {
  Matrix result = Matrix::Zero(a.rows() * d, a.cols() * d);
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j < a.cols(); ++j)
      result.block(i * d, j * d, d, d) = a(i, j) * Matrix::Identity(d, d);
  return result;
}

/// x, theta and lambda of eq. (matrix_x) to (matrix_lambda); q = 0. The coupling is left to derived
/// classes.
class StackedDruid {
 public:
  StackedDruid(const Problem& problem, const Setting& setting)
      : problem_(problem),
        setting_(setting),
        n_(static_cast<Index>(problem.agents())),
        d_(problem.dimension()),
        x_(Vector::Zero(n_ * d_)),
        theta_(Vector::Zero(d_)),
        lambda_(Vector::Zero(d_)) {}
  virtual ~StackedDruid() = default;

  /// One round; active[i] is 1 or 0.
  void advance(const Vector& active) {
    Vector frozen = coupling_gradient();
    frozen.head(d_) += lambda_ + setting_.theta_penalty * (x_.head(d_) - theta_);
    const Vector before = x_;
    for (Index i = 0; i < n_; ++i) {
      if (active[i] == 0) continue;
      Vector v = before.segment(i * d_, d_);
      for (int e = 0; e < setting_.work[static_cast<std::size_t>(i)]; ++e)
        v -= newton_step(i, v, before.segment(i * d_, d_), frozen.segment(i * d_, d_));
      x_.segment(i * d_, d_) = v;
    }
    if (active[0] == 1) update_copy();
    update_coupling(active);
  }

  Vector estimate(std::size_t agent) const {
    return x_.segment(static_cast<Index>(agent) * d_, d_);
  }
  const Vector& theta() const { return theta_; }

 protected:
  virtual Vector coupling_gradient() const = 0;
  virtual void update_coupling(const Vector& active) = 0;

  const Problem& problem_;
  Setting setting_;
  Index n_, d_;
  Vector x_;

 private:
  Vector newton_step(Index i, const Vector& v, const Vector& anchor, const Vector& frozen) const {
    const auto agent = static_cast<std::size_t>(i);
    const auto degree =
        static_cast<double>(problem_.graph.degree(AgentId{static_cast<std::uint32_t>(i)}));
    const double penalty_sum =
        setting_.penalty * degree + (i == 0 ? setting_.theta_penalty : 0.0) + setting_.prox;
    const bool augmented = setting_.local_model == LocalModelKind::augmented;
    const Vector gradient = plain_gradient(problem_, agent, v) + frozen +
                            (augmented ? penalty_sum : setting_.prox) * (v - anchor);
    const Matrix hessian =
        plain_hessian(problem_, agent, v) + penalty_sum * Matrix::Identity(d_, d_);
    return hessian.partialPivLu().solve(gradient);
  }

  void update_copy() {
    // n r, because the printed iteration minimizes the sum of the f_i and not their mean
    const double threshold =
        static_cast<double>(n_) * problem_.regularizer.l1 / setting_.theta_penalty;
    for (Index k = 0; k < d_; ++k) {
      const double shifted = x_[k] + lambda_[k] / setting_.theta_penalty;
      theta_[k] = std::copysign(std::max(std::abs(shifted) - threshold, 0.0), shifted);
    }
    lambda_ += setting_.theta_penalty * (x_.head(d_) - theta_);
  }

  Vector theta_, lambda_;
};

/// As printed, for rounds in which everyone is active: phi and the graph's Laplacian.
class PrintedDruid final : public StackedDruid {
 public:
  PrintedDruid(const Problem& problem, const Setting& setting)
      : StackedDruid(problem, setting), phi_(Vector::Zero(n_ * d_)) {
    Matrix laplacian = Matrix::Zero(n_, n_);
    for (const auto& [a, b] : problem.graph.edges()) {
      const Index i = a.value, j = b.value;
      laplacian(i, i) += 1;
      laplacian(j, j) += 1;
      laplacian(i, j) = laplacian(j, i) = -1;
    }
    laplacian_ = stacked(laplacian, d_);
  }

 private:
  Vector coupling_gradient() const override {
    return phi_ + 0.5 * setting_.penalty * laplacian_ * x_;
  }
  void update_coupling(const Vector&) override { phi_ += 0.5 * setting_.penalty * laplacian_ * x_; }

  Vector phi_;
  Matrix laplacian_;  ///< L_s (Kronecker) I
};

/// Whoever is active: edge variables z and duals, stacked by the ends of the edges. End 2e is the
/// first agent of edge e, end 2e + 1 the second. `at_` takes agents to the ends where they are,
/// `of_` edges to their two ends. The gradient is at' (dual + mu (at x - of z)); after a round each
/// active end moves z half of the way to its x, and its own dual and, with the opposite sign, that
/// of the other end by as much times mu.
class EdgeVariableDruid final : public StackedDruid {
 public:
  EdgeVariableDruid(const Problem& problem, const Setting& setting)
      : StackedDruid(problem, setting) {
    const auto edges = problem.graph.edges();
    const auto m = static_cast<Index>(edges.size());
    Matrix at = Matrix::Zero(2 * m, n_), of = Matrix::Zero(2 * m, m);
    Matrix opposite = Matrix::Zero(2 * m, 2 * m);
    for (Index e = 0; e < m; ++e) {
      const auto& [a, b] = edges[static_cast<std::size_t>(e)];
      at(2 * e, a.value) = at(2 * e + 1, b.value) = 1;
      of(2 * e, e) = of(2 * e + 1, e) = 1;
      opposite(2 * e, 2 * e + 1) = opposite(2 * e + 1, 2 * e) = 1;
    }
    at_ = stacked(at, d_);
    of_ = stacked(of, d_);
    opposite_ = stacked(opposite, d_);
    z_ = Vector::Zero(m * d_);
    dual_ = Vector::Zero(2 * m * d_);
  }

 private:
  Vector coupling_gradient() const override {
    return at_.transpose() * (dual_ + setting_.penalty * (at_ * x_ - of_ * z_));
  }
  void update_coupling(const Vector& active) override {
    Vector active_coordinates(n_ * d_);
    for (Index i = 0; i < n_; ++i) active_coordinates.segment(i * d_, d_).setConstant(active[i]);
    const Vector half_way = 0.5 * (at_ * active_coordinates).cwiseProduct(at_ * x_ - of_ * z_);
    z_ += of_.transpose() * half_way;
    dual_ += setting_.penalty * (half_way - opposite_ * half_way);
  }

  Matrix at_, of_, opposite_;
  Vector z_, dual_;
};

/// The built-in set, dealt among six agents on a ring with a chord.
Problem built_in_problem() {
  const auto data = load_dataset("synthetic:ijcnn-like,samples=300", TargetKind::two_classes, 1);
  Problem problem{.graph = graph_of(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}, {1, 4}}),
                  .shards = {},
                  .terms = {.loss = LogisticLoss{}, .l2 = 1e-3},
                  .regularizer = {.l1 = 2e-3, .regularized = data->samples.dimension()}};
  for (std::uint32_t agent = 0; agent < 6; ++agent) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t k = agent; k < 300; k += 6) rows.push_back(k);
    problem.shards.push_back(take_rows(data->samples, rows));
  }
  return problem;
}

using Case = std::tuple<LocalModelKind, LinkKind, int>;
std::string name_of_case(const testing::TestParamInfo<Case>& tested) {
  const auto [model, kind, work] = tested.param;
  return std::string(model == LocalModelKind::augmented ? "Augmented" : "Linearized") +
         (kind == LinkKind::edge ? "OverEdges" : "OverBroadcasts") + "E" + std::to_string(work);
}
class MatrixForm : public testing::TestWithParam<Case> {
 protected:
  MethodCase method() const {
    const auto [model, kind, work] = GetParam();
    return {"",
            DruidOptions{.coupling = {.kind = kind, .weighting = FixedPenalty{5e-3}},
                         .prox = 2.5e-2,
                         .theta_penalty = 1e-2,
                         .local_model = model},
            work};
  }
  Setting setting() const {
    const auto [model, kind, work] = GetParam();
    return {.penalty = 5e-3,
            .theta_penalty = 1e-2,
            .prox = 2.5e-2,
            .local_model = model,
            .work = std::vector<int>(6, work)};
  }
};
INSTANTIATE_TEST_SUITE_P(
    Lemma1, MatrixForm,
    testing::Combine(testing::Values(LocalModelKind::augmented, LocalModelKind::linearized),
                     testing::Values(LinkKind::broadcast, LinkKind::edge), testing::Values(1, 5)),
    name_of_case);

/// Fifty rounds of the agents and of the stacked iteration, compared after each.
void expect_equal_iterates(Simulator simulator, StackedDruid& stacked, double participation) {
  const std::size_t n = simulator.agents().size();
  const Schedule schedule(1, std::vector<double>(n, participation), std::vector<int>(n, 1));
  for (Round round = 1; round <= 50; ++round) {
    simulator.advance();
    Vector active(static_cast<Index>(n));
    for (std::uint32_t i = 0; i < n; ++i)
      active[i] = schedule.activation(AgentId{i}, round) ? 1 : 0;
    stacked.advance(active);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_LT((simulator.agents()[i]->estimate() - stacked.estimate(i)).norm(), 1e-10)
          << "agent " << i << " in round " << round;
    ASSERT_LT((*simulator.agents()[0]->regularized_estimate() - stacked.theta()).norm(), 1e-10);
  }
}

TEST_P(MatrixForm, AgentsFollowThePrintedIterationForFiftyRounds) {
  const Problem problem = built_in_problem();
  const Instance instance = problem.instance();
  PrintedDruid stacked(problem, setting());
  expect_equal_iterates(simulate(method(), instance), stacked, 1);
  EXPECT_GT(stacked.estimate(3).norm(), 1);
}

TEST_P(MatrixForm, AgentsFollowTheEdgeVariablesForFiftyRoundsOfPartialParticipation) {
  const Problem problem = built_in_problem();
  const Instance instance = problem.instance();
  EdgeVariableDruid stacked(problem, setting());
  expect_equal_iterates(simulate(method(), instance, {.participation = 0.5}), stacked, 0.5);
  EXPECT_GT(stacked.estimate(3).norm(), 0.5);
}

// The edge variables are a generalization of what is printed: no agents of the library here.
TEST(EdgeVariables, GiveThePrintedIterationWhenEveryoneIsActive) {
  const Problem problem = built_in_problem();
  const Setting setting{.penalty = 5e-3,
                        .theta_penalty = 1e-2,
                        .prox = 2.5e-2,
                        .local_model = LocalModelKind::augmented,
                        .work = std::vector<int>(6, 2)};
  PrintedDruid printed(problem, setting);
  EdgeVariableDruid general(problem, setting);
  for (int round = 1; round <= 50; ++round) {
    printed.advance(Vector::Ones(6));
    general.advance(Vector::Ones(6));
  }
  for (std::size_t i = 0; i < problem.agents(); ++i)
    EXPECT_LT((printed.estimate(i) - general.estimate(i)).norm(), 1e-10) << "agent " << i;
}

}  // namespace
}  // namespace grove::testing_support
