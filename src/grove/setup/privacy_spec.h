#pragma once

#include "grove/base/spec.h"

namespace grove {

/// --dp, understood.
struct PrivacyChoice {
  double epsilon = 0, delta = 0;
  double bound = 1;  ///< rows that are longer are shortened to this Euclidean norm
  int steps = 50;    ///< gradients that each member gives

  static Result<PrivacyChoice> parse(std::string_view text);
};
/// With the constant that an intercept appends.
double bound_with_intercept(double bound, bool intercept);
using PrivacySpec = Spec<PrivacyChoice>;  ///< an empty text: no differential privacy

}  // namespace grove
