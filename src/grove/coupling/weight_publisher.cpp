#include "grove/coupling/weight_publisher.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "grove/problem/symmetric.h"

namespace grove {
namespace {

constexpr double ridge_share = 1e-3;  ///< of the Hessian's diagonal; 0.1 took 2-4 times the rounds
constexpr double first_drift_limit = 3;  ///< factor between published and present matrix
constexpr double usual_refreshes = 8;    ///< more than any run measured so far needed
constexpr double scale_limit = 2;        ///< a larger growth of the scale is published at once
constexpr double l1_zero_weight = 5;     ///< 3 to 10 did about as well on w8a, 1 and 30 worse
constexpr double blend = 0.5;            ///< share of the neighbours' weights in a published one

/// The limit grows after a few publications. Hessians along a bounded run differ by a bounded
/// factor, which the limit exceeds in the end.
double drift_limit(std::uint64_t times_published) {
  return first_drift_limit * std::max(1.0, static_cast<double>(times_published) / usual_refreshes);
}

/// The activation before which no refresh is considered. With an l1 term most agents would
/// otherwise refresh in every round while its zeros are found, at half as many bytes more and no
/// fewer rounds (w8a, and a9a with l1 = 1e-4).
std::uint64_t next_refresh(std::uint64_t times_published) {
  const auto waits = std::min(times_published, static_cast<std::uint64_t>(usual_refreshes));
  return waits * (waits - 1);
}

/// Whether some eigenvalue of published^{-1} now has left [1/limit, limit], in the form's terms.
bool differ(LinkWeightForm form, double limit, const Matrix& published, const Matrix& now,
            Matrix& buffer) {
  if (form.shape == LinkWeightShape::scalar) {
    const double ratio = now.diagonal().sum() / published.diagonal().sum();
    return !(ratio < limit && ratio > 1 / limit);
  }
  if (form.shape == LinkWeightShape::diagonal) {
    const auto ratio = now.diagonal().cwiseQuotient(published.diagonal());
    return !(ratio.maxCoeff() < limit && ratio.minCoeff() > 1 / limit);
  }
  combine_lower(limit, published, -1, now, buffer);
  if (!factorize_cholesky(buffer)) return true;
  combine_lower(limit, now, -1, published, buffer);
  return !factorize_cholesky(buffer);
}

}  // namespace

const Vector& WeightPublisher::ridge(const Matrix& hessian, const Objective& objective) {
  double usual = hessian.diagonal().mean();
  if (!(usual > 0)) usual = objective.smoothness() / static_cast<double>(hessian.rows());
  if (!(usual > 0)) usual = 1 / ridge_share;
  ridge_.resize(hessian.rows());
  for (Index k = 0; k < hessian.rows(); ++k)
    ridge_[k] = ridge_share * (hessian(k, k) > 0 ? hessian(k, k) : usual);
  return ridge_;
}

bool WeightPublisher::observe_step(const Vector& step, const Vector& x, double network_depth,
                                   Coupling& coupling) {
  if (!balance_residuals_) return false;
  balancing_.add_step(coupling.squared_step(step));
  const auto residual = coupling.squared_residual(x);
  return residual && balancing_.observe(*residual, network_depth);
}

/// For identical quadratics the penalties at an agent should sum to its Hessian over sqrt(1 - w^2),
/// w being the second eigenvalue of the random walk on the graph. On a path or an even ring of that
/// depth w = cos(pi / depth); on other graphs it is near that (docs/reference/link-weights.md).
double WeightPublisher::scale(const WeightInputs& inputs) const {
  const double degree = static_cast<double>(std::max<std::size_t>(1, inputs.neighbours));
  return balancing_.factor() * 2 /
         (degree * std::sin(std::numbers::pi / std::max(2.0, inputs.network_depth)));
}

bool WeightPublisher::only_diagonal(const WeightInputs& inputs) const {
  if (own_ == PublishedHessian::full) return false;
  return own_ == PublishedHessian::diagonal || !has_published() ||
         inputs.weights.established() == 0;
}

/// The Hessian plus a ridge: positive definite whatever the data. A coefficient that l1 holds at
/// zero gets a weight of the order of l1 over the size of a coefficient; without it, its dual takes
/// very long to leave the kink of |x|. The result is blended with the neighbours' weights, so that
/// agents whose data says little about a direction learn the network's Hessian in it.
void WeightPublisher::blend_hessian(const WeightInputs& inputs, Matrix& result) {
  const Vector& x = inputs.x;
  const Regularizer& regularizer = inputs.regularizer;
  const Vector& floor = ridge(inputs.hessian, inputs.objective);
  const double size = std::sqrt(x.squaredNorm() / static_cast<double>(x.size()));
  const double at_zero = size > 0 ? l1_zero_weight * regularizer.l1 / size : 0.0;
  const double neighbours = static_cast<double>(inputs.weights.established());
  const double own = (neighbours > 0 ? 1 - blend : 1) * scale(inputs);
  // The sum is that of (C_i + C_j)/2: twice its mean over the links minus C_i is the mean of C_j.
  const bool diagonal = only_diagonal(inputs);
  if (neighbours > 0) {
    inputs.weights.sum().combine(diagonal ? 0 : own, inputs.hessian, 2 * blend / neighbours,
                                 result);
    inputs.weights.own().add_to(-blend, result);
  } else if (diagonal) {
    result.setZero(x.size(), x.size());
  } else {
    result = own * inputs.hessian;
  }
  if (diagonal) result.diagonal() += own * inputs.hessian.diagonal();
  for (Index k = 0; k < x.size(); ++k)
    result(k, k) += own * (floor[k] + (k < regularizer.regularized && x[k] == 0 ? at_zero : 0.0));
}

/// The matrices are compared only when the answer can have changed: there is a new Hessian, or a
/// neighbour has published a new weight.
bool WeightPublisher::due(const WeightInputs& inputs, std::uint64_t activation, Matrix& candidate,
                          Matrix& buffer) {
  if (new_epoch_ || scale(inputs) > scale_limit * published_scale_) return true;
  if (inputs.hessians_computed == hessians_checked_ && !neighbour_changed_) return false;
  if (activation < next_refresh(times_published_)) return false;
  hessians_checked_ = inputs.hessians_computed;
  neighbour_changed_ = false;
  blend_hessian(inputs, candidate);
  return differ(form_, drift_limit(times_published_), published_, candidate, buffer);
}

LinkWeight WeightPublisher::next(const WeightInputs& inputs) {
  blend_hessian(inputs, published_);
  hessians_checked_ = inputs.hessians_computed;
  published_scale_ = scale(inputs);
  ++times_published_;
  new_epoch_ = false;
  return LinkWeight(form_, published_);
}

void WeightPublisher::save(ByteWriter& writer) const {
  writer.put(has_published());
  if (has_published()) writer.put(std::span<const double>(published_.data(), published_.size()));
  writer.put(hessians_checked_);
  writer.put(neighbour_changed_);
  writer.put(new_epoch_);
  writer.put(published_scale_);
  writer.put(times_published_);
  writer.put(balancing_);
}

void WeightPublisher::load(ByteReader& reader, Index dimension) {
  bool published = false;
  reader.get(published);
  published_.resize(published ? dimension : 0, published ? dimension : 0);
  if (published) reader.get(std::span<double>(published_.data(), published_.size()));
  reader.get(hessians_checked_);
  reader.get(neighbour_changed_);
  reader.get(new_epoch_);
  reader.get(published_scale_);
  reader.get(times_published_);
  reader.get(balancing_);
}

}  // namespace grove
