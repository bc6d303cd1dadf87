#include "grove/methods/newton_steps.h"

#include <algorithm>

#include "grove/methods/batch.h"
#include "grove/methods/newton.h"

namespace grove {
namespace {

struct Evaluation {
  const LocalModel& model;
  const SolverTurn& turn;
  Workspace& workspace;
  Cost& cost;
  std::uint64_t step;  ///< local step within the activation

  /// Gradient and Hessian of f at workspace.point, from one pass over the shard.
  void operator()(const FullBatches&) const {
    model.objective.evaluate(workspace.point, Batch::all(), &workspace.gradient, &workspace.hessian,
                             workspace.objective);
    cost.gradient_samples += model.objective.samples();
    cost.hessian_samples += model.objective.samples();
  }

  void operator()(const MiniBatches& sizes) const {
    const Index gradient_size = std::min(sizes.gradient, model.objective.samples());
    model.objective.evaluate(workspace.point, drawn(Purpose::gradient_batch, gradient_size),
                             &workspace.gradient, nullptr, workspace.objective);
    cost.gradient_samples += gradient_size;
    const Index hessian_size = std::min(sizes.hessian, model.objective.samples());
    model.objective.evaluate(workspace.point, drawn(Purpose::hessian_batch, hessian_size), nullptr,
                             &workspace.hessian, workspace.objective);
    cost.hessian_samples += hessian_size;
  }

  Batch drawn(Purpose purpose, Index size) const {
    if (size == model.objective.samples()) return Batch::all();
    draw_batch(RandomKey{.seed = turn.seed,
                         .purpose = purpose,
                         .agent = turn.agent.value,
                         .round = turn.activation.round,
                         .step = step},
               size, model.objective.samples(), workspace);
    return Batch::of(workspace.rows);
  }
};

}  // namespace

void NewtonStepsSolver::solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
                              Cost& cost) {
  for (int step = 0; step < turn.activation.local_steps; ++step) {
    std::visit(Evaluation{model, turn, workspace, cost, static_cast<std::uint64_t>(step)},
               sampling_);
    model.add_coupling(workspace.point, workspace.gradient);  // eq. (10)
    solve_shifted(workspace.hessian, model.stiffness, workspace.gradient);
    workspace.point -= workspace.gradient;
    cost.solves += 1;
  }
}

}  // namespace grove
