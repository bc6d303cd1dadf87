#include "grove/coupling/weight_publisher.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <Eigen/Eigenvalues>

#include "grove/coupling/publishing.h"
#include "grove/problem/symmetric.h"

namespace grove {
namespace {

using namespace publishing;

constexpr double largest_relative = 1e3;    ///< of a Hessian in the metric of the links
constexpr double smallest_relative = 1e-6;  ///< the same, of its mean eigenvalue
/// To which weights are lowered, in the metric of the links, and relative to the largest one:
/// single precision must keep the matrix positive definite.
constexpr double least_weight = 4e-6;
constexpr double rounding = 1e-26;  ///< of squared residuals, relative to that of x

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

bool is_diagonal(const Matrix& lower) {
  for (Index column = 0; column + 1 < lower.cols(); ++column)
    if (!lower.col(column).tail(lower.rows() - column - 1).isZero(0)) return false;
  return true;
}

/// lower += factor K, with the correlations of `lower` and the given diagonal. Neighbours know the
/// correlations, which are their own, and learn the diagonal only.
void add_with_diagonal(double factor, const Vector& diagonal, Matrix& lower) {
  const Vector known = lower.diagonal();
  const Vector scale = (known.array() > 0).select((diagonal.array() / known.array()).sqrt(), 0.0);
  for (Index column = 0; column < lower.cols(); ++column) {
    lower(column, column) += factor * diagonal[column];
    for (Index row = column + 1; row < lower.rows(); ++row)
      lower(row, column) *= 1 + factor * scale[row] * scale[column];
  }
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

WeightPublisher::Verdict WeightPublisher::observe_step(const Vector& step, const Vector& x,
                                                       double network_depth, Coupling& coupling) {
  if (!balance_residuals_) return Verdict::none;
  const double squared_step = coupling.squared_step(step);
  balancing_.add_step(squared_step);
  motion_.add_step(step, squared_step);
  const auto residual = coupling.squared_residual(x);
  // Rounding errors of agents that agree do not fall, and say nothing about the weights.
  const double size = coupling.weights().sum_diagonal().dot(x.cwiseAbs2());
  if (!residual || *residual <= rounding * size) return Verdict::none;
  if (balancing_.observe(*residual, network_depth)) return Verdict::raise;
  auto finding = motion_.observe(*residual, network_depth, coupling.squared_step(motion_.drift()));
  if (!finding) return Verdict::none;
  lowered_.push_back(std::move(*finding));
  return Verdict::lower;
}

/// Lowers a positive definite matrix, given by its lower triangle, along a direction.
void lower_along(const CommonMotion::Finding& finding, Matrix& matrix) {
  Vector product = Vector::Zero(matrix.rows());
  add_symmetric_product(matrix, finding.direction, product);
  const double along = finding.direction.dot(product);
  const double least = least_weight * std::max(1.0, matrix.diagonal().maxCoeff());
  if (!(along / finding.factor > least * finding.direction.squaredNorm())) return;
  matrix.triangularView<Eigen::Lower>() -=
      (1 - 1 / finding.factor) / along * (product * product.transpose());
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
  return own_ == PublishedHessian::diagonal || !has_published() || inputs.weights.established() < 2;
}

/// The Hessian with the l1 zero weights, in the coordinates of the links. A coefficient that l1
/// holds at zero gets a weight of the order of l1 over the size of a coefficient; without it, its
/// dual takes very long to leave the kink of |x|. Where a few rows outweigh all others by far, as
/// outliers do, eigenvalues are limited: the links need not hold what such rows hold by themselves.
const Matrix& WeightPublisher::own_hessian(const WeightInputs& inputs) {
  const Vector& x = inputs.x;
  const Regularizer& regularizer = inputs.regularizer;
  const double size = std::sqrt(x.squaredNorm() / static_cast<double>(x.size()));
  const double at_zero = size > 0 ? l1_zero_weight / size : 0.0;
  relative_ = inputs.hessian;
  for (Index k = 0; k < regularizer.regularized; ++k)
    if (x[k] == 0) relative_(k, k) += at_zero * regularizer.l1_at(k);
  if (inputs.metric.is_identity()) return relative_;
  mirror_lower_triangle(relative_);
  inputs.metric.hessian_to_links(relative_);
  if (relative_.diagonal().maxCoeff() <= largest_relative) return relative_;
  const Eigen::SelfAdjointEigenSolver<Matrix> spectrum(relative_);
  const Vector limited = spectrum.eigenvalues().cwiseMax(0).cwiseMin(largest_relative);
  relative_ = spectrum.eigenvectors() * limited.asDiagonal() * spectrum.eigenvectors().transpose();
  return relative_;
}

/// The Hessian plus a ridge: positive definite whatever the data. The result is blended with the
/// neighbours' weights, so that agents whose data says little about a direction learn the network's
/// Hessian in it.
void WeightPublisher::blend_hessian(const WeightInputs& inputs, Matrix& result) {
  const Matrix& hessian = own_hessian(inputs);
  const double neighbours = static_cast<double>(inputs.weights.established());
  const double own = (neighbours > 0 ? 1 - blend : 1) * scale(inputs);
  // The sum is that of (C_i + C_j)/2: twice its mean over the links minus C_i is the mean of C_j.
  const bool diagonal = only_diagonal(inputs);
  if (neighbours > 0) {
    inputs.weights.sum().combine(diagonal ? 0 : own, hessian, 2 * blend / neighbours, result);
    inputs.weights.own().add_to(-blend, result);
  } else if (diagonal) {
    result.setZero(hessian.rows(), hessian.cols());
  } else {
    result = own * hessian;
  }
  if (diagonal) add_with_diagonal(own, hessian.diagonal(), result);
  if (inputs.metric.is_identity()) {
    result.diagonal() += own * ridge(inputs.hessian, inputs.objective);
  } else {
    const double usual = std::max(hessian.diagonal().mean(), smallest_relative);
    result.diagonal().array() += own * ridge_share * usual;
  }
  for (const CommonMotion::Finding& finding : lowered_) {
    if (form_.shape == LinkWeightShape::scalar)
      result /= finding.factor;
    else
      lower_along(finding, result);
  }
  if (const double mean = result.diagonal().mean(); mean > largest_) result *= largest_ / mean;
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
  if (own_ != PublishedHessian::full && is_diagonal(published_) && !is_diagonal(candidate))
    return true;  // the first weight had no correlations to share
  return differ(form_, drift_limit(times_published_), published_, candidate, buffer);
}

LinkWeight WeightPublisher::next(const WeightInputs& inputs) {
  blend_hessian(inputs, published_);
  hessians_checked_ = inputs.hessians_computed;
  published_scale_ = scale(inputs);
  ++times_published_;
  new_epoch_ = false;
  LinkWeight weight(form_, published_);
  // Lowered weights may be so small that single precision makes the matrix indefinite.
  for (double ridge = 1e-6 * published_.diagonal().maxCoeff();
       !lowered_.empty() && !weight.is_positive_definite() && std::isfinite(ridge); ridge *= 10) {
    published_.diagonal().array() += ridge;
    weight = LinkWeight(form_, published_);
  }
  return weight;
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
  motion_.save(writer);
  writer.put(lowered_.size());
  for (const CommonMotion::Finding& finding : lowered_) {
    writer.put(finding.direction);
    writer.put(finding.factor);
  }
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
  motion_.load(reader, dimension);
  std::size_t count = 0;
  reader.get(count);
  lowered_.resize(std::min<std::size_t>(count, CommonMotion::most_findings));
  for (CommonMotion::Finding& finding : lowered_) {
    finding.direction.resize(dimension);
    reader.get(finding.direction);
    reader.get(finding.factor);
  }
}

}  // namespace grove
