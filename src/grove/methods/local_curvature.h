#pragma once

#include "grove/methods/coupled_model.h"
#include "grove/methods/reused_curvature.h"

namespace grove {

/// The Hessian of f as an agent has it: taken somewhere on its way, over all samples or some, and
/// kept for as long as it explains what the gradients do.
class LocalCurvature {
 public:
  bool known() const { return hessian_.size() > 0; }
  const Matrix& hessian() const { return hessian_; }
  std::uint64_t taken() const { return taken_; }  ///< Hessians so far
  void take(const Objective& objective, const Vector& at, Batch batch, ObjectiveScratch& scratch);

  /// Where gradient'(u - v) + (u - v)'(Hessian + stiffness)(u - v)/2 + r(u) is smallest, up to the
  /// forcing tolerance. The gradient is that of the model's smooth part at v.
  const Vector& target(const CoupledModel& model, const Vector& v, const Vector& gradient,
                       QuadraticScratch& scratch);

  /// Norm of (Hessian + stiffness) step, of the latest target's system: without r, of the gradient.
  double pull_of(const Vector& step, Vector& buffer) const;

  /// Whether `bent`, how much the gradient of f changed along the step, is what the Hessian says,
  /// but for a share of what the whole system holds against the step.
  bool explains(const Vector& step, double bent, Vector& buffer) const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader, Index dimension);

 private:
  Coupling stiffness() const;
  void update_system(const Coupling& stiffness);

  Matrix hessian_;
  double stiffness_scalar_ = 0;  ///< what the system holds besides the Hessian: a multiple of I,
  Matrix stiffness_matrix_;      ///< and this, unless it is empty
  ReusedCurvature system_;       ///< Hessian + stiffness
  bool system_fits_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace grove
