#pragma once

#include "grove/methods/local_solver.h"

namespace grove {

class NewtonStepsSolver final : public LocalSolver {
 public:
  explicit NewtonStepsSolver(const NewtonSteps& options) : sampling_(options.sampling) {}
  void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
             Cost& cost) override;

 private:
  void solve_on_batches(const MiniBatches& sizes, const LocalModel& model, const SolverTurn& turn,
                        Workspace& workspace, Cost& cost) const;
  void solve_on_all(const LocalModel& model, int steps, Workspace& workspace, Cost& cost) const;

  Sampling sampling_;
};

}  // namespace grove
