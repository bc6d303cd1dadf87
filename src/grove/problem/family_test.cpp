#include "grove/problem/family.h"

#include <cmath>

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>

#include "grove/base/random.h"
#include "grove/kernels/kernels.h"
#include "grove/problem/cox.h"
#include "grove/problem/multinomial.h"
#include "grove/problem/shard_pass.h"

namespace grove {
namespace {

std::vector<Loss> losses_of_families() {
  return {PoissonLoss{},      GammaLoss{},    NegativeBinomialLoss{2.5},
          SquaredHingeLoss{}, LogisticLoss{}, SquaredLoss{}};
}

LossPoint value_of(const Loss& loss, double margin, double target) {
  return std::visit([&](const auto& form) { return form.at(margin, target); }, loss);
}

TEST(LossesOfFamilies, SlopesAreCentralDifferences) {
  constexpr double h = 1e-5;
  for (const Loss& loss : losses_of_families())
    for (const double target : {0.0, 1.0, 4.0, 17.5})
      for (const double margin : {-6.3, -1.2, -0.31, 0.05, 0.92, 2.4, 5.1}) {
        if (is_classification(loss) && target > 1) continue;
        const LossPoint here = value_of(loss, margin, target);
        const LossPoint ahead = value_of(loss, margin + h, target);
        const LossPoint behind = value_of(loss, margin - h, target);
        const double scale = 1 + std::abs(here.value) + std::abs(here.slope);
        EXPECT_NEAR((ahead.value - behind.value) / (2 * h), here.slope, 2e-8 * scale)
            << name_of(loss) << " " << margin << " " << target;
        EXPECT_NEAR((ahead.slope - behind.slope) / (2 * h), here.second_derivative, 2e-8 * scale)
            << name_of(loss) << " " << margin << " " << target;
      }
}

/// The least value over all margins: what is left is half the unit deviance.
TEST(LossesOfFamilies, TakeOffTheirLeastValue) {
  for (const double target : {0.5, 1.0, 4.0, 17.5}) {
    EXPECT_NEAR(PoissonLoss{}.at(std::log(target), target).value,
                least_value(PoissonLoss{}, target), 1e-12);
    EXPECT_NEAR(GammaLoss{}.at(std::log(target), target).value, least_value(GammaLoss{}, target),
                1e-12);
    const NegativeBinomialLoss loss{2.5};
    EXPECT_NEAR(loss.at(std::log(target), target).value, least_value(loss, target), 1e-12);
  }
}

TEST(LossesOfFamilies, NeverOverflow) {
  for (const Loss& loss : losses_of_families())
    for (const double margin : {-1e100, -1e4, -800.0, 800.0, 1e4, 1e100}) {
      const LossPoint point = value_of(loss, margin, 1);
      EXPECT_TRUE(std::isfinite(point.value) && std::isfinite(point.slope) &&
                  std::isfinite(point.second_derivative))
          << name_of(loss) << " " << margin;
    }
}

/// Each kernel against the formulas, with and without weights of samples.
TEST(LossesOfFamilies, KernelsAgreeWithTheFormulas) {
  KeyedRandom random({.seed = 5, .purpose = Purpose::synthetic});
  constexpr Index count = 203;
  std::vector<double> margins(count), targets(count), weights(count), slopes(count), seconds(count);
  for (const kernels::Kernels* kernels : kernels::available())
    for (const Loss& loss : losses_of_families())
      for (const bool weighted : {false, true}) {
        double sum = 0, size = 0;
        for (Index k = 0; k < count; ++k) {
          margins[k] = (k % 10 == 0 ? 150 : 3) * random.normal();
          targets[k] = is_classification(loss) ? static_cast<double>(k % 2)
                                               : std::floor(10 * random.uniform()) + 1;
          weights[k] = random.uniform();
          const double value =
              (weighted ? weights[k] : 1) * value_of(loss, margins[k], targets[k]).value;
          sum += value;
          size += std::abs(value);
        }
        const double got = evaluate_losses(*kernels, loss,
                                           {count, margins.data(), targets.data(), slopes.data(),
                                            seconds.data(), weighted ? weights.data() : nullptr});
        EXPECT_NEAR(got, sum, 1e-13 * size) << name_of(loss);
        for (Index k = 0; k < count; ++k) {
          const LossPoint want = value_of(loss, margins[k], targets[k]);
          const double weight = weighted ? weights[k] : 1;
          EXPECT_NEAR(slopes[k], weight * want.slope, 1e-13 * (targets[k] + std::abs(want.slope)))
              << name_of(loss);
          EXPECT_NEAR(seconds[k], weight * want.second_derivative,
                      1e-13 * (1e-3 + want.second_derivative))
              << name_of(loss);
        }
      }
}

Design random_design(Index rows, Index columns, std::uint64_t seed) {
  KeyedRandom random({.seed = seed, .purpose = Purpose::synthetic});
  Design design;
  DenseRows features(rows, columns);
  for (double& entry : features.reshaped()) entry = random.normal();
  design.samples = {features, Vector(rows)};
  design.events.resize(rows);
  design.weights.resize(rows);
  for (Index row = 0; row < rows; ++row) {
    design.samples.targets[row] = std::floor(6 * random.uniform());
    design.events[row] = random.uniform() < 0.7 ? 1 : 0;
    design.weights[row] = 0.5 + random.uniform();
  }
  return design;
}

/// Gradient and Hessian against central differences, products against the Hessian.
void expect_consistent(const Objective& objective, std::uint64_t seed) {
  KeyedRandom random({.seed = seed, .purpose = Purpose::synthetic});
  const Index d = objective.dimension();
  Vector x(d), direction(d), gradient, product;
  for (double& entry : x) entry = 0.4 * random.normal();
  for (double& entry : direction) entry = random.normal();
  Matrix hessian;
  ObjectiveScratch scratch;
  objective.evaluate(x, Batch::all(), &gradient, &hessian, scratch);
  EXPECT_LT((hessian - hessian.transpose()).norm(), 1e-14 * hessian.norm());
  constexpr double h = 1e-5;
  for (Index k = 0; k < d; ++k) {
    Vector ahead = x, behind = x, slope_ahead, slope_behind;
    ahead[k] += h;
    behind[k] -= h;
    const double up = objective.evaluate(ahead, Batch::all(), &slope_ahead, nullptr, scratch);
    const double down = objective.evaluate(behind, Batch::all(), &slope_behind, nullptr, scratch);
    EXPECT_NEAR((up - down) / (2 * h), gradient[k], 1e-8 * (1 + gradient.norm()));
    EXPECT_LT(((slope_ahead - slope_behind) / (2 * h) - hessian.col(k)).norm(),
              1e-8 * (1 + hessian.norm()));
  }
  objective.hessian_times(x, Batch::all(), direction, product, scratch);
  EXPECT_LT((product - hessian * direction).norm(), 1e-12 * product.norm());
  const Eigen::SelfAdjointEigenSolver<Matrix> spectrum(hessian);
  EXPECT_LE(spectrum.eigenvalues().maxCoeff(), objective.smoothness() * (1 + 1e-12));
  EXPECT_GE(spectrum.eigenvalues().minCoeff(), -1e-12);
}

TEST(MultinomialObjective, DerivativesAreCentralDifferences) {
  for (const bool intercept : {false, true}) {
    Design design = random_design(40, 3, 11);
    for (double& target : design.samples.targets) target = std::min(target, 3.0);
    const auto objective =
        make_multinomial_objective(design, 4, {.l2 = 0.1, .intercept = intercept, .scale = 1.3});
    EXPECT_EQ(objective->dimension(), intercept ? 12 : 9);
    expect_consistent(*objective, 3);
  }
}

/// With two classes it is the logistic objective.
TEST(MultinomialObjective, IsLogisticForTwoClasses) {
  Design design = random_design(30, 3, 2);
  for (double& target : design.samples.targets) target = target > 2 ? 1 : 0;
  const auto two = make_multinomial_objective(design, 2, {.l2 = 0.2, .intercept = true});
  const auto logistic = make_shard_objective(
      design.samples, {.l2 = 0.2, .intercept = true, .weights = design.weights});
  const Vector x = (Vector(4) << 0.3, -0.7, 1.1, 0.2).finished();
  Vector a, b;
  ObjectiveScratch scratch;
  EXPECT_NEAR(two->evaluate(x, Batch::all(), &a, nullptr, scratch),
              logistic->evaluate(x, Batch::all(), &b, nullptr, scratch), 1e-14);
  EXPECT_LT((a - b).norm(), 1e-14);
}

TEST(CoxObjective, DerivativesAreCentralDifferences) {
  for (const Ties ties : {Ties::efron, Ties::breslow}) {
    Design design = random_design(40, 3, 21);
    design.offsets = Vector::Constant(40, 0.3);
    design.offsets[3] = -1;
    const auto objective = make_cox_objective(design, ties, {.l2 = 0.1, .scale = 1.3});
    expect_consistent(*objective, 4);
  }
}

/// Times 1, 2, 2, 3 with events 1, 1, 1, 0 and x = 0, 1, 0, 1: the partial likelihood by hand, with
/// r = e^b. Breslow: r^1 / ((2 + 2r) (1 + 2r)^2); Efron's second factor: (1 + 2r)(0.5 + 1.5 r).
TEST(CoxObjective, IsThePartialLikelihoodByHand) {
  Design design;
  design.samples = {DenseRows((DenseRows(4, 1) << 0, 1, 0, 1).finished()),
                    (Vector(4) << 1, 2, 2, 3).finished()};
  design.events = (Vector(4) << 1, 1, 1, 0).finished();
  const double b = 0.6, r = std::exp(b);
  const Vector x = Vector::Constant(1, b);
  EXPECT_NEAR(cox_log_likelihood(design, Ties::breslow, x),
              b - std::log(2 + 2 * r) - 2 * std::log(1 + 2 * r), 1e-14);
  EXPECT_NEAR(cox_log_likelihood(design, Ties::efron, x),
              b - std::log(2 + 2 * r) - std::log(1 + 2 * r) - std::log(0.5 + 1.5 * r), 1e-14);
}

/// Offsets and weights of samples: an offset is a column with coefficient 1, a weight of 2 is a row
/// twice.
TEST(ShardObjective, TakesOffsetsAndWeights) {
  const Design design = random_design(25, 3, 8);
  const Loss loss = PoissonLoss{};
  Vector weights = Vector::Ones(25);
  weights[4] = 2;
  const auto& rows = std::get<DenseRows>(design.samples.features);
  DenseRows twice(26, 3);
  twice << rows, rows.row(4);
  Vector targets(26);
  targets << design.samples.targets, design.samples.targets[4];
  const Vector offsets = rows.col(2);
  const auto weighted = make_shard_objective(
      Samples{DenseRows(rows.leftCols(2)), design.samples.targets},
      {.loss = loss, .intercept = true, .scale = 25, .offsets = offsets, .weights = weights});
  const auto plain =
      make_shard_objective(Samples{twice, targets}, {.loss = loss, .intercept = true, .scale = 26});
  const Vector x = (Vector(3) << 0.3, -0.2, 0.1).finished();
  const Vector longer = (Vector(4) << 0.3, -0.2, 1, 0.1).finished();
  Vector a, b;
  Matrix ha, hb;
  ObjectiveScratch scratch;
  EXPECT_NEAR(weighted->evaluate(x, Batch::all(), &a, &ha, scratch),
              plain->evaluate(longer, Batch::all(), &b, &hb, scratch), 1e-12);
  EXPECT_NEAR(a[0], b[0], 1e-12);
  EXPECT_NEAR(a[2], b[3], 1e-12);
  EXPECT_NEAR(ha(0, 2), hb(0, 3), 1e-12);
  const std::vector<std::uint32_t> listed{1, 4, 7, 20};
  double sum = 0;
  for (const std::uint32_t row : listed)
    sum += weights[row] *
           (value_of(loss, rows.row(row).dot(longer.head(3)) + 0.1, design.samples.targets[row])
                .value);
  double least = 0;
  for (Index row = 0; row < 25; ++row)
    least += weights[row] * least_value(loss, design.samples.targets[row]);
  EXPECT_NEAR(weighted->evaluate(x, Batch::of(listed), nullptr, nullptr, scratch),
              25 * sum / 4 - least, 1e-11);
}

TEST(Family, ReadsItsNames) {
  EXPECT_EQ(Family::parse("logistic")->name(), "binomial");
  EXPECT_EQ(Family::parse("negative-binomial:2.5")->name(), "negative-binomial:2.5");
  EXPECT_FALSE(Family::parse("negative-binomial"));
  EXPECT_FALSE(Family::parse("gaussian:2"));
  EXPECT_FALSE(Family::parse("normal"));
  EXPECT_EQ(Family::parse("gamma")->complaint(0), "expected a number above 0");
  EXPECT_EQ(Family::parse("poisson")->complaint(-1), "expected a count of at least 0");
  EXPECT_FALSE(Family::parse("poisson")->complaint(0));
}

/// The score is minus the slope of the loss, whatever the family.
TEST(Family, RowsAgreeWithTheLosses) {
  for (const char* name : {"gaussian", "binomial", "poisson", "gamma", "negative-binomial:3"}) {
    const Family family = *Family::parse(name);
    for (const double eta : {-2.0, 0.3, 1.7})
      for (const double y : {1.0, 4.0}) {
        if (family.kind == Family::Kind::binomial && y > 1) continue;
        const RowFit row = fit_row(family, eta, y, 1);
        const LossPoint point = value_of(family.loss(), eta, y);
        EXPECT_NEAR(row.score, -point.slope, 1e-12) << name;
        EXPECT_NEAR(row.deviance / 2, point.value - least_value(family.loss(), y), 1e-12) << name;
      }
  }
}

}  // namespace
}  // namespace grove
