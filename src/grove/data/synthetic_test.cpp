#include "grove/data/synthetic.h"

#include <gtest/gtest.h>
#include <Eigen/QR>

#include "grove/data/dataset_flaw.h"

namespace grove {
namespace {

Dataset make(const std::string& source, TargetKind kind = TargetKind::two_classes,
             std::uint64_t seed = 1) {
  auto dataset = load_dataset(source, kind, seed);
  EXPECT_TRUE(dataset) << dataset.error().text();
  EXPECT_EQ(dataset_flaw(*dataset), "");
  return std::move(*dataset);
}

std::string error_of(const std::string& source) {
  const auto dataset = load_dataset(source, TargetKind::two_classes, 1);
  return dataset ? "no error" : dataset.error().text();
}

const DenseRows& dense(const Dataset& dataset) {
  return std::get<DenseRows>(dataset.samples.features);
}

/// Logistic regression of the targets by gradient descent: a plain oracle for what can be learned.
Vector fit_logistic(const DenseRows& rows, const Vector& targets, double step, int steps) {
  Vector weights = Vector::Zero(rows.cols());
  for (int k = 0; k < steps; ++k) {
    const Vector probability = (1 + (-(rows * weights).array()).exp()).inverse();
    weights -=
        step / static_cast<double>(rows.rows()) * (rows.transpose() * (probability - targets));
  }
  return weights;
}

TEST(IjcnnLike, HasTheShapeScaleAndRarityOfIjcnn1) {
  const Dataset dataset = make("synthetic:ijcnn-like");
  EXPECT_EQ(dataset.samples.count(), 4000);
  EXPECT_EQ(dataset.samples.dimension(), 22);
  const DenseRows& rows = dense(dataset);
  EXPECT_EQ(rows.leftCols(10).rowwise().sum(), Vector::Ones(4000));
  EXPECT_EQ((rows.leftCols(10).array() == 1).count(), 4000);
  EXPECT_LE(rows.rightCols(12).maxCoeff(), 1);
  EXPECT_GE(rows.rightCols(12).minCoeff(), -1);
  for (Index column = 0; column < 10; ++column)
    EXPECT_NEAR(rows.col(column).sum(), 400, 5 * std::sqrt(4000 * 0.1 * 0.9));
  EXPECT_NEAR(dataset.samples.targets.mean(), 0.1, 0.02);
  EXPECT_EQ(dataset.labels->negative, -1);
  EXPECT_EQ(dataset.labels->positive, 1);
}

TEST(IjcnnLike, HasCorrelatedColumns) {
  const Dataset dataset = make("synthetic:ijcnn-like,samples=20000");
  const DenseRows centred = dense(dataset).rowwise() - dense(dataset).colwise().mean();
  const auto correlation = [&](Index a, Index b) {
    return centred.col(a).dot(centred.col(b)) / (centred.col(a).norm() * centred.col(b).norm());
  };
  EXPECT_NEAR(correlation(10, 16), 0.64, 0.05);   // loadings 0.8 and 0.8
  EXPECT_NEAR(correlation(10, 17), -0.60, 0.05);  // 0.8 and -0.75
  EXPECT_NEAR(correlation(11, 15), 0.00, 0.05);   // 0.2 and 0
}

// A model learns much of the labels but cannot get all right: positives and negatives overlap.
TEST(IjcnnLike, CanBeLearnedButNotSeparated) {
  const Dataset dataset = make("synthetic:ijcnn-like");
  const Vector& targets = dataset.samples.targets;
  const Vector score = dense(dataset) * fit_logistic(dense(dataset), targets, 2.0, 3000);
  double ranked_right = 0, pairs = 0;
  double lowest_positive = 1e300, highest_negative = -1e300;
  for (Index i = 0; i < targets.size(); ++i) {
    if (targets[i] == 0) {
      highest_negative = std::max(highest_negative, score[i]);
      continue;
    }
    lowest_positive = std::min(lowest_positive, score[i]);
    for (Index j = 0; j < targets.size(); ++j) {
      if (targets[j] == 1) continue;
      pairs += 1;
      ranked_right += score[i] > score[j];
    }
  }
  EXPECT_GT(ranked_right / pairs, 0.80);
  EXPECT_LT(ranked_right / pairs, 0.98);
  EXPECT_LT(lowest_positive, highest_negative);
}

TEST(Synthetic, ASmallerSetIsTheStartOfALargerOneAndTheSeedMatters) {
  const Dataset small = make("synthetic:ijcnn-like,samples=500");
  const Dataset large = make("synthetic:ijcnn-like,samples=6000");
  EXPECT_EQ(dense(small), dense(large).topRows(500));
  EXPECT_EQ(small.samples.targets, large.samples.targets.head(500));
  const Dataset other = make("synthetic:ijcnn-like,samples=500", TargetKind::two_classes, 2);
  EXPECT_NE(dense(small), dense(other));
}

TEST(Gaussian, HasColumnScalesFromOneDownToTheRootOfTheCondition) {
  const Dataset dataset = make("synthetic:gaussian,samples=20000,features=3,condition=100");
  const DenseRows& rows = dense(dataset);
  const Vector deviations = (rows.colwise().squaredNorm() / 20000.0).cwiseSqrt().transpose();
  EXPECT_NEAR(deviations[0], 1, 0.03);
  EXPECT_NEAR(deviations[1], std::sqrt(0.1), 0.03 * std::sqrt(0.1));
  EXPECT_NEAR(deviations[2], 0.1, 0.003);
}

TEST(Gaussian, HasTheDensityAskedForInEveryColumn) {
  const Dataset dataset = make("synthetic:gaussian,samples=10000,features=40,density=0.1");
  ASSERT_TRUE(std::holds_alternative<SparseRows>(dataset.samples.features));
  const auto& rows = std::get<SparseRows>(dataset.samples.features);
  Vector counts = Vector::Zero(40);
  for (Index row = 0; row < rows.rows(); ++row)
    for_each_nonzero(dataset.samples, row, [&](Index column, double) { counts[column] += 1; });
  for (const double count : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(10000 * 0.1 * 0.9));
}

// With m samples of unit signal and noise 0.1, least squares leaves a residual of about 0.1.
TEST(Gaussian, NumbersFollowALinearModelWithNoise) {
  const Dataset dataset =
      make("synthetic:gaussian,samples=5000,features=10,condition=50", TargetKind::number);
  EXPECT_FALSE(dataset.labels);
  const Vector& targets = dataset.samples.targets;
  const Vector fit = Matrix(dense(dataset)).colPivHouseholderQr().solve(targets);
  EXPECT_NEAR((dense(dataset) * fit - targets).norm() / std::sqrt(5000.0), 0.1, 0.005);
  EXPECT_NEAR(std::sqrt(targets.squaredNorm() / 5000), std::sqrt(1.01), 0.06);
}

TEST(Gaussian, ClassesFollowALogisticModel) {
  const Dataset dataset = make("synthetic:gaussian,samples=5000,features=5");
  EXPECT_NEAR(dataset.samples.targets.mean(), 0.5, 0.04);
  const Vector weights = fit_logistic(dense(dataset), dataset.samples.targets, 2.0, 2000);
  EXPECT_NEAR(weights.norm(), 2, 0.25);  // the logit's deviation, as columns have deviation 1
}

TEST(Synthetic, ScaleMultipliesEveryFeatureAndLeavesTheLabels) {
  const Dataset plain = make("synthetic:gaussian,samples=50,features=3,condition=100");
  const Dataset scaled = make("synthetic:gaussian,samples=50,features=3,condition=100,scale=0.25");
  EXPECT_EQ(dense(scaled), Matrix(0.25 * dense(plain)));  // a power of two: exactly
  EXPECT_EQ(scaled.samples.targets, plain.samples.targets);
}

TEST(Synthetic, NamesTheClosestKnownNameOrKeyAndTheRange) {
  EXPECT_EQ(error_of("synthetic:ijcn-like"),
            "synthetic:ijcn-like: unknown synthetic set `ijcn-like`, did you mean `ijcnn-like`?");
  EXPECT_EQ(error_of("synthetic:"),
            "synthetic:: unknown synthetic set ``, expected one of: ijcnn-like, gaussian");
  EXPECT_EQ(error_of("synthetic:gaussian,featrues=3"),
            "synthetic:gaussian,featrues=3: unknown key `featrues`, did you mean `features`?");
  EXPECT_EQ(error_of("synthetic:ijcnn-like,density=1"),
            "synthetic:ijcnn-like,density=1: unknown key `density`, expected one of: samples");
  EXPECT_EQ(error_of("synthetic:gaussian,samples"),
            "synthetic:gaussian,samples: expected key=value, found `samples`");
  for (const std::string value : {"0", "-1", "1.5", "nan", "x", "", "1e300"})
    EXPECT_EQ(error_of("synthetic:gaussian,samples=" + value),
              "synthetic:gaussian,samples=" + value +
                  ": samples: expected a whole number from 1 to 100000000, found `" + value + "`");
  EXPECT_NE(error_of("synthetic:gaussian,samples=1e8,features=1e7").find("expected at most 2e+09"),
            std::string::npos);
}

}  // namespace
}  // namespace grove
