#pragma once

#include <memory>
#include <vector>

#include "grove/problem/smooth_objective.h"

namespace grove::testing_support {

enum class GlmFamily { logistic, poisson, squared };  ///< logistic: targets 0 and 1

/// weight * sum_j loss(w_j'x, y_j) + (l2/2)|x|^2 by plain loops from the formulas, sharing no code
/// with the library's losses.
class GlmObjective final : public SmoothObjective {
 public:
  struct Data {
    Matrix rows;  ///< one row per sample
    Vector targets;
    GlmFamily family = GlmFamily::logistic;
    double l2 = 0;
  };
  explicit GlmObjective(Data data) : data_(std::move(data)) {}

  Index dimension() const override { return data_.rows.cols(); }
  double value(const Vector& x, Vector* gradient, Matrix* hessian) const override;
  double smoothness() const override { return 1; }  ///< not used

 private:
  Data data_;
};

using Glms = std::vector<std::shared_ptr<const GlmObjective>>;

/// The minimizer of sum f_k + n l1 |.|_1 by damped Newton steps with coordinate descent, to
/// rounding: independent of the method under test.
Vector glm_optimum(const Glms& parts, double l1);
double glm_value(const Glms& parts, double l1, const Vector& x);

}  // namespace grove::testing_support
