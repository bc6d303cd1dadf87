#pragma once

#include <string_view>

#include "grove/base/result.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"

namespace grove {

struct ReferenceOptions {
  double tolerance = 1e-12;   ///< on the optimality residual, relative to its value at the start
  int max_iterations = 1000;  ///< some ten suffice, but for a Huber loss with a tiny delta
  Index dense_limit = 2000;   ///< larger dimensions use Hessian-vector products, no d x d matrix
};

/// The field of the error where f + r has no minimizer: it falls for ever along some direction.
inline constexpr std::string_view no_minimizer_field = "no minimizer";

struct ReferenceSolution {
  Vector x;
  double objective = 0;  ///< f(x) + r(x)
  double residual = 0;   ///< see stationarity()
  int iterations = 0;
  /// False: f + r is constant along a line through x, so that x is one optimum of many. Found from
  /// the Hessian on the free set, up to 500 coefficients.
  bool unique = true;
};

/// Norm of L (x - prox_{r/L}(x - grad/L)): zero exactly at a minimizer of f + r, |grad f| without
/// r.
double stationarity(const Vector& x, const Vector& gradient, const Regularizer& regularizer,
                    double smoothness);

/// The minimizer of f + r by proximal Newton (where r is separable; by proximal gradient steps
/// elsewhere): what the network's answer is measured against.
/// Where rounding keeps the residual above the tolerance, the best reachable point is the answer.
/// An error says that none was found (the data is separable and nothing regularizes it, say).
Result<ReferenceSolution> solve_reference(const Objective& objective,
                                          const Regularizer& regularizer,
                                          const ReferenceOptions& options = {});

}  // namespace grove
