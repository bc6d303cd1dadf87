#pragma once

#include <string_view>
#include <vector>

#include "grove/methods/registry.h"
#include "grove/network/topology.h"
#include "grove/problem/loss.h"
#include "grove/problem/regularizer.h"
#include "grove/setup/metric.h"

namespace grove {

/// All that options can name. A program with methods, losses or the like of its own copies the
/// built-in registry, adds rows, and passes it to options_of().
struct Registry {
  std::vector<Method> methods;
  std::vector<LossEntry> losses;
  std::vector<RegularizerEntry> regularizers;
  std::vector<Topology> topologies;
  std::vector<Metric> metrics;
};

const Registry& built_in_registry();

}  // namespace grove
