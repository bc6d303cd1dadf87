#pragma once

#include "grove/agent/cost.h"
#include "grove/agent/workspace.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"

namespace grove {

/// f(v) + pull'(v - anchor) + (v - anchor)'coupling(v - anchor)/2 + r(v), for a positive definite
/// coupling: what an agent with matrix penalties decreases in one activation.
struct CoupledModel {
  const Objective& objective;
  const Vector& anchor;
  const Vector& pull;
  const Matrix& coupling;
  const Regularizer& regularizer;  ///< this agent's share of r; may be trivial
};

struct NewtonBudget {
  int steps = 1;          ///< at most
  bool thrifty = false;   ///< stop once the model was as quadratic as Newton's method assumes
  double decrease = 0.0;  ///< stop when a step promises less than this share of the first's promise
};

/// Newton steps with backtracking (proximal Newton where r is not trivial) from workspace.point,
/// each of which decreases the model or is at the level of rounding. Leaves the Hessian of f at
/// the beginning of the last step in workspace.hessian. Returns the number of steps.
int minimize_coupled(const CoupledModel& model, const NewtonBudget& budget, Workspace& workspace,
                     Cost& cost);

}  // namespace grove
