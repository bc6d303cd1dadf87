#pragma once

#include "grove/methods/local_solver.h"

namespace grove {

class NewtonStepsSolver final : public LocalSolver {
 public:
  explicit NewtonStepsSolver(const NewtonSteps& options) : sampling_(options.sampling) {}
  void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
             Cost& cost) override;

 private:
  Sampling sampling_;
};

}  // namespace grove
