#pragma once

#include "grove/local/coupled_model.h"
#include "grove/local/reused_curvature.h"

namespace grove {

/// Whether `bent`, how much the gradient of f changed along a step, is what the Hessian says, but
/// for a share of what the whole system holds against the step, of which `stiffness` is not the
/// Hessian's.
bool explains(double bent, double held, double stiffness);

/// The Hessian of f as an agent has it: taken somewhere on its way, over all samples or some, and
/// kept for as long as it explains what the gradients do.
class LocalCurvature {
 public:
  bool known() const { return hessian_.size() > 0; }
  const Matrix& hessian() const { return hessian_; }
  std::uint64_t taken() const { return taken_; }  ///< Hessians so far
  void take(const Objective& objective, const Vector& at, Batch batch, ObjectiveScratch& scratch);
  /// Returns how many samples it took.
  Index take_sketch(const Objective& objective, const Vector& at, Index samples_to_take,
                    ObjectiveScratch& scratch);

  /// Where gradient'(u - v) + (u - v)'(Hessian + stiffness)(u - v)/2 + r(u) is smallest, up to the
  /// forcing tolerance. The gradient is that of the model's smooth part at v.
  const Vector& target(const CoupledModel& model, const Vector& v, const Vector& gradient,
                       QuadraticScratch& scratch);

  // Of the latest target's system, Hessian + stiffness:
  /// norm of system step: without r, of the gradient;
  double pull_of(const Vector& step, Vector& buffer) const;
  /// step'system step.
  double held_along(const Vector& step, Vector& buffer) const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader, Index dimension);

 private:
  void update_system(const Coupling& stiffness);

  Matrix hessian_;
  double stiffness_scalar_ = 0;          ///< what the system holds besides the Hessian: the scalar
  std::uint64_t stiffness_version_ = 0;  ///< and the version of that coupling
  ReusedCurvature system_;               ///< Hessian + stiffness
  bool system_fits_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace grove
