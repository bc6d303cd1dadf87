#include "grove/local/gradient_step.h"

namespace grove {

void GradientStepSolver::solve(const LocalModel& model, const SolverTurn&, Workspace& workspace,
                               Cost& cost) {
  model.objective.evaluate(workspace.point, Batch::all(), &workspace.gradient, nullptr,
                           workspace.objective);
  cost.gradient_samples += model.objective.samples();
  model.add_coupling(workspace.point, workspace.gradient, workspace);
  workspace.point -= workspace.gradient / model.penalty_sum.scalar;
}

}  // namespace grove
