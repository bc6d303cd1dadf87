#pragma once

#include <limits>

#include "grove/base/types.h"

namespace grove {

/// r(x) = sum over the regularized coordinates of l1 |x_k| + indicator(low <= x_k <= high).
/// One family for all that Grove offers: none, l1, non-negative, box and their sums. Separable, so
/// the prox of the sum is soft-thresholding followed by clamping.
struct Regularizer {
  double l1 = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  Index regularized = 0;  ///< the first so many coordinates; an intercept comes after them

  bool trivial() const;
  double value(const Vector& x) const;  ///< infinite outside the box

  /// argmin_u r(u) + |u - v|^2 / (2 step), one coordinate or all.
  double prox_at(Index coordinate, double step, double v) const;
  void prox(double step, const Vector& v, Vector& result) const;

  /// True where prox is locally a shift (r is smooth there), false where it is locally constant.
  /// The generalized derivative that semismooth Newton methods need.
  bool free_at(Index coordinate, double step, double v) const;
};

}  // namespace grove
