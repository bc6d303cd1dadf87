#pragma once

#include "grove/local/local_solver.h"

namespace grove {

class GradientStepSolver final : public LocalSolver {
 public:
  void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
             Cost& cost) override;
};

}  // namespace grove
