#pragma once

#include <optional>
#include <vector>

#include "grove/data/samples.h"
#include "grove/runtime/cluster.h"
#include "grove/setup/config.h"

namespace grove {

/// The samples of some agents, and what is known of all.
struct DataSplit {
  std::vector<Samples> shards;  ///< of the agents asked for, in their order
  std::optional<LabelNames> labels;
  std::optional<ColumnNames> columns;
  Index samples = 0;  ///< of all agents together
  Index features = 0;
};

/// Reads --data whole, and keeps what falls to the agents of the range.
Result<DataSplit> split_data(const Config& config, AgentRange range);

/// Every process reads its own file of --shards, and deals it to its own agents. Labels and the
/// number of features are settled among the processes; no sample leaves its own. Collective.
Result<DataSplit> read_shards(const Config& config, AgentRange own, Cluster& cluster);

/// A remark if files of the pattern --shards exist beyond those that `processes` processes read.
std::optional<std::string> note_on_unread_shards(const std::string& pattern, int processes);

}  // namespace grove
