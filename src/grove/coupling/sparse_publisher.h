#pragma once

#include <functional>
#include <limits>

#include "grove/base/bytes.h"
#include "grove/coupling/residual_balancing.h"
#include "grove/coupling/sparse_links.h"
#include "grove/coupling/weight_publisher.h"
#include "grove/problem/regularizer.h"

namespace grove {

/// An agent's present state, as far as its sparse link weight depends on it.
struct SparseWeightInputs {
  const Vector& x;
  const Vector& hessian_diagonal;
  /// Fills in the lower triangle of the Hessian on the listed coordinates.
  const std::function<void(const std::vector<std::uint32_t>&, Matrix&)>& hessian_on;
  const Regularizer& regularizer;  ///< this agent's share of r
  const SparseLinks& links;
  double network_depth;
};

/// WeightPublisher for sparse weights: a scaled Hessian diagonal, and a block of the Hessian on the
/// agent's and its neighbours' non-zeros, once these have settled; blended with the neighbours'
/// weights. The first three blocks follow at fixed intervals, later ones only where the support or
/// the Hessian have changed by a factor that grows with every publication.
class SparsePublisher {
 public:
  SparsePublisher(bool balance_residuals, PublishedHessian own, double largest)
      : balance_residuals_(balance_residuals), own_(own), largest_(largest) {}

  bool has_published() const { return times_published_ > 0; }
  /// True: the weights are to be raised, and published anew.
  bool observe_step(const Vector& step, double network_depth, SparseLinks& links);
  double raised_by() const { return balancing_.factor(); }
  void received_weight() { neighbour_changed_ = true; }
  void start_new_epoch() { new_epoch_ = true; }

  bool due(const SparseWeightInputs& inputs);
  SparseWeight next(const SparseWeightInputs& inputs);

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Candidate {
    Vector diagonal;
    std::vector<std::uint32_t> support;
    Matrix block;  ///< lower triangle; what stands on its diagonal means nothing
  };
  double scale(const SparseWeightInputs& inputs) const;
  bool shares_block(const SparseWeightInputs& inputs) const;
  std::vector<std::uint32_t> support_of(const SparseWeightInputs& inputs) const;
  Candidate make(const SparseWeightInputs& inputs, bool block) const;
  void blend(const SparseWeightInputs& inputs, Candidate& own) const;
  bool has_drifted(const SparseWeightInputs& inputs) const;

  bool balance_residuals_;
  PublishedHessian own_;
  double largest_;  ///< mean of the diagonal of a published weight
  ResidualBalancing balancing_;
  std::uint64_t activations_ = 0;      ///< since the first
  std::uint64_t first_block_at_ = 0;   ///< of these
  std::uint64_t blocks_ = 0;           ///< published so far
  std::uint64_t times_published_ = 0;  ///< of any kind
  double published_scale_ = 0;
  std::vector<std::uint32_t> last_support_;  ///< of x at the last activation
  bool neighbour_changed_ = false;
  bool new_epoch_ = false;
};

}  // namespace grove
