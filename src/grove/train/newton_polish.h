#pragma once

#include <vector>

#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"

namespace grove {

/// What Newton steps with sums over the network have made of a point.
struct Polished {
  Vector x;
  bool converged = false;
  bool separating = false;  ///< there is no minimizer: f falls for ever along `last_step`
  int steps = 0;
  Vector last_step;      ///< Newton's, at x
  double decrement = 0;  ///< squared Newton decrement, at x
};

/// Newton's method on f + r from x, with a line search, until rounding ends it: f as sums over
/// sites give it. With an l1 weight it moves the coefficients that are not zero, keeps their signs,
/// and has converged only where the zeros are optimal too. Bounds and other terms: x as it is, not
/// converged.
Polished newton_polish(const Objective& f, const Regularizer& regularizer, Vector x);

}  // namespace grove
