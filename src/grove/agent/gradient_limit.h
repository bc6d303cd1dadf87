#pragma once

#include <limits>

namespace grove {

/// The gradients of a link at x that are believed: a ridge c x with 0 <= c <= ridge, plus a vector
/// of at most that length. The ridges of members pull to zero, however far away x is.
struct GradientLimit {
  double length = std::numeric_limits<double>::infinity();
  double ridge = 0;
};

}  // namespace grove
