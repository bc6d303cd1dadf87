#pragma once

#include "grove/local/local_solver.h"

namespace grove {

class BfgsStepSolver final : public LocalSolver {
 public:
  explicit BfgsStepSolver(const Objective& objective);
  void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
             Cost& cost) override;
  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  void learn(const Vector& x, const Vector& gradient, Vector& predicted);

  Matrix hessian_;  ///< J, the running approximation of the Hessian of f
  Vector last_x_;   ///< where the previous gradient was taken
  Vector last_gradient_;
  bool has_last_ = false;
};

}  // namespace grove
