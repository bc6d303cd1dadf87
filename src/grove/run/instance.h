#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grove/data/samples.h"
#include "grove/network/graph.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"
#include "grove/run/config.h"

namespace grove {

/// A problem laid out on a network: what the agents of any method are made from.
struct Instance {
  Graph graph;
  std::vector<std::shared_ptr<const Objective>> objectives;  ///< f_i
  std::unique_ptr<const Objective> mean;                     ///< (1/n) sum f_i
  Regularizer regularizer;                                   ///< r
  std::optional<LabelNames> labels;
  Index samples = 0;
  Index features = 0;  ///< without the intercept

  Index dimension() const { return mean->dimension(); }
  std::size_t agents() const { return objectives.size(); }
  Vector start() const;                        ///< x^0: zero, or the point of the box nearest to it
  double objective_at(const Vector& x) const;  ///< (1/n) sum f_i(x) + r(x)
};

/// Reads the data, draws the graph and deals the samples out.
Result<Instance> make_instance(const Config& config);

}  // namespace grove
