#pragma once

#include <vector>

#include "grove/base/bytes.h"
#include "grove/local/conjugate_gradients.h"
#include "grove/local/local_model.h"

namespace grove {

/// Approximates an inverse from pairs (s, M s) of conjugate directions s, as L-BFGS does: exact on
/// their span, a multiple of the identity beyond it. No d x d matrix.
class PairedInverse {
 public:
  void clear() { used_ = 0; }
  /// Keeps the pair if there is room: the first directions of conjugate gradients find the largest
  /// eigenvalues, which matter most.
  void offer(const Vector& direction, const Vector& product);
  void apply(const Vector& right, Vector& result) const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader, Index dimension);

 private:
  static constexpr std::size_t room = 8;

  struct Pair {
    Vector direction, product;
    double direction_curvature = 0;  ///< direction'product > 0
  };
  std::vector<Pair> pairs_;  ///< buffers; the first used_ of them count
  std::size_t used_ = 0;
  mutable std::vector<double> shares_;
};

/// Newton systems (Hess f + penalty I) p = right of one agent, solved with products alone, in
/// time proportional to the non-zeros of the shard. Preconditioned by what the system before showed
/// of its eigenvalues.
class ProductSystem {
 public:
  /// Value of f over the batch at x, its gradient where not null, and what products will need.
  double take(const Objective& objective, const Vector& x, Batch batch, Vector* gradient,
              ObjectiveScratch& scratch);

  /// Replaces `vector` by (Hess f + penalty I)^{-1} vector, up to a residual of tolerance. The
  /// batch is that of take().
  void solve(const LocalModel& model, Batch batch, double tolerance, ObjectiveScratch& scratch,
             Vector& vector);

  void save(ByteWriter& writer) const { known_.save(writer); }
  void load(ByteReader& reader, Index dimension) { known_.load(reader, dimension); }

 private:
  std::vector<double> second_derivatives_;  ///< of every sample of the batch
  PairedInverse known_, next_;              ///< from the last system; from the present one
  ConjugateScratch scratch_;
  Vector solution_;
};

}  // namespace grove
