#include "grove/train/problem.h"

#include <gtest/gtest.h>

#include "grove/problem/multinomial.h"
#include "grove/problem/smooth_objective.h"

namespace grove {
namespace {

/// 40 samples of 5 features with many zeros, dense and in compressed rows; no random numbers.
struct Data {
  Data() : dense(40, 5), targets(40) {
    for (Index i = 0; i < 40; ++i)
      for (Index k = 0; k < 5; ++k)
        dense(i, k) = (i * 7 + k * 3) % 4 == 0 ? 0 : std::sin(static_cast<double>(i * 5 + k));
    for (Index i = 0; i < 40; ++i) targets[i] = dense(i, 0) > 0.1 * dense(i, 3) ? 2 : -1;
    offsets.push_back(0);
    for (Index i = 0; i < 40; ++i) {
      for (Index k = 0; k < 5; ++k)
        if (dense(i, k) != 0) {
          indices.push_back(static_cast<std::int32_t>(k));
          values.push_back(dense(i, k));
        }
      offsets.push_back(static_cast<std::int32_t>(values.size()));
    }
  }
  DenseView view() const { return {dense.data(), 40, 5}; }
  CsrView csr() const { return {offsets.data(), indices.data(), values.data(), 40, 5}; }
  std::span<const double> labels() const { return {targets.data(), 40}; }

  DenseRows dense;
  Vector targets;
  std::vector<std::int32_t> offsets, indices;
  std::vector<double> values;
};

/// (1/D) sum log(1 + e^m) - y m over some rows, by plain loops; the last coefficient is the
/// intercept.
double plain_value(const Data& data, const std::vector<std::uint32_t>& rows, const Vector& x) {
  double sum = 0;
  for (const std::uint32_t i : rows) {
    const double margin = data.dense.row(i).dot(x.head(5)) + x[5];
    sum += std::log(1 + std::exp(margin)) - (data.targets[i] == 2 ? margin : 0);
  }
  return sum / static_cast<double>(rows.size());
}

std::vector<std::uint32_t> every_third() {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 1; i < 40; i += 3) rows.push_back(i);
  return rows;
}

Vector targets_of(const Data& data, const std::vector<std::uint32_t>& rows) {
  Vector targets(static_cast<Index>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k)
    targets[static_cast<Index>(k)] = data.targets[rows[k]] == 2;
  return targets;
}

TEST(FeatureViews, GiveTheValueGradientAndHessianOfPlainLoopsAndDifferences) {
  const Data data;
  const auto rows = every_third();
  Vector x(6);
  x << 0.3, -0.2, 0.5, 0.1, -0.7, 0.2;
  for (const FeatureView& view : {FeatureView(data.view()), FeatureView(data.csr())}) {
    const auto objective =
        make_shard_objective(view, rows, targets_of(data, rows), {.intercept = true});
    ObjectiveScratch scratch;
    Vector gradient;
    Matrix hessian;
    const double value = objective->evaluate(x, Batch::all(), &gradient, &hessian, scratch);
    EXPECT_NEAR(value, plain_value(data, rows, x), 1e-14);
    for (Index k = 0; k < 6; ++k) {
      constexpr double h = 1e-5;
      const Vector step = h * Vector::Unit(6, k);
      EXPECT_NEAR(gradient[k],
                  (plain_value(data, rows, x + step) - plain_value(data, rows, x - step)) / (2 * h),
                  1e-9);
      Vector ahead, behind;
      objective->evaluate(x + step, Batch::all(), &ahead, nullptr, scratch);
      objective->evaluate(x - step, Batch::all(), &behind, nullptr, scratch);
      EXPECT_LT((hessian.col(k) - (ahead - behind) / (2 * h)).norm(), 1e-8);
    }
    Vector product;
    objective->hessian_times(x, Batch::all(), x, product, scratch);
    EXPECT_LT((product - hessian * x).norm(), 1e-13);
    const std::vector<std::uint32_t> some{0, 3, 4};
    objective->evaluate(x, Batch::of(some), &gradient, &hessian, scratch);
    EXPECT_NEAR(objective->evaluate(x, Batch::of(some), nullptr, nullptr, scratch),
                plain_value(data, {rows[0], rows[3], rows[4]}, x), 1e-14);
  }
}

// The caller's numbers are read where they are: a change of one shows in the next evaluation.
TEST(FeatureViews, AreNotCopied) {
  Data data;
  const auto rows = every_third();
  const Vector x = Vector::Constant(6, 0.4);
  for (const bool sparse : {false, true}) {
    const FeatureView view = sparse ? FeatureView(data.csr()) : FeatureView(data.view());
    const auto objective =
        make_shard_objective(view, rows, targets_of(data, rows), {.intercept = true});
    ObjectiveScratch scratch;
    const double before = objective->evaluate(x, Batch::all(), nullptr, nullptr, scratch);
    const Index row = rows[2];
    data.dense(row, 2) = 3;
    for (std::int32_t k = data.offsets[row]; k < data.offsets[row + 1]; ++k)
      if (data.indices[k] == 2) data.values[k] = 3;
    const double after = objective->evaluate(x, Batch::all(), nullptr, nullptr, scratch);
    EXPECT_NE(before, after);
    EXPECT_NEAR(after, plain_value(data, rows, x), 1e-14);
    data = Data();
  }
}

// Rows 0 and 1 carry the same data three ways: a matrix with a stride, one without, and CSR.
TEST(Problem, GivesTheSameRunFromDenseStridedAndSparseData) {
  const Data data;
  DenseRows wide = DenseRows::Constant(40, 9, std::nan(""));
  wide.leftCols(5) = data.dense;
  Options options;
  options.agents = 4;
  options.graph = "ring";
  options.l2 = 0.1;
  options.intercept = true;
  options.tolerance = 1e-18;
  std::vector<RunRecord> records;
  for (const FeatureView& view :
       {FeatureView(data.view()), FeatureView(DenseView{wide.data(), 40, 5, 9}),
        FeatureView(data.csr())}) {
    const auto problem = Problem::from_samples(view, data.labels());
    ASSERT_TRUE(problem) << problem.error().text();
    auto record = run(*problem, options);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->outcome.status, RunStatus::converged);
    EXPECT_EQ(record->config["data"], "memory");
    EXPECT_EQ(record->problem.labels->negative, -1);
    EXPECT_EQ(record->problem.labels->positive, 2);
    records.push_back(std::move(*record));
  }
  EXPECT_EQ(records[0].solution, records[1].solution);
  EXPECT_LT((records[0].solution - records[2].solution).norm(), 1e-9);
}

TEST(Problem, RefusesWhatDoesNotFitByRowOrField) {
  Data data;
  const auto where = [](const Result<Problem>& problem) { return problem.error().where; };
  EXPECT_EQ(where(Problem::from_samples(data.view(), data.labels().first(39))), "targets");
  data.dense(7, 2) = std::nan("");
  EXPECT_EQ(where(Problem::from_samples(data.view(), data.labels())), "features, row 7");
  data.indices[static_cast<std::size_t>(data.offsets[3])] = 5;
  EXPECT_EQ(where(Problem::from_samples(data.csr(), data.labels())), "features, row 3");
  EXPECT_EQ(where(Problem::from_objectives({})), "objectives");
  const Data good;
  const auto problem = *Problem::from_samples(good.view(), good.labels());
  Options options;
  options.data = "file.svm";
  EXPECT_EQ(run(problem, options).error().where, "data");
  options = Options();
  options.agents = 41;
  EXPECT_EQ(run(problem, options).error().where, "--agents");
}

/// (x - c)^2 w / 2
class Parabola final : public SmoothObjective {
 public:
  Parabola(double center, double weight) : center_(center), weight_(weight) {}
  Index dimension() const override { return 1; }
  double smoothness() const override { return weight_; }
  double value(const Vector& x, Vector* gradient, Matrix* hessian) const override {
    if (gradient) *gradient = Vector::Constant(1, weight_ * (x[0] - center_));
    if (hessian) *hessian = Matrix::Constant(1, 1, weight_);
    return 0.5 * weight_ * (x[0] - center_) * (x[0] - center_);
  }

 private:
  double center_, weight_;
};

// Centers 0, 1, 5 with weights 1, 2, 3 and l1 = 0.5: (17 - 3 * 0.5) / 6, as sum w (x - c) + 3 l1 =
// 0.
TEST(Problem, TakesObjectivesOfTheUsersOwnWithEveryMethod) {
  for (const Method& method : built_in_methods()) {
    const auto problem = *Problem::from_objectives({std::make_shared<Parabola>(0, 1),
                                                    std::make_shared<Parabola>(1, 2),
                                                    std::make_shared<Parabola>(5, 3)});
    Options options;
    options.method = method;
    options.graph = "path";
    options.l1 = 0.5;
    options.rounds = 20000;
    options.tolerance = 1e-18;
    const auto record = run(problem, options);
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_NEAR(record->reference->solution[0], 15.5 / 6, 1e-12);
    EXPECT_NEAR(record->solution[0], 15.5 / 6, 1e-7) << method.name();
    EXPECT_NEAR(record->trace.back().worst_gap.value(), 0, 1e-9) << method.name();
  }
}

// A sample of weight 2 counts as two samples, one of weight 0 as none. With one agent and equal
// weighting of samples both problems are the same sum.
TEST(SampleDetails, WeightsCountAsRepeatedSamples) {
  const Data data;
  Options options;
  options.agents = 1;
  options.l2 = 0.1;
  options.tolerance = 1e-18;
  std::vector<double> weights(40, 1.0);
  DenseRows repeated(40, 5);
  std::vector<double> labels;
  Index rows = 0;
  for (Index i = 0; i < 40; ++i) {
    weights[static_cast<std::size_t>(i)] = i % 4 == 0 ? 2 : i % 4 == 1 ? 0 : 1;
    for (int k = 0; k < static_cast<int>(weights[static_cast<std::size_t>(i)]); ++k) {
      repeated.row(rows++) = data.dense.row(i);
      labels.push_back(data.targets[i]);
    }
  }
  const auto weighted = Problem::from_samples(data.view(), data.labels(), {.weights = weights});
  const auto plain = Problem::from_samples(DenseView{repeated.data(), rows, 5}, labels);
  ASSERT_TRUE(weighted && plain);
  const auto a = run(*weighted, options), b = run(*plain, options);
  ASSERT_TRUE(a && b);
  EXPECT_LT((a->solution - b->solution).norm(), 1e-8 * b->solution.norm());
  weights[3] = -1;
  EXPECT_EQ(Problem::from_samples(data.view(), data.labels(), {.weights = weights}).error().where,
            "weights");
}

// log sum_k e^{eta_k} - eta_y by plain loops, with differences for its derivatives.
TEST(SampleDetails, ClassesGiveTheMultinomialLossOfPlainLoops) {
  const Data data;
  const auto rows = every_third();
  Vector targets(static_cast<Index>(rows.size()));
  for (Index k = 0; k < targets.size(); ++k) targets[k] = static_cast<double>(k % 3);
  Vector x(17);  // 3 x 5 features, intercepts of classes 1 and 2
  for (Index k = 0; k < 17; ++k) x[k] = std::sin(1.7 * static_cast<double>(k));
  const auto plain = [&](const Vector& at) {
    double sum = 0;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      double total = 0, own = 0;
      for (Index c = 0; c < 3; ++c) {
        const double eta =
            data.dense.row(rows[j]).dot(at.segment(5 * c, 5)) + (c > 0 ? at[14 + c] : 0);
        total += std::exp(eta);
        if (c == static_cast<Index>(j) % 3) own = eta;
      }
      sum += std::log(total) - own;
    }
    return sum / static_cast<double>(rows.size()) + 0.05 * at.head(15).squaredNorm();
  };
  for (const FeatureView& view : {FeatureView(data.view()), FeatureView(data.csr())}) {
    const auto objective = make_symmetric_multinomial_objective(view, rows, targets, 3,
                                                                {.l2 = 0.1, .intercept = true});
    ObjectiveScratch scratch;
    Vector gradient, product;
    Matrix hessian;
    EXPECT_NEAR(objective->evaluate(x, Batch::all(), &gradient, &hessian, scratch), plain(x),
                1e-14);
    for (Index k = 0; k < 17; ++k) {
      constexpr double h = 1e-5;
      const Vector step = h * Vector::Unit(17, k);
      EXPECT_NEAR(gradient[k], (plain(x + step) - plain(x - step)) / (2 * h), 1e-9);
      Vector ahead, behind;
      objective->evaluate(x + step, Batch::all(), &ahead, nullptr, scratch);
      objective->evaluate(x - step, Batch::all(), &behind, nullptr, scratch);
      EXPECT_LT((hessian.col(k) - (ahead - behind) / (2 * h)).norm(), 1e-8);
    }
    objective->hessian_times(x, Batch::all(), x, product, scratch);
    EXPECT_LT((product - hessian * x).norm(), 1e-12);
    EXPECT_GE(objective->smoothness(), x.dot(product) / x.squaredNorm());
  }
  EXPECT_EQ(
      Problem::from_samples(data.view(), data.labels(), {.classes = 3}).error().where.substr(0, 7),
      "targets");
}

TEST(Problem, StartsWhereItIsAskedTo) {
  const Data data;
  auto problem = Problem::from_samples(data.view(), data.labels());
  ASSERT_TRUE(problem);
  Options options;
  options.agents = 4;
  options.l2 = 0.1;
  options.tolerance = 1e-18;
  const auto first = run(*problem, options);
  ASSERT_TRUE(first);
  problem->start_at(first->solution);
  const auto again = run(*problem, options);
  ASSERT_TRUE(again);
  EXPECT_LT((again->solution - first->solution).norm(), 1e-7 * first->solution.norm());
  EXPECT_NEAR(again->trace.front().objective, first->objective, 1e-12);
  problem->start_at(Vector::Zero(4));
  EXPECT_EQ(run(*problem, options).error().where, "start");
}

// delta = K times the geometric mean of the agents' scales, each 1.4826 times the median distance
// from the median. Targets in other units then give the same model in these units.
TEST(Problem, HubersDeltaFollowsTheUnitsOfTheTargets) {
  const Data data;
  Vector targets(40), large(40);
  for (Index i = 0; i < 40; ++i)
    targets[i] = data.dense(i, 1) + (i % 9 == 0 ? 30 : 0.1 * std::cos(static_cast<double>(i)));
  large = 1e4 * targets;
  Options options;
  options.agents = 2;
  options.partition = "stride";
  options.graph = "path";
  options.loss = HuberLoss{.delta = 1.5, .of_target_scale = true};
  const auto small = run(*Problem::from_samples(data.view(), {targets.data(), 40}), options);
  const auto scaled = run(*Problem::from_samples(data.view(), {large.data(), 40}), options);
  ASSERT_TRUE(small && scaled);
  double logarithms = 0;
  for (int agent = 0; agent < 2; ++agent) {
    std::vector<double> own, distances;
    for (Index i = agent; i < 40; i += 2) own.push_back(targets[i]);
    std::ranges::sort(own);
    for (const double target : own) distances.push_back(std::abs(target - own[10]));
    std::erase(distances, 0.0);
    std::ranges::sort(distances);
    logarithms += std::log(1.4826 * std::sqrt(static_cast<double>(distances.size()) / 20) *
                           distances[distances.size() / 2]);
  }
  const double delta = 1.5 * std::exp(logarithms / 2);
  EXPECT_NEAR(std::stod(small->problem.loss.substr(6)), delta, 1e-12 * delta);
  EXPECT_NEAR(std::stod(scaled->problem.loss.substr(6)), 1e4 * delta, 1e-8 * delta);
  options.loss = HuberLoss{.delta = delta};
  const auto absolute = run(*Problem::from_samples(data.view(), {targets.data(), 40}), options);
  ASSERT_TRUE(absolute);
  EXPECT_LT((absolute->solution - small->solution).norm(), 1e-9 * absolute->solution.norm());
  EXPECT_LT((scaled->solution - 1e4 * small->solution).norm(), 1e-2 * scaled->solution.norm());
}

}  // namespace
}  // namespace grove
