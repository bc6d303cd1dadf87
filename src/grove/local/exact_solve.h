#pragma once

#include "grove/local/local_solver.h"

namespace grove {

class ExactSolver final : public LocalSolver {
 public:
  explicit ExactSolver(const ExactSolve& options) : tolerance_(options.tolerance) {}
  void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
             Cost& cost) override;

 private:
  double tolerance_;
};

}  // namespace grove
