#include "grove/local/local_solver.h"

#include "grove/local/bfgs_step.h"
#include "grove/local/gradient_step.h"
#include "grove/local/proximal_newton.h"

namespace grove {
namespace {

struct Maker {
  const Objective& objective;
  std::unique_ptr<LocalSolver> operator()(const auto& newton_options) const {
    return std::make_unique<ProximalNewton>(newton_options, objective);
  }
  std::unique_ptr<LocalSolver> operator()(const GradientStep&) const {
    return std::make_unique<GradientStepSolver>();
  }
  std::unique_ptr<LocalSolver> operator()(const BfgsStep&) const {
    return std::make_unique<BfgsStepSolver>(objective);
  }
};

}  // namespace

std::unique_ptr<LocalSolver> make_local_solver(const LocalSolverOptions& options,
                                               const Objective& objective) {
  return std::visit(Maker{objective}, options);
}

}  // namespace grove
