#include "grove/problem/certificate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "grove/problem/naive_problem.h"
#include "grove/problem/reference.h"

namespace grove {
namespace {

Samples random_samples(const Loss& loss, std::uint64_t seed) {
  constexpr Index rows = 60, columns = 4;
  DenseRows features(rows, columns);
  Vector targets(rows);
  const Vector numbers = naive::random_point(rows * columns, 1, seed);
  for (Index j = 0; j < rows; ++j) {
    for (Index k = 0; k < columns; ++k) features(j, k) = numbers[j * columns + k];
    const double margin = features(j, 0) - 0.5 * features(j, 1) + 0.3 * std::sin(7.0 * double(j));
    const bool count = std::holds_alternative<PoissonLoss>(loss) ||
                       std::holds_alternative<NegativeBinomialLoss>(loss);
    if (is_classification(loss))
      targets[j] = margin + 0.5 * std::sin(13.0 * double(j)) > 0;
    else if (count)
      targets[j] = std::floor(2 * std::exp(margin));
    else if (std::holds_alternative<GammaLoss>(loss))
      targets[j] = std::exp(margin);
    else
      targets[j] = 3 * margin;
  }
  return {std::move(features), std::move(targets)};
}

struct Case {
  Loss loss;
  Regularizer regularizer;
  double l2;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const Loss& loss :
       {Loss(LogisticLoss{}), Loss(SquaredLoss{}), Loss(HuberLoss{0.7}), Loss(PoissonLoss{}),
        Loss(GammaLoss{}), Loss(NegativeBinomialLoss{2}), Loss(SquaredHingeLoss{})})
    for (const Regularizer& regularizer :
         {Regularizer{.regularized = 4}, Regularizer{.l1 = 0.05, .regularized = 4},
          Regularizer{.low = 0, .regularized = 4},
          Regularizer{.l1 = 0.02, .low = -0.2, .high = 0.3, .regularized = 4}})
      for (const double l2 : {0.0, 0.1}) result.push_back({loss, regularizer, l2});
  return result;
}

/// Feasible, near the optimum or far from it.
Vector near(const Vector& optimum, const Regularizer& regularizer, double distance,
            std::uint64_t seed) {
  Vector x = optimum + distance * naive::random_point(optimum.size(), 1, seed);
  for (Index k = 0; k < regularizer.regularized; ++k)
    x[k] = std::clamp(x[k], regularizer.low, regularizer.high);
  return x;
}

// A bound is at least what any other point gains, whatever finds that point; and near the optimum
// it is tight.
TEST(Certificate, BoundsTheGapFromAboveAndIsTightNearTheOptimum) {
  for (const auto& [loss, regularizer, l2] : cases()) {
    const auto f =
        make_shard_objective(random_samples(loss, 5), {.loss = loss, .l2 = l2, .intercept = true});
    const auto total = [&](const Vector& x) {
      ObjectiveScratch scratch;
      return f->evaluate(x, Batch::all(), nullptr, nullptr, scratch) + regularizer.value(x);
    };
    const auto optimum = solve_reference(*f, regularizer);
    ASSERT_TRUE(optimum) << name_of(loss) << ": " << optimum.error().text();
    Certifier certifier(*f, regularizer);
    for (const double distance : {2.0, 0.3, 1e-2, 1e-4}) {
      for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const Vector x = near(optimum->x, regularizer, distance, seed);
        const Certificate certificate = certifier.at(x);
        EXPECT_TRUE(certificate.exact);
        double least = optimum->objective;
        for (std::uint64_t other = 10; other < 20; ++other)
          least = std::min(least, total(near(optimum->x, regularizer, 0.1, other)));
        const double gap = total(x) - least;
        EXPECT_GE(certificate.gap, gap * (1 - 1e-6) - 1e-14) << name_of(loss) << ' ' << distance;
        if (distance <= 1e-2) {
          EXPECT_LE(certificate.gap, 1.5 * gap + 1e-14) << name_of(loss) << ' ' << distance;
        }
      }
    }
    EXPECT_LE(certifier.at(optimum->x).gap, 1e-14 * (1 + optimum->objective)) << name_of(loss);
  }
}

// f(m) + f*(p) - p m with the conjugate by brute force: f*(p) = max over z of p z - f(z).
TEST(Certificate, GapsOfSamplesAreThoseOfTheConjugate) {
  const auto conjugate = [](const Loss& loss, double p, double target) {
    double most = -1e300;
    for (double z = -40; z <= 40; z += 1e-3)
      most = std::max(
          most, p * z - std::visit([&](const auto& l) { return l.at(z, target).value; }, loss));
    return most;
  };
  for (const Loss& loss :
       {Loss(LogisticLoss{}), Loss(SquaredLoss{}), Loss(HuberLoss{0.7}), Loss(PoissonLoss{}),
        Loss(GammaLoss{}), Loss(NegativeBinomialLoss{2}), Loss(SquaredHingeLoss{})})
    for (const double target : {1.0}) {
      for (const double margin : {-2.0, 0.4, 1.5})
        for (const double s : {-0.6, 0.05, 0.8}) {
          const LossPoint at =
              std::visit([&](const auto& l) { return l.at(margin, target); }, loss);
          const double p = at.slope + at.second_derivative * s;
          const double gap =
              std::visit([&](const auto& l) { return l.gap(margin, target, s).gap; }, loss);
          const double want = at.value + conjugate(loss, p, target) - p * margin;
          if (want < 5)  // a slope that f has
            EXPECT_NEAR(gap, want, 2e-6) << name_of(loss) << ' ' << margin << ' ' << s;
          else
            EXPECT_GT(gap, 0) << name_of(loss);
        }
    }
}

// Nothing can be said of a direction in which f falls without curvature.
TEST(Certificate, ClaimsNothingWhereTheQuadraticModelHasNoMinimizer) {
  DenseRows features = DenseRows::Ones(3, 1);
  const Vector targets = Vector::Constant(3, 1e6);
  const auto f = make_shard_objective({std::move(features), targets}, {.loss = HuberLoss{1}});
  const Regularizer none{.regularized = 1};
  const Certificate certificate = Certifier(*f, none).at(Vector::Zero(1));
  EXPECT_GE(certificate.gap, certificate.value * (1 - 1e-12));
}

// Two rows pull in opposite directions with constant forces, nearly equal, and a third one has so
// little curvature that damping shortens the Newton step three hundred times.
TEST(Certificate, IsNoTighterWhereDampingShortensTheStep) {
  constexpr double far = 1e16, delta = 1e6, excess = 1e-9, small = 1e-9;
  DenseRows features(3, 1);
  features << 1, -(1 - excess), small;
  Vector targets = Vector::Constant(3, far);
  targets[2] = 0;
  const auto f = make_shard_objective({std::move(features), targets}, {.loss = HuberLoss{delta}});
  const Regularizer none{.regularized = 1};
  const double force = delta * excess / 3, curvature = small * small / 3;
  const double gap = force * force / (2 * curvature);
  const Certificate certificate = Certifier(*f, none).at(Vector::Zero(1));
  EXPECT_GE(certificate.gap, gap);

  ObjectiveScratch scratch;  // the same gap from values
  const auto value = [&](double x) {
    return f->evaluate(Vector::Constant(1, x), Batch::all(), nullptr, nullptr, scratch);
  };
  EXPECT_NEAR(value(0) - value(force / curvature), gap, 1e-3 * gap);
}

}  // namespace
}  // namespace grove
