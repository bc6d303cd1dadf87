#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/record/record.h"
#include "grove/runtime/cluster.h"
#include "grove/setup/config.h"

namespace grove {

/// A run after some round, with all that is needed to go on exactly as if it had never stopped.
struct Checkpoint {
  Round round = 0;
  nlohmann::json config;            ///< what must not change between the runs, by option name
  std::vector<TracePoint> trace;    ///< up to the round
  double seconds = 0;               ///< spent on rounds so far
  double simulated_seconds = 0;     ///< the same on simulated machines
  std::vector<std::string> states;  ///< by agent (Runtime::states)
  std::vector<ProcessReport> processes;
};

/// The options that decide the iterates: a run may only be continued with the same ones.
nlohmann::json decisive_options(const Config& config);

/// Whether a run with these options, which starts with this measurement, may go on from there. The
/// error names the first option that differs, or says that the data do.
Status check_continues(const Checkpoint& checkpoint, const Config& config, const TracePoint& start);

/// Makes the folder where there is none, and says whether checkpoints can be written there. With a
/// cluster the first process writes, and all three functions are collective.
Status open_checkpoints(const std::filesystem::path& folder, Cluster* cluster = nullptr);
/// Replaces the checkpoint in the folder, in one step.
Status save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                       Cluster* cluster = nullptr);
/// Nothing: there is none in the folder.
Result<std::optional<Checkpoint>> load_checkpoint(const std::filesystem::path& folder,
                                                  Cluster* cluster = nullptr);

/// A checkpoint as the bytes of its file (checkpoint_file.h).
std::string to_bytes(const Checkpoint& checkpoint);
Result<Checkpoint> checkpoint_from_bytes(const std::filesystem::path& file, std::string_view bytes);

}  // namespace grove
