#include "grove/train/checkpoint.h"

#include <cmath>

#include "grove/base/file.h"
#include "grove/train/checkpoint_file.h"

namespace grove {
namespace {

using nlohmann::json;

std::filesystem::path file_in(const std::filesystem::path& folder) {
  return folder / "checkpoint.grove";
}

json binary(const std::string& bytes) { return json::binary({bytes.begin(), bytes.end()}); }

std::string text_of(const json& value) {
  const auto& bytes = value.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

json decisive_options(const Config& config) {
  json options = options_json(config);
  // When to stop, what to show and where to run do not change what is computed.
  for (const char* name : {"rounds", "tolerance", "keep-estimates", "runtime", "threads",
                           "checkpoint", "checkpoint-every", "slow-rank"})
    options.erase(name);
  return options;
}

Status check_continues(const Checkpoint& checkpoint, const Config& config,
                       const TracePoint& start) {
  const auto other_run = [&](const std::string& why) {
    return Error{"--checkpoint",
                 fmt::format("{} holds a checkpoint of another run: {}; use another folder, or "
                             "remove that one",
                             config.checkpoint, why)};
  };
  const json now = decisive_options(config);
  for (const auto& [name, value] : now.items())
    if (const json saved = checkpoint.config.value(name, json()); saved != value)
      return other_run(
          fmt::format("--{} is {} now and was {} there", name, value.dump(), saved.dump()));
  // Other data, or another graph under the same file name, would show in the first measurement.
  const TracePoint& first = checkpoint.trace.front();
  for (const auto& [before, after] : {std::pair{first.objective, start.objective},
                                      std::pair{first.stationarity, start.stationarity}})
    if (std::abs(before - after) > 1e-9 * std::abs(before))
      return other_run("the data are not the same");
  if (checkpoint.round > config.rounds)
    return Error{"--rounds", fmt::format("the checkpoint in {} is already at round {}; expected "
                                         "at least that, found {}",
                                         config.checkpoint, checkpoint.round, config.rounds)};
  return success();
}

Status open_checkpoints(const std::filesystem::path& folder, Cluster* cluster) {
  Status status = success();
  if (cluster == nullptr || cluster->rank() == 0) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    status = error ? Status(Error{folder.string(), "cannot make the folder: " + error.message()})
                   : check_writable(file_in(folder));
    if (!status) status = Error{"--checkpoint", status.error().text()};
  }
  return cluster ? first_error(*cluster, status) : status;
}

Status save_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint,
                       Cluster* cluster) {
  Status status = success();
  if (cluster == nullptr || cluster->rank() == 0)
    status = write_file_atomically(file_in(folder), to_bytes(checkpoint));
  return cluster ? first_error(*cluster, status) : status;
}

Result<std::optional<Checkpoint>> load_checkpoint(const std::filesystem::path& folder,
                                                  Cluster* cluster) {
  const std::filesystem::path file = file_in(folder);
  std::string bytes;
  Status status = success();
  if (std::error_code error;
      (cluster == nullptr || cluster->rank() == 0) && std::filesystem::exists(file, error)) {
    auto content = read_file(file);
    if (content)
      bytes = std::move(*content);
    else
      status = content.error();
  }
  if (cluster != nullptr) {
    status = first_error(*cluster, status);
    if (status) cluster->broadcast(bytes, 0);
  }
  if (!status) return status.error();
  if (bytes.empty()) return std::optional<Checkpoint>();
  auto checkpoint = checkpoint_from_bytes(file, bytes);
  if (!checkpoint) return checkpoint.error();
  return std::optional(std::move(*checkpoint));
}

std::string to_bytes(const Checkpoint& checkpoint) {
  RunRecord so_far;  // the record's own format for what it has in common with a checkpoint
  so_far.trace = checkpoint.trace;
  so_far.processes = checkpoint.processes;
  for (const TracePoint& point : checkpoint.trace)
    if (point.relative_error) so_far.reference = ReferenceSummary{};
  json content = {{"round", checkpoint.round},
                  {"config", checkpoint.config},
                  {"record", to_json(so_far)},
                  {"seconds", checkpoint.seconds},
                  {"simulated_seconds", checkpoint.simulated_seconds},
                  {"states", json::array()}};
  for (const std::string& state : checkpoint.states) content["states"].push_back(binary(state));
  const std::vector<std::uint8_t> packed = json::to_msgpack(content);
  return seal_checkpoint(CheckpointKind::run, "", std::string(packed.begin(), packed.end()));
}

Result<Checkpoint> checkpoint_from_bytes(const std::filesystem::path& file,
                                         std::string_view bytes) {
  const auto body = open_checkpoint(CheckpointKind::run, bytes);
  if (!body) return Error{file.string(), body.error().what};
  try {  // nlohmann-json reports missing and mistyped fields by exception
    const json content = json::from_msgpack(*body);
    auto record = record_from_json(content.at("record"));
    if (!record) return Error{file.string(), record.error().what};
    Checkpoint checkpoint{.round = content.at("round"),
                          .config = content.at("config"),
                          .trace = std::move(record->trace),
                          .seconds = content.at("seconds"),
                          .simulated_seconds = content.value("simulated_seconds", 0.0),
                          .processes = std::move(record->processes)};
    for (const json& state : content.at("states")) checkpoint.states.push_back(text_of(state));
    return checkpoint;
  } catch (const json::exception& error) {
    return Error{file.string(), error.what()};
  }
}

}  // namespace grove
