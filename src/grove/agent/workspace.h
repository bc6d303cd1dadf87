#pragma once

#include <cstdint>
#include <vector>

#include "grove/base/types.h"
#include "grove/problem/active_newton.h"
#include "grove/problem/objective.h"
#include "grove/problem/quadratic_model.h"

namespace grove {

/// Buffers of one worker thread, lent to whichever agent it activates: agents stay small and
/// nothing is allocated once every buffer has grown to its size.
struct Workspace {
  Vector coupling_gradient;  ///< linear term of the local model
  Vector point;              ///< v, the moving local iterate
  Vector gradient;           ///< of the local model, then the solution of the Newton system
  Vector trial;              ///< a point tried by a line search
  Vector trial_gradient;
  Vector displacement;           ///< from the anchor of a local model
  Vector product;                ///< of a matrix and a vector
  Matrix hessian;                ///< of the local model, then its Cholesky factor
  Matrix candidate, difference;  ///< a link weight that may be published, and a comparison with it
  QuadraticScratch quadratic;
  ObjectiveScratch objective;
  ActiveNewton active_newton;        ///< of problems with many coefficients
  std::vector<std::uint32_t> rows;   ///< a drawn batch
  std::vector<std::uint32_t> order;  ///< the identity permutation between draws

  void fit(Index dimension) {
    if (point.size() == dimension) return;
    for (Vector* buffer :
         {&coupling_gradient, &point, &gradient, &trial, &trial_gradient, &displacement, &product})
      buffer->resize(dimension);
  }
};

}  // namespace grove
