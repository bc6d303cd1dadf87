#pragma once

#include <vector>

/// An optimum that does not come from Grove: damped Newton in extended precision, on centered and
/// scaled columns, with a logarithmic barrier for bounds and l1. It shares no code with the
/// library.
namespace oracle {

enum class LossKind { logistic, squared, huber };

/// minimize sum_j weight_j loss(w_j'x + b; y_j) + (l2/2)|x|^2 + l1 |x|_1, low <= x_k <= high.
struct Task {
  LossKind loss = LossKind::squared;
  double delta = 1.35;  ///< of Huber
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;   ///< row by row
  std::vector<double> targets;  ///< 0 and 1 for logistic
  std::vector<double> weights;  ///< by row; l2 has the weight 1
  bool intercept = false;
  double l1 = 0, l2 = 0;
  double low, high;
};

/// The objective at x (intercept last), summed in extended precision; infinite outside the box by
/// more than rounding.
long double objective(const Task& task, const std::vector<double>& x);

struct Optimum {
  long double objective = 0;
  /// The largest decrease that one more step promises: below 1e-9 of the objective at an optimum.
  long double left = 0;
};

Optimum solve(const Task& task);

}  // namespace oracle
