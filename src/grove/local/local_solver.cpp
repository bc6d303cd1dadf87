#include "grove/local/local_solver.h"

#include "grove/local/bfgs_step.h"
#include "grove/local/proximal_newton.h"
#include "grove/local/exact_solve.h"
#include "grove/local/gradient_step.h"
#include "grove/local/newton_steps.h"

namespace grove {
namespace {

bool grows_batches(const Sampling& sampling) {
  return std::holds_alternative<VarianceReduced>(sampling) ||
         std::holds_alternative<AdaptiveBatches>(sampling);
}

struct Maker {
  const Objective& objective;
  std::unique_ptr<LocalSolver> operator()(const NewtonSteps& options) const {
    if (grows_batches(options.sampling))
      return std::make_unique<ProximalNewton>(
          ProximalNewtonSteps{.sampling = options.sampling, .stop_when_quadratic = false},
          objective);
    return std::make_unique<NewtonStepsSolver>(options, objective);
  }
  std::unique_ptr<LocalSolver> operator()(const ProximalNewtonSteps& options) const {
    return std::make_unique<ProximalNewton>(options, objective);
  }
  std::unique_ptr<LocalSolver> operator()(const GradientStep&) const {
    return std::make_unique<GradientStepSolver>();
  }
  std::unique_ptr<LocalSolver> operator()(const BfgsStep&) const {
    return std::make_unique<BfgsStepSolver>(objective);
  }
  std::unique_ptr<LocalSolver> operator()(const ExactSolve& options) const {
    return std::make_unique<ExactSolver>(options);
  }
};

}  // namespace

std::unique_ptr<LocalSolver> make_local_solver(const LocalSolverOptions& options,
                                               const Objective& objective) {
  return std::visit(Maker{objective}, options);
}

}  // namespace grove
