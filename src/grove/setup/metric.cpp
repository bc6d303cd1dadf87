#include "grove/setup/metric.h"

#include <algorithm>

namespace grove {
namespace {

double nonzeros(const MetricInputs& inputs) {
  return static_cast<double>((inputs.solution.array() != 0).count());
}

/// max_i |x_i - mean|
double worst_disagreement(const MetricInputs& inputs) {
  Vector mean = Vector::Zero(inputs.solution.size());
  for (const Vector& x : inputs.estimates) mean += x;
  mean /= static_cast<double>(inputs.estimates.size());
  double worst = 0;
  for (const Vector& x : inputs.estimates) worst = std::max(worst, (x - mean).norm());
  return worst;
}

/// max_k |solution_k|
double largest_coefficient(const MetricInputs& inputs) {
  return inputs.solution.lpNorm<Eigen::Infinity>();
}

}  // namespace

std::vector<Metric> built_in_metrics() {
  return {
      {"nonzeros", "coefficients of the solution that are not 0", nonzeros},
      {"worst_disagreement", "distance of the farthest agent from the mean", worst_disagreement},
      {"largest_coefficient", "largest coefficient in size", largest_coefficient}};
}

}  // namespace grove
