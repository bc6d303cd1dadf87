#pragma once

#include <limits>

#include "grove/base/bytes.h"
#include "grove/coupling/common_motion.h"
#include "grove/coupling/coupling.h"
#include "grove/coupling/link_metric.h"
#include "grove/coupling/residual_balancing.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"

namespace grove {

/// How much of its own Hessian an agent publishes. Neighbours can compute it from the blend.
enum class PublishedHessian {
  full,
  /// The whole one only in a blend with the weights of two neighbours or more; the diagonal before.
  /// A single neighbour could subtract its own weight.
  blended,
  diagonal  ///< never more than the diagonal
};

/// An agent's present state, as far as its link weight depends on it.
struct WeightInputs {
  const Matrix& hessian;            ///< of f_i, lower triangle
  std::uint64_t hessians_computed;  ///< so far: the Hessian changes with this count
  const Vector& x;
  const Regularizer& regularizer;  ///< this agent's share of r
  const Objective& objective;
  const WeightTable& weights;
  const LinkMetric& metric;
  std::size_t neighbours;
  double network_depth;
};

/// Decides which link weight C_i an agent publishes, and when (docs/reference/link-weights.md): a
/// scaled Hessian with a ridge, blended with the neighbours' weights. It is published again when
/// the Hessian has left the published one by a factor, when the network proves deeper than known,
/// and when residual balancing raises it. Coupling is exact between changes of weights, so changes
/// must come to an end: limits grow with every publication.
class WeightPublisher {
 public:
  WeightPublisher(LinkWeightForm form, bool balance_residuals,
                  PublishedHessian own = PublishedHessian::full,
                  double largest = std::numeric_limits<double>::infinity())
      : form_(form), balance_residuals_(balance_residuals), own_(own), largest_(largest) {}

  bool has_published() const { return published_.size() > 0; }
  double mean_diagonal() const { return published_.diagonal().mean(); }  ///< of what was published

  /// 1e-3 of the Hessian's diagonal: rescaling a feature rescales its ridge. Where the diagonal is
  /// zero, 1e-3 of its mean, or of the smoothness constant.
  const Vector& ridge(const Matrix& hessian, const Objective& objective);

  /// What the last steps say of the weights, which are to be published anew then.
  enum class Verdict { none, raise, lower };
  /// Observes a step of the agent from x, both in the coordinates of the links.
  Verdict observe_step(const Vector& step, const Vector& x, double network_depth,
                       Coupling& coupling);
  double raised_by() const { return balancing_.factor(); }      ///< since the start
  double lowered_by() const { return lowered_.back().factor; }  ///< the last time, one direction

  void received_weight() { neighbour_changed_ = true; }
  /// Versions used since the state was loaded may stand for other weights: publish with a new one.
  void start_new_epoch() { new_epoch_ = true; }

  /// Whether a new weight is due, in the activation of that number.
  bool due(const WeightInputs& inputs, std::uint64_t activation, Matrix& candidate, Matrix& buffer);
  LinkWeight next(const WeightInputs& inputs);

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader, Index dimension);

 private:
  double scale(const WeightInputs& inputs) const;
  void blend_hessian(const WeightInputs& inputs, Matrix& result);
  const Matrix& own_hessian(const WeightInputs& inputs);
  bool only_diagonal(const WeightInputs& inputs) const;

  LinkWeightForm form_;
  bool balance_residuals_;
  PublishedHessian own_;
  double largest_;  ///< mean of the diagonal of a published weight
  ResidualBalancing balancing_;
  CommonMotion motion_;
  std::vector<CommonMotion::Finding> lowered_;  ///< directions in which weights are lower
  Matrix published_;            ///< the matrix that C_i approximates, lower triangle
  double published_scale_ = 0;  ///< its scale
  std::uint64_t times_published_ = 0;
  std::uint64_t hessians_checked_ = 0;  ///< count at the last comparison
  bool neighbour_changed_ = false;      ///< a neighbour has published since then
  bool new_epoch_ = false;
  Vector ridge_;     ///< buffer
  Matrix relative_;  ///< buffer: the Hessian in the coordinates of the links
};

}  // namespace grove
