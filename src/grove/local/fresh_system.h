#pragma once

#include "grove/agent/workspace.h"
#include "grove/base/bytes.h"
#include "grove/local/local_model.h"
#include "grove/local/product_system.h"

namespace grove {

/// Newton systems Hess f + penalty_sum with a new Hessian in every step and without r. A small
/// Hessian is stored in the workspace and factorized; with many coefficients none is formed, and
/// systems are solved by conjugate gradients. Scalar penalties only.
class FreshSystem {
 public:
  FreshSystem(Index dimension, Index largest_stored)
      : dimension_(dimension), by_products_(dimension > largest_stored) {}

  void begin_activation() { largest_norm_ = 0; }
  void compute(const Objective& objective, const Vector& at, Batch batch, Workspace& workspace);
  /// target = at - (Hess f + penalty_sum)^{-1} gradient. The batch is that of compute(). Not finite
  /// where the Hessian is not: the run then shows as diverged.
  void solve(const LocalModel& model, Batch batch, const Vector& at, Vector& gradient,
             Vector& target, Workspace& workspace);

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  Index dimension_;
  bool by_products_;
  ProductSystem products_;
  double largest_norm_ = 0;  ///< of the gradients of this activation
};

}  // namespace grove
