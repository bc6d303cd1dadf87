#pragma once

#include <cstdint>

#include "grove/agent/workspace.h"
#include "grove/base/types.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"
#include "grove/problem/symmetric.h"

namespace grove {

/// scalar I, plus a diagonal and a matrix where there are any: how all that pulls at an agent
/// bends. Positive semidefinite.
struct Coupling {
  double scalar = 0;
  const Vector* diagonal = nullptr;
  const Matrix* matrix = nullptr;  ///< symmetric, of which the lower triangle is read
  /// Of the diagonal and the matrix: an agent has no two different ones of the same number.
  std::uint64_t version = 0;

  void add_product(const Vector& v, Vector& result) const {
    result += scalar * v;
    if (diagonal) result += diagonal->cwiseProduct(v);
    if (matrix) add_symmetric_product(*matrix, v, result);
  }
  /// sum = hessian + this, both triangles.
  void add_to(const Matrix& hessian, Matrix& sum) const {
    if (matrix) {
      combine_lower(1, hessian, 1, *matrix, sum);
      mirror_lower_triangle(sum);
    } else {
      sum = hessian;
    }
    sum.diagonal().array() += scalar;
    if (diagonal) sum.diagonal() += *diagonal;
  }
};

/// f(v) + pull'(v - anchor) + (v - anchor)'coupling(v - anchor)/2 + r(v): what an agent decreases
/// in one activation. Newton systems hold `stiffness` in place of the coupling; the two differ in
/// the paper's linearized model only, and there in the scalar.
struct CoupledModel {
  const Objective& objective;
  const Vector& anchor;
  const Vector& pull;
  Coupling coupling;
  Coupling stiffness;
  const Regularizer& regularizer;  ///< this agent's share of r; may be trivial

  /// The part of the model's value that is not f's. Fills in coupling (v - anchor): with the pull,
  /// what the gradient of f at v lacks to that of the model's smooth part.
  double rest_of_value(const Vector& v, Vector& bend, Workspace& workspace) const {
    double smooth = 0;
    bend.setZero(v.size());
    if (v != anchor) {
      workspace.moved = v - anchor;
      coupling.add_product(workspace.moved, bend);
      smooth = pull.dot(workspace.moved) + 0.5 * workspace.moved.dot(bend);
    }
    return regularizer.trivial() ? smooth : smooth + regularizer.value(v);
  }

  /// step'stiffness step, given what the coupling holds against the step.
  double stiffness_along(const Vector& step, const Vector& bend) const {
    return step.dot(bend) + (stiffness.scalar - coupling.scalar) * step.squaredNorm();
  }
};

}  // namespace grove
