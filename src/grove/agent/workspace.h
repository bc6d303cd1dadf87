#pragma once

#include <cstdint>
#include <vector>

#include "grove/base/types.h"
#include "grove/problem/objective.h"

namespace grove {

/// Buffers of one worker thread, lent to whichever agent it activates: agents stay small and
/// nothing is allocated once every buffer has grown to its size.
struct Workspace {
  Vector pull;      ///< linear term of the local model
  Vector point;     ///< v, the moving local iterate
  Vector gradient;  ///< of the local model, then the solution of the Newton system
  Vector trial;     ///< a point tried by a line search
  Vector trial_gradient;
  Matrix hessian;  ///< of the local model, then its Cholesky factor
  ObjectiveScratch objective;
  std::vector<std::uint32_t> rows;   ///< a drawn batch
  std::vector<std::uint32_t> order;  ///< the identity permutation between draws

  void fit(Index dimension) {
    if (pull.size() == dimension) return;
    for (Vector* buffer : {&pull, &point, &gradient, &trial, &trial_gradient})
      buffer->resize(dimension);
  }
};

}  // namespace grove
