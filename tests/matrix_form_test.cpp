// DRUID-VL as the paper's Lemma 1 prints it, for all agents at once: stacked iterates, the graph's
// Laplacian as a dense matrix, plain loops over samples. The agents, who know only their
// neighbours, must do the same to the last digits.

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

/// x, phi, theta and lambda of eq. (matrix_x) to (matrix_lambda); q = 0.
class StackedDruid {
 public:
  StackedDruid(const Problem& problem, const Setting& setting)
      : problem_(problem),
        setting_(setting),
        n_(static_cast<Index>(problem.agents())),
        d_(problem.dimension()),
        x_(Vector::Zero(n_ * d_)),
        phi_(Vector::Zero(n_ * d_)),
        theta_(Vector::Zero(d_)),
        lambda_(Vector::Zero(d_)) {
    Matrix laplacian = Matrix::Zero(n_, n_);
    for (const auto& [a, b] : problem.graph.edges()) {
      const Index i = a.value, j = b.value;
      laplacian(i, i) += 1;
      laplacian(j, j) += 1;
      laplacian(i, j) = laplacian(j, i) = -1;
    }
    coupling_ = Matrix::Zero(n_ * d_, n_ * d_);
    for (Index i = 0; i < n_; ++i)
      for (Index j = 0; j < n_; ++j)
        coupling_.block(i * d_, j * d_, d_, d_) = laplacian(i, j) * Matrix::Identity(d_, d_);
    degrees_ = laplacian.diagonal();
  }

  void advance() {
    Vector frozen = phi_ + 0.5 * setting_.penalty * coupling_ * x_;
    frozen.head(d_) += lambda_ + setting_.theta_penalty * (x_.head(d_) - theta_);
    const Vector before = x_;
    for (Index i = 0; i < n_; ++i) {
      Vector v = before.segment(i * d_, d_);
      for (int e = 0; e < setting_.work[static_cast<std::size_t>(i)]; ++e)
        v -= newton_step(i, v, before.segment(i * d_, d_), frozen.segment(i * d_, d_));
      x_.segment(i * d_, d_) = v;
    }
    // n r, because the printed iteration minimizes the sum of the f_i and not their mean
    const double threshold =
        static_cast<double>(n_) * problem_.regularizer.l1 / setting_.theta_penalty;
    for (Index k = 0; k < d_; ++k) {
      const double shifted = x_[k] + lambda_[k] / setting_.theta_penalty;
      theta_[k] = std::copysign(std::max(std::abs(shifted) - threshold, 0.0), shifted);
    }
    phi_ += 0.5 * setting_.penalty * coupling_ * x_;
    lambda_ += setting_.theta_penalty * (x_.head(d_) - theta_);
  }

  Vector estimate(std::size_t agent) const {
    return x_.segment(static_cast<Index>(agent) * d_, d_);
  }
  const Vector& theta() const { return theta_; }

 private:
  Vector newton_step(Index i, const Vector& v, const Vector& anchor, const Vector& frozen) const {
    const auto agent = static_cast<std::size_t>(i);
    const double stiffness =
        setting_.penalty * degrees_[i] + (i == 0 ? setting_.theta_penalty : 0.0) + setting_.prox;
    const bool augmented = setting_.local_model == LocalModelKind::augmented;
    const Vector gradient = plain_gradient(problem_, agent, v) + frozen +
                            (augmented ? stiffness : setting_.prox) * (v - anchor);
    const Matrix hessian = plain_hessian(problem_, agent, v) + stiffness * Matrix::Identity(d_, d_);
    return hessian.partialPivLu().solve(gradient);
  }

  const Problem& problem_;
  Setting setting_;
  Index n_, d_;
  Vector x_, phi_, theta_, lambda_;
  Matrix coupling_;  ///< L_s (Kronecker) I
  Vector degrees_;
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
  const auto [model, link, work] = tested.param;
  return std::string(model == LocalModelKind::augmented ? "Augmented" : "Linearized") +
         (link == LinkKind::edge ? "OverEdges" : "OverBroadcasts") + "E" + std::to_string(work);
}
class MatrixForm : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    Lemma1, MatrixForm,
    testing::Combine(testing::Values(LocalModelKind::augmented, LocalModelKind::linearized),
                     testing::Values(LinkKind::broadcast, LinkKind::edge), testing::Values(1, 5)),
    name_of_case);

TEST_P(MatrixForm, AgentsFollowThePrintedIterationForFiftyRounds) {
  const auto [model, link, work] = GetParam();
  const Problem problem = built_in_problem();
  const Instance instance = problem.instance();
  const MethodCase method{"",
                          DruidOptions{.link = link,
                                       .penalty = 5e-3,
                                       .theta_penalty = 1e-2,
                                       .prox = 2.5e-2,
                                       .local_model = model},
                          work};
  Simulator simulator = simulate(method, instance);
  StackedDruid stacked(problem, {.penalty = 5e-3,
                                 .theta_penalty = 1e-2,
                                 .prox = 2.5e-2,
                                 .local_model = model,
                                 .work = std::vector<int>(6, work)});
  for (int round = 1; round <= 50; ++round) {
    simulator.advance();
    stacked.advance();
    for (std::size_t i = 0; i < problem.agents(); ++i)
      ASSERT_LT((simulator.agents()[i]->estimate() - stacked.estimate(i)).norm(), 1e-10)
          << "agent " << i << " in round " << round;
    ASSERT_LT((*simulator.agents()[0]->regularized_estimate() - stacked.theta()).norm(), 1e-10);
  }
  EXPECT_GT(stacked.estimate(3).norm(), 1);
}

}  // namespace
}  // namespace grove::testing_support
