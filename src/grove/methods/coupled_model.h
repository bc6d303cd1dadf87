#pragma once

#include "grove/agent/workspace.h"
#include "grove/base/types.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"
#include "grove/problem/symmetric.h"

namespace grove {

/// scalar I, plus a matrix where there is one: how all that pulls at an agent bends.
struct Coupling {
  double scalar = 0;
  const Matrix* matrix = nullptr;  ///< symmetric, positive semidefinite

  void add_product(const Vector& v, Vector& result) const {
    result += scalar * v;
    if (matrix) add_symmetric_product(*matrix, v, result);
  }
  void add_to(Matrix& sum) const {
    sum.diagonal().array() += scalar;
    if (matrix) sum += *matrix;
  }
};

/// f(v) + pull'(v - anchor) + (v - anchor)'coupling(v - anchor)/2 + r(v): what an agent decreases
/// in one activation. Newton systems hold `stiffness` in place of the coupling; the two differ in
/// the paper's linearized model only.
struct CoupledModel {
  const Objective& objective;
  const Vector& anchor;
  const Vector& pull;
  Coupling coupling;
  Coupling stiffness;
  const Regularizer& regularizer;  ///< this agent's share of r; may be trivial

  /// Turns the gradient of f at v into that of the model's smooth part.
  void add_coupling(const Vector& v, Vector& gradient, Workspace& workspace) const {
    gradient += pull;
    if (v == anchor) return;  // the first step
    workspace.moved = v - anchor;
    coupling.add_product(workspace.moved, gradient);
  }

  /// The part of the model's value that is not f's.
  double rest_of_value(const Vector& v, Workspace& workspace) const {
    double smooth = 0;
    if (v != anchor) {
      workspace.moved = v - anchor;
      workspace.bend.setZero(v.size());
      coupling.add_product(workspace.moved, workspace.bend);
      smooth = pull.dot(workspace.moved) + 0.5 * workspace.moved.dot(workspace.bend);
    }
    return regularizer.trivial() ? smooth : smooth + regularizer.value(v);
  }
};

}  // namespace grove
