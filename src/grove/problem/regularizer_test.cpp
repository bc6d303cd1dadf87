#include "grove/problem/regularizer.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace grove {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double number(int low, int high) { return *rc::gen::inRange(low * 1000, high * 1000 + 1) / 1000.0; }

/// None, l1, non-negative, box (with or without 0 inside), half-lines and their sums with l1.
Regularizer any_regularizer(Index regularized) {
  Regularizer r{.l1 = *rc::gen::element(0.0, 0.3, 1.7), .regularized = regularized};
  switch (*rc::gen::inRange(0, 5)) {
    case 1:
      r.low = 0;
      break;
    case 2:
      r.low = number(-3, 0), r.high = number(0, 3);
      break;
    case 3:
      r.low = number(1, 2), r.high = r.low + number(0, 2);
      break;
    case 4:
      r.high = number(-2, 1);
      break;
    default:
      break;
  }
  return r;
}

Vector any_vector(Index size) {
  Vector v(size);
  for (double& value : v) value = number(-5, 5);
  return v;
}

// prox minimizes r(u) + |u - v|^2 / (2 step): no point around it is better, near or far.
RC_GTEST_PROP(Regularizer, ProxIsTheBestPoint, ()) {
  const Regularizer r = any_regularizer(4);
  const double step = number(1, 4) / 2;
  const Vector v = any_vector(5);
  Vector p;
  r.prox(step, v, p);
  const auto cost = [&](const Vector& u) {
    return r.value(u) + (u - v).squaredNorm() / (2 * step);
  };
  RC_ASSERT(std::isfinite(cost(p)));
  for (Index k = 0; k < v.size(); ++k)
    for (const double move : {-2.0, -0.1, -1e-4, 1e-4, 0.1, 2.0}) {
      Vector u = p;
      u[k] += move;
      // Strong convexity: any other point costs at least |u - p|^2 / (2 step) more.
      RC_ASSERT(cost(u) >= cost(p) + 0.999 * move * move / (2 * step) - 1e-12);
    }
}

RC_GTEST_PROP(Regularizer, ProxIsFirmlyNonexpansive, ()) {
  const Regularizer r = any_regularizer(4);
  const double step = number(1, 4) / 2;
  const Vector v = any_vector(5), w = any_vector(5);
  Vector p, q;
  r.prox(step, v, p);
  r.prox(step, w, q);
  RC_ASSERT((p - q).squaredNorm() <= (p - q).dot(v - w) + 1e-12);
  RC_ASSERT((p - q).norm() <= (v - w).norm() + 1e-12);
}

// Moreau: prox_{s r}(v) + s prox_{r*/s}(v/s) = v. The conjugate of l1|u| is the indicator of
// [-l1, l1], whose prox is the projection.
RC_GTEST_PROP(Regularizer, ProxOfL1ObeysMoreau, ()) {
  const Regularizer r{.l1 = number(0, 2), .regularized = 1};
  const double step = number(1, 4) / 2, v = number(-5, 5);
  const double projection = std::fmax(-r.l1, std::fmin(r.l1, v / step));
  RC_ASSERT(std::abs(r.prox_at(0, step, v) + step * projection - v) <= 1e-14 * std::abs(v) + 1e-15);
}

// The conjugate of the indicator of u >= 0 is that of y <= 0.
RC_GTEST_PROP(Regularizer, ProxOfNonNegativeObeysMoreau, ()) {
  const Regularizer r{.low = 0, .regularized = 1};
  const double step = number(1, 4) / 2, v = number(-5, 5);
  const double sum = r.prox_at(0, step, v) + step * std::fmin(0.0, v / step);
  RC_ASSERT(std::abs(sum - v) <= 1e-15 * std::abs(v));  // v / step is rounded
}

// The box's conjugate is the support function h(y) = max(low y, high y); its prox with step 1/s is
// checked through its own optimality: y - v/s + c/s = 0 with c in the subdifferential of h at y.
RC_GTEST_PROP(Regularizer, ProxOfABoxObeysMoreau, ()) {
  const double low = number(-3, 0), high = number(0, 3);
  const Regularizer r{.low = low, .high = high, .regularized = 1};
  const double step = number(1, 4) / 2, v = number(-5, 5);
  const double p = r.prox_at(0, step, v), y = (v - p) / step;
  if (y > 1e-12) RC_ASSERT(p == high);
  if (y < -1e-12) RC_ASSERT(p == low);
  RC_ASSERT((low <= p && p <= high));
}

// free_at is the derivative of prox: 1 where free, 0 where not, away from the kinks.
RC_GTEST_PROP(Regularizer, FreeAtIsTheDerivativeOfProx, ()) {
  const Regularizer r = any_regularizer(1);
  const double step = number(1, 4) / 2, v = number(-5, 5) + 1e-4 / 3;  // off the grid of kinks
  constexpr double h = 1e-7;
  const double derivative = (r.prox_at(0, step, v + h) - r.prox_at(0, step, v - h)) / (2 * h);
  RC_ASSERT(std::abs(derivative - (r.free_at(0, step, v) ? 1 : 0)) <= 1e-6);
}

TEST(Regularizer, LeavesTheInterceptAlone) {
  const Regularizer r{.l1 = 1, .low = 0, .high = 2, .regularized = 2};
  const Vector v = (Vector(3) << -5, 9, -5).finished();
  Vector p;
  r.prox(0.5, v, p);
  EXPECT_EQ(p, (Vector(3) << 0, 2, -5).finished());
  EXPECT_TRUE(r.free_at(2, 0.5, -5));
  EXPECT_EQ(r.value((Vector(3) << 1, 2, -7).finished()), 3);
}

TEST(Regularizer, IsInfiniteOutsideItsBoxAndTrivialWhenItDoesNothing) {
  EXPECT_EQ((Regularizer{.low = 0, .regularized = 1}.value(Vector::Constant(1, -1e-9))), infinity);
  EXPECT_TRUE((Regularizer{.regularized = 3}.trivial()));
  EXPECT_TRUE((Regularizer{.l1 = 1, .regularized = 0}.trivial()));
  EXPECT_FALSE((Regularizer{.l1 = 1, .regularized = 3}.trivial()));
  EXPECT_FALSE((Regularizer{.low = 0, .regularized = 3}.trivial()));
}

TEST(Regularizer, IsNotFreeOnTheThresholdNorOnABound) {
  const Regularizer l1{.l1 = 2, .regularized = 1};
  EXPECT_FALSE(l1.free_at(0, 0.5, 1));
  EXPECT_FALSE(l1.free_at(0, 0.5, -1));
  EXPECT_TRUE(l1.free_at(0, 0.5, 1.001));
  const Regularizer box{.low = -1, .high = 1, .regularized = 1};
  EXPECT_FALSE(box.free_at(0, 1, 1));
  EXPECT_TRUE(box.free_at(0, 1, 0));
  EXPECT_FALSE((Regularizer{.low = 1, .high = 1, .regularized = 1}.free_at(0, 1, 1)));
}

}  // namespace
}  // namespace grove
