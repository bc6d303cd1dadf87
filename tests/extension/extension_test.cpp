#include <filesystem>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include "grove/base/file.h"
#include "grove/network/spectrum.h"
#include "grove/network/topology.h"
#include "grove/record/comparison.h"
#include "grove/train/problem.h"
#include "toys.h"

// Grove as somebody outside the library extends it. What comes out is checked against plain loops
// of this file, which share no code with the library or the toys.
namespace {

using grove::Config;
using grove::Index;
using grove::Matrix;
using grove::RunRecord;
using grove::RunStatus;
using grove::Vector;

/// Sets options by name, as flags and TOML files do.
Config configure(const std::vector<std::pair<std::string, std::string>>& settings) {
  const grove::Registry registry = toys::registry();
  Config config;
  const auto options = grove::options_of(config, registry);
  for (const auto& [name, value] : settings) {
    const auto* option = grove::find_option(options, name);
    EXPECT_NE(option, nullptr) << name;
    const auto status = grove::set_option(*option, value);
    EXPECT_TRUE(status) << status.error().text();
  }
  return config;
}

/// 60 samples of 6 features with targets that three of them explain; no random numbers.
struct Data {
  Data() : features(60, 6), targets(60) {
    for (Index i = 0; i < 60; ++i)
      for (Index k = 0; k < 6; ++k)
        features(i, k) =
            std::sin(1.3 * static_cast<double>(i * (k + 1)) + 0.7 * static_cast<double>(k));
    for (Index i = 0; i < 60; ++i)
      targets[i] = 2 * features(i, 0) - features(i, 1) + 0.1 * std::cos(static_cast<double>(i));
  }
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> features;
  Vector targets;

  grove::Problem problem() const {
    return *grove::Problem::from_samples(
        grove::DenseView{features.data(), features.rows(), features.cols()},
        {targets.data(), static_cast<std::size_t>(targets.size())});
  }
  /// Rows i, i + n, ... of agent i.
  std::vector<Index> rows_of(Index agent, Index agents) const {
    std::vector<Index> rows;
    for (Index i = agent; i < features.rows(); i += agents) rows.push_back(i);
    return rows;
  }
  Vector squared_gradient(Index agent, Index agents, const Vector& x) const {
    Vector gradient = Vector::Zero(x.size());
    const auto rows = rows_of(agent, agents);
    for (const Index i : rows)
      gradient += (features.row(i).dot(x) - targets[i]) * features.row(i).transpose();
    return gradient / static_cast<double>(rows.size());
  }
};

RunRecord must_run(const Data& data, const Config& config) {
  auto record = grove::run(data.problem(), config);
  EXPECT_TRUE(record) << record.error().text();
  return std::move(*record);
}

// The rounds of EXTRA in matrix form, X holding x_i as rows: X_{k+2} = (I + W) X_{k+1} -
// (I + W)/2 X_k - a (G_{k+1} - G_k).
TEST(OwnMethod, HasTheIteratesOfItsMatrixForm) {
  const Data data;
  const Config config = configure({{"method", "toy-extra"},
                                   {"loss", "squared"},
                                   {"agents", "5"},
                                   {"graph", "ring"},
                                   {"partition", "stride"},
                                   {"step", "0.2"},
                                   {"rounds", "7"},
                                   {"tolerance", "0"},
                                   {"keep-estimates", "true"}});
  const RunRecord record = must_run(data, config);
  Matrix W = Matrix::Zero(5, 5);  // Metropolis weights of a ring: 1/3 each
  for (Index i = 0; i < 5; ++i) W(i, i) = W(i, (i + 1) % 5) = W((i + 1) % 5, i) = 1.0 / 3;
  const auto gradients = [&](const Matrix& X) {
    Matrix G(5, 6);
    for (Index i = 0; i < 5; ++i) G.row(i) = data.squared_gradient(i, 5, X.row(i)).transpose();
    return G;
  };
  Matrix last = Matrix::Zero(5, 6), last_gradients = gradients(last);
  Matrix X = W * last - 0.2 * last_gradients;
  for (int k = 1; k < 7; ++k) {
    const Matrix G = gradients(X);
    const Matrix next = X + W * X - 0.5 * (last + W * last) - 0.2 * (G - last_gradients);
    last = X;
    last_gradients = G;
    X = next;
  }
  ASSERT_EQ(record.estimates.size(), 5u);
  for (Index i = 0; i < 5; ++i)
    EXPECT_LT((record.estimates[i] - X.row(i).transpose()).norm(), 1e-12 * X.norm()) << i;
  EXPECT_EQ(record.config["method"], "toy-extra");
}

TEST(OwnMethod, ConvergesAndIsRefusedWhatItsTraitsExclude) {
  const Data data;
  Config config = configure({{"method", "toy-extra"},
                             {"loss", "squared"},
                             {"l2", "0.1"},
                             {"agents", "5"},
                             {"rounds", "3000"}});
  EXPECT_EQ(must_run(data, config).outcome.status, RunStatus::converged);
  config.participation = "0.5";
  EXPECT_EQ(grove::run(data.problem(), config).error().where, "--participation");
  config = configure({{"method", "toy-extra"}, {"link", "edge"}});
  EXPECT_EQ(grove::run(data.problem(), config).error().where, "--link");
}

TEST(OwnMethod, GoesOnFromACheckpointAsIfItHadNeverStopped) {
  const Data data;
  const auto folder = std::filesystem::path(testing::TempDir()) / "grove-extension-checkpoint";
  std::filesystem::remove_all(folder);
  Config config = configure({{"method", "toy-extra"},
                             {"loss", "squared"},
                             {"agents", "4"},
                             {"graph", "ring"},
                             {"rounds", "12"},
                             {"tolerance", "0"}});
  const RunRecord whole = must_run(data, config);
  config.checkpoint = folder.string();
  config.rounds = 5;
  must_run(data, config);
  config.rounds = 12;
  EXPECT_EQ(must_run(data, config).solution, whole.solution);
  std::filesystem::remove_all(folder);
}

// Minimizes sum_j log cosh(w_j'x - y_j) / 60 + 0.05 |x|^2 by steps with the largest Hessian there
// is, which never overshoot.
TEST(OwnLoss, HasTheOptimumThatPlainStepsFind) {
  const Data data;
  Vector x = Vector::Zero(6);
  const Matrix largest =
      data.features.transpose() * data.features / 60 + 0.1 * Matrix::Identity(6, 6);
  for (int k = 0; k < 1000; ++k) {
    Vector gradient = 0.1 * x;
    for (Index i = 0; i < 60; ++i) {
      const double slope = std::tanh(data.features.row(i).dot(x) - data.targets[i]);
      gradient += slope / 60 * data.features.row(i).transpose();
    }
    x -= largest.ldlt().solve(gradient);
  }
  for (const char* method : {"druid-vl", "druid-gd", "pg-extra", "toy-extra"}) {
    const Config config = configure({{"loss", "log-cosh"},
                                     {"l2", "0.1"},
                                     {"agents", "6"},
                                     {"graph", "wheel"},
                                     {"method", method},
                                     {"tolerance", "1e-14"},
                                     {"rounds", "20000"},
                                     {"metrics", "squared_norm"},
                                     {"measure-every", "10"}});
    const RunRecord record = must_run(data, config);
    EXPECT_EQ(record.outcome.status, RunStatus::converged) << method;
    EXPECT_LT((record.solution - x).norm(), 1e-6 * x.norm()) << method;
    EXPECT_LT((record.reference->solution - x).norm(), 1e-9 * x.norm());
    EXPECT_EQ(record.config["loss"], "log-cosh");
    EXPECT_EQ(record.config["graph"], "wheel");
    EXPECT_EQ(record.problem.edges, 5u + 4u);
    EXPECT_DOUBLE_EQ(record.trace.back().metrics.at("squared_norm"), record.solution.squaredNorm());
    const auto back = grove::record_from_json(grove::to_json(record));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(grove::to_json(*back), grove::to_json(record));
  }
}

// x is optimal for f + W sum_g |x_g| exactly where every group has grad_g = -W x_g / |x_g|, or is 0
// with |grad_g| <= W.
TEST(OwnRegularizer, LeavesGroupsThatSatisfyTheOptimalityConditions) {
  const Data data;
  for (const char* method : {"druid-vl", "druid-newton", "pg-extra", "nids"}) {
    const Config config = configure({{"regularizer", "group-lasso:0.2:2"},
                                     {"loss", "squared"},
                                     {"l2", "0.05"},
                                     {"agents", "4"},
                                     {"graph", "ring"},
                                     {"method", method},
                                     {"tolerance", "1e-9"},
                                     {"rounds", "20000"},
                                     {"measure-every", "10"},
                                     {"regularizer-agent", "2"}});
    const RunRecord record = must_run(data, config);
    EXPECT_EQ(record.outcome.status, RunStatus::converged) << method;
    for (const Vector& x : {record.solution, record.reference->solution}) {
      Vector gradient = 0.05 * x;
      for (Index i = 0; i < 60; ++i)
        gradient +=
            (data.features.row(i).dot(x) - data.targets[i]) / 60 * data.features.row(i).transpose();
      int zero = 0;
      for (Index k = 0; k < 6; k += 2) {
        const Vector group = x.segment(k, 2), slope = gradient.segment(k, 2);
        if (group.norm() < 1e-7) {
          EXPECT_LE(slope.norm(), 0.2 * (1 + 1e-5)) << method;
          ++zero;
        } else {
          EXPECT_LT((slope + 0.2 * group / group.norm()).norm(), 1e-5) << method;
        }
      }
      EXPECT_GT(zero, 0) << "the test would show little";
      EXPECT_LT(zero, 3);
    }
    EXPECT_EQ(record.config["regularizer"], "group-lasso:0.2:2");
  }
}

TEST(OwnRows, AreComparedAndDrawnBesideTheOthers) {
  const Data data;
  std::vector<grove::RunSeries> series;
  const Config first = configure({{"loss", "log-cosh:2"}, {"l2", "0.1"}, {"agents", "5"}});
  const auto problem = grove::prepare(data.problem(), first);
  ASSERT_TRUE(problem) << problem.error().text();
  for (const char* method : {"toy-extra", "druid-vl"}) {
    Config config = first;
    config.method = configure({{"method", method}}).method;
    auto record = grove::run_prepared(config, *problem);
    ASSERT_TRUE(record) << record.error().text();
    series.push_back({.name = method, .runs = {std::move(*record)}});
  }
  const std::string table = grove::comparison_table(series);
  EXPECT_NE(table.find("toy-extra"), std::string::npos) << table;
  const auto file = std::filesystem::path(testing::TempDir()) / "grove-extension.csv";
  ASSERT_TRUE(grove::draw(grove::convergence_figure(series, grove::PlotAxis::rounds), file));
  EXPECT_NE(grove::read_file(file)->find("toy-extra"), std::string::npos);
}

TEST(OwnRows, ThatAreUnknownOrWrongAreRefusedByName) {
  const grove::Registry registry = toys::registry();
  Config config;
  const auto refusal = [&](const grove::Registry& rows, const char* name, const char* value) {
    const auto options = grove::options_of(config, rows);
    return grove::set_option(*grove::find_option(options, name), value).error().text();
  };
  EXPECT_NE(refusal(registry, "method", "toy").find("toy-extra"), std::string::npos);
  EXPECT_NE(refusal(registry, "regularizer", "group-lasso:1").find("group-lasso:W:SIZE"),
            std::string::npos);
  EXPECT_NE(refusal(registry, "loss", "log-cosh:0").find("SCALE"), std::string::npos);
  EXPECT_NE(refusal(registry, "metrics", "norm").find("squared_norm"), std::string::npos);
  EXPECT_EQ(refusal(grove::built_in_registry(), "method", "toy-extra").find("--method: "), 0u);
  config = configure({{"regularizer", "group-lasso:1:2"}, {"l1", "0.1"}});
  EXPECT_EQ(grove::check(config).error().where, "--regularizer");
}

}  // namespace
