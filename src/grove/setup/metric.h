#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"

namespace grove {

/// The network in a measured round, as a metric sees it.
struct MetricInputs {
  const Vector& solution;             ///< the network's answer
  std::span<const Vector> estimates;  ///< x_i of every agent
  const Objective& mean;              ///< (1/n) sum f_i; with MPI its evaluation is collective
  const Regularizer& regularizer;
};

/// One row of the registry of metrics: a number per measured round, which the trace of the record
/// has under this name. Every process of a cluster computes it.
struct Metric {
  std::string name;
  std::string help;  ///< one line
  std::function<double(const MetricInputs&)> value;
};

std::vector<Metric> built_in_metrics();

}  // namespace grove
