#pragma once

#include <span>
#include <vector>

#include "grove/base/types.h"
#include "grove/data/design.h"

namespace grove {

/// Mean and variance of the columns of some samples, each sample with the weight of its loss.
struct ColumnMoments {
  double mass = 0;  ///< sum of the weights
  Vector mean, variance;
  bool sparse = false;  ///< some samples are stored sparsely
  /// What outliers hardly change, by column: the sum over dense shards of medians; the sums of the
  /// logarithms of spreads about the median and about zero, and the number of shards that have such
  /// a spread. Sparse shards have the size of their non-zeros in place of a spread about zero.
  double shards = 0;
  Vector medians, log_deviation, deviations, log_size, sizes;
};

/// Of all samples together.
ColumnMoments merge(std::span<const ColumnMoments> parts);

struct WeightedMoments {
  Vector mean, variance;
};

double median_of(std::vector<double> numbers);
/// The spread of some numbers about a center: the root of the share of those that differ from it,
/// times the median of their distances, as the deviation of normal numbers. 0: none differs.
double robust_spread(std::vector<double> numbers, double center);

/// The columns of a design as optimization sees them, (x - center) / scale, and coefficients on
/// either scale. Layout: the features of a class, of the next class, ..., then the intercepts.
/// Margins are the same on both scales, and so is every objective.
struct ColumnScaling {
  Vector center, scale;
  bool intercept = true;
  Index blocks = 1;  ///< classes but the first

  Index features() const { return scale.size(); }
  Index dimension() const { return blocks * (features() + (intercept ? 1 : 0)); }
  bool centers() const { return intercept && !center.isZero(0); }

  Matrix map() const;  ///< original = map() scaled
  Vector to_original(const Vector& scaled) const;
  Vector to_scaled(const Vector& original) const;

  /// Derivatives with respect to original coefficients become those with respect to scaled ones:
  /// map()' gradient, and map()' hessian map(). Of a single block.
  void scale_gradient(Vector& gradient) const;
  void scale_hessian(Matrix& hessian) const;  ///< both triangles

  void apply(Design& design) const {
    auto& rows = std::get<DenseRows>(design.samples.features);
    rows.rowwise() -= center.transpose();
    rows.array().rowwise() /= scale.transpose().array();
  }
};

/// Columns of median about 0 and deviation about 1 where an intercept takes up the centers and the
/// samples are dense; otherwise of mean square about 1, of the non-zeros where samples are sparse.
/// A column without variance keeps its center.
ColumnScaling scaling_of(const ColumnMoments& moments, bool intercept);

}  // namespace grove
