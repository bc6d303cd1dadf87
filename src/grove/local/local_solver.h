#pragma once

#include <memory>
#include <variant>

#include "grove/agent/cost.h"
#include "grove/agent/workspace.h"
#include "grove/base/bytes.h"
#include "grove/local/local_model.h"
#include "grove/schedule/schedule.h"

namespace grove {

/// Whole shards in every step: deterministic.
struct FullBatches {};
/// The paper's: independent fixed-size batches for gradient and Hessian, drawn anew each step.
struct MiniBatches {
  Index gradient = 100;
  Index hessian = 100;
};
/// One gradient over the whole shard per activation corrects those of batches (SVRG), so that noise
/// vanishes with the steps. Batches are the first ones: they grow where they prove too small.
struct VarianceReduced {
  Index gradient = 100;
  Index hessian = 100;
};
/// Batches that grow until the noise of their gradient is below what it says, at last to the shard.
struct AdaptiveBatches {
  Index gradient = 100;  ///< the first ones
  Index hessian = 100;
};
using Sampling = std::variant<FullBatches, MiniBatches, VarianceReduced, AdaptiveBatches>;

/// E_i sub-sampled Newton steps: DRUID-VL. With one step and whole shards: DRUID-Newton.
struct NewtonSteps {
  Sampling sampling;
  /// Coefficients up to which Hessians are stored and factorized; beyond, systems are solved by
  /// conjugate gradients with products (docs/decisions/newton-systems.md).
  Index largest_stored = 300;
};
/// One step along the gradient, scaled by the stiffness alone: DRUID-GD.
struct GradientStep {};
/// One step with a BFGS approximation of the Hessian of f: DRUID-BFGS.
struct BfgsStep {};
/// The sub-problem solved until the norm of its gradient is below the tolerance: Exact-ADMM.
struct ExactSolve {
  double tolerance = 1e-5;
};
using LocalSolverOptions = std::variant<NewtonSteps, GradientStep, BfgsStep, ExactSolve>;

/// Who draws random numbers, and when.
struct SolverTurn {
  std::uint64_t seed = 1;
  AgentId agent;
  Activation activation;
};

/// Moves workspace.point from the model's anchor to (nearly) its minimizer.
class LocalSolver {
 public:
  virtual ~LocalSolver() = default;
  virtual void solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
                     Cost& cost) = 0;
  virtual void save(ByteWriter&) const {}
  virtual void load(ByteReader&) {}
};

std::unique_ptr<LocalSolver> make_local_solver(const LocalSolverOptions& options,
                                               const Objective& objective);

}  // namespace grove
