#pragma once

#include <memory>
#include <variant>

#include "grove/agent/cost.h"
#include "grove/agent/workspace.h"
#include "grove/base/bytes.h"
#include "grove/local/local_model.h"
#include "grove/schedule/schedule.h"

namespace grove {

/// All samples of the agent in every step: deterministic.
struct FullBatches {};
/// The paper's: independent fixed-size batches for gradient and Hessian, drawn anew each step.
struct MiniBatches {
  Index gradient = 100;
  Index hessian = 100;
};
/// One gradient over all samples per activation corrects those of batches (SVRG), so that the noise
/// vanishes with the steps. Batches start at these sizes and grow where they are too small.
struct VarianceReduced {
  Index gradient = 100;
  Index hessian = 100;
};
/// Batches that grow until the noise of their gradient passes a norm test, at most to all samples.
struct AdaptiveBatches {
  Index gradient = 100;  ///< the first ones
  Index hessian = 100;
};
using Sampling = std::variant<FullBatches, MiniBatches, VarianceReduced, AdaptiveBatches>;

/// E_i sub-sampled Newton steps with a new Hessian in every step: the paper's DRUID-VL. With one
/// step and full batches: DRUID-Newton.
struct NewtonSteps {
  Sampling sampling;
  /// Coefficients up to which Hessians are stored and factorized; beyond, systems are solved by
  /// conjugate gradients with products (docs/decisions/newton-systems.md).
  Index largest_stored = 300;
};
/// Proximal Newton steps that keep a Hessian for as long as it passes the secant test: the default
/// of DRUID-VL. Not with MiniBatches, whose noise would fail the test.
struct ProximalNewtonSteps {
  Sampling sampling;
  bool stop_when_quadratic = true;  ///< at most E_i steps, fewer once a step has solved the model
};
/// One gradient step, scaled by the penalty sum alone: DRUID-GD.
struct GradientStep {};
/// One step with a BFGS approximation of the Hessian of f: DRUID-BFGS.
struct BfgsStep {};
/// The sub-problem solved until the norm of its gradient is below the tolerance: Exact-ADMM.
struct ExactSolve {
  double tolerance = 1e-5;
};
using LocalSolverOptions =
    std::variant<NewtonSteps, ProximalNewtonSteps, GradientStep, BfgsStep, ExactSolve>;

/// Keys the random numbers of an activation.
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
