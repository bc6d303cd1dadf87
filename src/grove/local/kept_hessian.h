#pragma once

#include "grove/local/local_model.h"
#include "grove/local/reused_cholesky.h"

namespace grove {

/// Secant test. With s the step, H the Hessian and P the penalty sum, the Hessian is still usable
/// if |s'dg - s'Hs| <= 0.2 s'(H + P)s. The arguments are s'dg, s'(H + P)s and s'Ps.
bool secant_test(double gradient_change, double step_curvature, double penalty);

/// The Hessian of f as an agent has it: computed somewhere on its way, over all samples or some,
/// and kept for as long as it passes the secant test.
class KeptHessian {
 public:
  bool known() const { return hessian_.size() > 0; }
  const Matrix& hessian() const { return hessian_; }
  std::uint64_t computed() const { return taken_; }  ///< Hessians so far
  void compute(const Objective& objective, const Vector& at, Batch batch,
               ObjectiveScratch& scratch);
  /// Returns how many samples it took.
  Index compute_sketch(const Objective& objective, const Vector& at, Index samples_to_take,
                       ObjectiveScratch& scratch);

  /// Where gradient'(u - v) + (u - v)'(Hessian + penalty)(u - v)/2 + r(u) is smallest, up to the
  /// forcing tolerance. The gradient is that of the model's smooth part at v.
  const Vector& target(const LocalModel& model, const Vector& v, const Vector& gradient,
                       QuadraticScratch& scratch);

  // Of the latest target's system, Hessian + penalty:
  /// norm of system step: without r, of the gradient;
  double product_norm(const Vector& step, Vector& buffer) const;
  /// step'system step.
  double step_curvature(const Vector& step, Vector& buffer) const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader, Index dimension);

 private:
  void update_system(const QuadraticTerm& penalty);

  Matrix hessian_;
  double penalty_scalar_ = 0;          ///< what the system holds besides the Hessian: the scalar
  std::uint64_t penalty_version_ = 0;  ///< and the version of that coupling
  ReusedCholesky system_;              ///< Hessian + penalty
  bool system_valid_ = false;
  std::uint64_t taken_ = 0;
};

}  // namespace grove
