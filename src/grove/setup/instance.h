#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grove/data/samples.h"
#include "grove/network/graph.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"
#include "grove/runtime/agent_range.h"
#include "grove/setup/config.h"

namespace grove {

class Cluster;

/// Coefficients up to which an agent keeps a few d x d matrices: 32 MB each.
constexpr Index largest_with_matrices = 2000;

/// A problem laid out on a network: what the agents of any method are made from.
struct Instance {
  Graph graph;
  std::size_t unused_links = 0;   ///< of the graph that was asked for, which was denser
  std::optional<AgentRange> own;  ///< the agents of this process, in a cluster; otherwise all
  std::vector<std::shared_ptr<const Objective>> objectives;  ///< f_i
  std::shared_ptr<const Objective> mean;                     ///< (1/n) sum f_i
  Regularizer regularizer;                                   ///< r
  Loss loss = LogisticLoss{};  ///< of a sample, in the units of the targets
  std::optional<LabelNames> labels;
  std::optional<ColumnNames> columns;  ///< of a CSV file
  Index samples = 0;
  Index features = 0;             ///< without the intercept
  std::optional<Vector> initial;  ///< x^0, where it is not zero
  /// Coordinates that do not depend on the units and origins of the columns; null: there are none.
  /// All else here is in the user's coordinates.
  std::shared_ptr<const ColumnScaling> scaling;
  /// Of the links, in these coordinates (AgentContext::metric).
  std::shared_ptr<const Matrix> metric;

  Index dimension() const { return mean->dimension(); }
  std::size_t agents() const { return objectives.size(); }
  /// f_i of an agent of this process; all have the same form.
  const Objective& own_objective() const { return *objectives[own_agents().first]; }
  AgentRange own_agents() const {
    return own.value_or(AgentRange{0, static_cast<std::uint32_t>(agents())});
  }
  /// x^0: `initial` or zero, or the point of the box nearest to it.
  Vector start() const;
  double objective_at(const Vector& x) const;  ///< (1/n) sum f_i(x) + r(x)

  // In the coordinates of `scaling`, or in the user's without one:
  std::shared_ptr<const Objective> scaled(std::shared_ptr<const Objective> objective) const;
  Regularizer scaled_regularizer() const;
  /// Within the bounds of r, which rounding may have crossed.
  Vector to_scaled(const Vector& x) const;
  Vector to_original(const Vector& scaled) const;
};

/// Sets the scaling from the moments of all columns, where r is separable and f has columns.
void set_scaling(Instance& instance, bool intercept);

/// What multiplies f_i so that (1/n) sum f_i weighs agents, or samples, equally.
double shard_scale(Weighting weighting, std::size_t agents, Index shard, Index total);

/// r of these options, over the leading `features` coordinates.
Regularizer regularizer_of(const ModelOptions& options, Index features);

/// Reads the data, draws the graph and deals the samples out. With a cluster it is collective, and
/// this process keeps the samples of its own agents only.
Result<Instance> make_instance(const Config& config, Cluster* cluster = nullptr);

}  // namespace grove
