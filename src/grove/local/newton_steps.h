#pragma once

#include "grove/local/local_solver.h"
#include "grove/local/product_system.h"

namespace grove {

/// The paper's steps, with whole shards or mini-batches.
class NewtonStepsSolver final : public LocalSolver {
 public:
  NewtonStepsSolver(const NewtonSteps& options, const Objective& objective);
  void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
             Cost& cost) override;
  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  void solve_on_batches(const MiniBatches& sizes, const LocalModel& model, const SolverTurn& turn,
                        Workspace& workspace, Cost& cost);
  void solve_on_all(const LocalModel& model, int steps, Workspace& workspace, Cost& cost);
  double evaluate_guarded(const LocalModel& model, bool derivatives, double before,
                          Workspace& workspace, Cost& cost);
  double evaluate(const LocalModel& model, bool derivatives, Workspace& workspace, Cost& cost);
  double linearize(const LocalModel& model, Batch batch, Vector* gradient, Workspace& workspace,
                   Cost& cost);
  bool step(const LocalModel& model, Batch for_hessian, Workspace& workspace, Cost& cost);

  Sampling sampling_;
  Index dimension_;
  bool by_products_;       ///< no Hessian is formed: Newton systems by conjugate gradients
  ProductSystem system_;   ///< of that case
  double first_norm_ = 0;  ///< largest gradient of the activation
};

}  // namespace grove
