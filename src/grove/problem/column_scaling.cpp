#include "grove/problem/column_scaling.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace grove {

Matrix ColumnScaling::map() const {
  Matrix result(dimension(), dimension());
  for (Index k = 0; k < dimension(); ++k) result.col(k) = to_original(Vector::Unit(dimension(), k));
  return result;
}

Vector ColumnScaling::to_original(const Vector& scaled) const {
  Vector result = scaled;
  for (Index block = 0; block < blocks; ++block) {
    auto slopes = result.segment(block * features(), features());
    slopes.array() /= scale.array();
    if (intercept) result[blocks * features() + block] -= center.dot(slopes);
  }
  return result;
}

Vector ColumnScaling::to_scaled(const Vector& original) const {
  Vector result = original;
  for (Index block = 0; block < blocks; ++block) {
    auto slopes = result.segment(block * features(), features());
    if (intercept) result[blocks * features() + block] += center.dot(slopes);
    slopes.array() *= scale.array();
  }
  return result;
}

void ColumnScaling::scale_gradient(Vector& gradient) const {
  assert(blocks == 1 && gradient.size() == dimension());
  auto slopes = gradient.head(features());
  if (centers()) slopes -= gradient[features()] * center;
  slopes.array() /= scale.array();
}

void ColumnScaling::scale_hessian(Matrix& hessian) const {
  assert(blocks == 1 && hessian.rows() == dimension());
  const Index d = features();
  if (centers()) {
    const double corner = hessian(d, d);
    const Vector border = hessian.col(d).head(d);
    for (Index k = 0; k < d; ++k)
      hessian.col(k).head(d) -= center[k] * border + (border[k] - center[k] * corner) * center;
    hessian.col(d).head(d) -= corner * center;
    hessian.row(d).head(d) = hessian.col(d).head(d).transpose();
  }
  for (Index k = 0; k < d; ++k) hessian.col(k).head(d).array() /= scale[k] * scale.array();
  if (!intercept) return;
  hessian.col(d).head(d).array() /= scale.array();
  hessian.row(d).head(d).array() /= scale.transpose().array();
}

double median_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

double robust_spread(std::vector<double> numbers, double center) {
  constexpr double normal = 1.4826;  // deviation over median distance
  const auto all = static_cast<double>(numbers.size());
  for (double& number : numbers) number = std::abs(number - center);
  std::erase(numbers, 0.0);
  if (numbers.empty()) return 0;
  const double share = static_cast<double>(numbers.size()) / all;
  return normal * std::sqrt(share) * median_of(std::move(numbers));
}

ColumnMoments merge(std::span<const ColumnMoments> parts) {
  ColumnMoments result;
  for (const ColumnMoments& part : parts) {
    if (!(part.mass > 0)) continue;
    if (result.mean.size() == 0)
      for (Vector* sum : {&result.mean, &result.variance, &result.medians, &result.log_deviation,
                          &result.deviations, &result.log_size, &result.sizes})
        sum->setZero(part.mean.size());
    result.shards += part.shards;
    result.medians += part.medians;
    result.log_deviation += part.log_deviation;
    result.deviations += part.deviations;
    result.log_size += part.log_size;
    result.sizes += part.sizes;
    result.mass += part.mass;
    result.mean += part.mass * part.mean;
    result.sparse = result.sparse || part.sparse;
  }
  if (result.mass > 0) result.mean /= result.mass;
  for (const ColumnMoments& part : parts)
    if (part.mass > 0)
      result.variance +=
          part.mass / result.mass * (part.variance + (part.mean - result.mean).cwiseAbs2());
  return result;
}

ColumnScaling scaling_of(const ColumnMoments& moments, bool intercept) {
  // Below it a variance is rounding of the mean, at 2^-53 of the squared mean for every sample.
  constexpr double noise = 1e-28;
  const Index d = moments.mean.size();
  ColumnScaling result{.center = Vector::Zero(d), .scale = Vector::Ones(d), .intercept = intercept};
  for (Index k = 0; k < d; ++k) {
    const double square = moments.mean[k] * moments.mean[k];
    const bool centers = intercept && !moments.sparse && moments.variance[k] > noise * square;
    if (centers) result.center[k] = moments.medians[k] / moments.shards;
    double scale = std::sqrt(moments.variance[k] + (centers ? 0 : square));
    const double count = centers ? moments.deviations[k] : moments.sizes[k];
    const double logs = centers ? moments.log_deviation[k] : moments.log_size[k];
    if (count > 0) scale = std::exp(logs / count);
    if (scale > 0 && std::isfinite(scale)) result.scale[k] = scale;
  }
  return result;
}

}  // namespace grove
