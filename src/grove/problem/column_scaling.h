#pragma once

#include "grove/base/types.h"
#include "grove/data/design.h"

namespace grove {

/// The columns of a design as optimization sees them, (x - center) / scale, and coefficients on
/// either scale. Layout: the features of a class, of the next class, ..., then the intercepts.
struct ColumnScaling {
  Vector center, scale;
  bool intercept = true;
  Index blocks = 1;  ///< classes but the first

  Index features() const { return scale.size(); }
  Index dimension() const { return blocks * (features() + (intercept ? 1 : 0)); }

  /// original = map() scaled
  Matrix map() const {
    Matrix result = Matrix::Zero(dimension(), dimension());
    for (Index block = 0; block < blocks; ++block) {
      const Index first = block * features(), constant = blocks * features() + block;
      for (Index k = 0; k < features(); ++k) {
        result(first + k, first + k) = 1 / scale[k];
        if (intercept) result(constant, first + k) = -center[k] / scale[k];
      }
      if (intercept) result(constant, constant) = 1;
    }
    return result;
  }
  Vector to_original(const Vector& scaled) const { return map() * scaled; }
  Vector to_scaled(const Vector& original) const {
    return map().triangularView<Eigen::Lower>().solve(original);
  }

  void apply(Design& design) const {
    auto& rows = std::get<DenseRows>(design.samples.features);
    rows.rowwise() -= center.transpose();
    rows.array().rowwise() /= scale.transpose().array();
  }
};

}  // namespace grove
