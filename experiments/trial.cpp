#include "experiments/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grove/base/file.h"
#include "grove/base/text.h"

namespace grove::experiments {
namespace {

/// To be raised whenever a run gives other numbers than before: old results must not be mixed in.
constexpr const char* format = "grove-trial/2";

double largest_smoothness(const Instance& instance) {
  double largest = 0;
  for (const auto& objective : instance.objectives)
    largest = std::max(largest, objective->smoothness());
  return largest;
}

/// FNV-1a: a file name from a key. The key itself is in the file, so a clash cannot go unnoticed.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 14695981039346656037ull;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return value;
}

/// A synthetic set has no size; a file that was replaced by another usually has a different one.
std::uintmax_t data_size(const std::string& data) {
  std::error_code error;
  const auto size = std::filesystem::file_size(data, error);
  return error ? 0 : size;
}

/// JSON has no infinity: a diverged error is stored as null.
nlohmann::json numbers_json(const std::vector<double>& values) {
  nlohmann::json result = nlohmann::json::array();
  for (const double value : values)
    result.push_back(std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr));
  return result;
}

std::vector<double> numbers_from(const nlohmann::json& array) {
  std::vector<double> result;
  result.reserve(array.size());
  for (const auto& value : array)
    result.push_back(value.is_null() ? std::numeric_limits<double>::infinity()
                                     : value.get<double>());
  return result;
}

RunStatus status_from(const std::string& name) {
  for (const RunStatus status : {RunStatus::converged, RunStatus::diverged, RunStatus::interrupted})
    if (name == name_of(status)) return status;
  return RunStatus::round_limit;
}

}  // namespace

std::string Trial::key() const {
  Config described = config;
  nlohmann::json json = to_json(options_of(described));
  json.erase("threads");  // no effect on the numbers
  return fmt::format("{} | size {} | factor {} | reached {} | lost {} | {}", json.dump(),
                     data_size(config.data), smoothness_factor ? exact(*smoothness_factor) : "-",
                     exact(stop.reached), exact(stop.lost), timed ? "timed" : "untimed");
}

std::optional<std::size_t> TrialResult::first_at(double level) const {
  const auto found = std::ranges::find_if(error, [level](double value) { return value <= level; });
  if (found == error.end()) return std::nullopt;
  return static_cast<std::size_t>(found - error.begin());
}

Result<std::optional<FinishedTrial>> run_trial(const Trial& trial, const PreparedProblem& problem,
                                               const RunHooks& hooks) {
  Config config = trial.config;
  config.threads = 1;
  if (trial.smoothness_factor) {
    const double smoothness = largest_smoothness(problem.instance);
    if (is_druid(config.method))
      config.prox = *trial.smoothness_factor * smoothness;
    else
      config.step = *trial.smoothness_factor / smoothness;
  }
  TrialResult result;
  bool over = false;
  RunHooks watching = hooks;
  watching.measured = [&](const TracePoint& point) {
    const double error = point.relative_error.value_or(std::nan(""));
    result.lost = result.lost || !(error <= trial.stop.lost);
    over = result.lost || error <= trial.stop.reached;
    result.round.push_back(static_cast<double>(point.round));
    result.error.push_back(error);
    result.seconds.push_back(point.simulated_seconds.value_or(point.seconds));
    result.broadcasts.push_back(static_cast<double>(point.cost.broadcasts));
  };
  watching.interrupted = [&] { return over || hooks.interrupted(); };
  auto record = run_prepared(config, problem, watching);
  if (!record) return record.error();
  Outcome& outcome = record->outcome;
  if (outcome.status == RunStatus::interrupted && !over) return std::optional<FinishedTrial>{};
  if (outcome.status == RunStatus::interrupted)
    outcome = {result.lost ? RunStatus::diverged : RunStatus::converged,
               fmt::format("stopped in round {}: relative error {:.3g}", outcome.rounds,
                           result.error.back()),
               outcome.rounds, outcome.seconds};
  result.status = outcome.status;
  result.lost = result.lost || result.status == RunStatus::diverged;
  return std::optional<FinishedTrial>{{std::move(result), std::move(*record)}};
}

Result<TrialStore> TrialStore::open(const std::filesystem::path& folder) {
  std::error_code error;
  for (const char* part : {"trials", "records"}) {
    std::filesystem::create_directories(folder / part, error);
    if (error) return Error{folder.string(), "cannot make this folder: " + error.message()};
  }
  return TrialStore(folder);
}

std::filesystem::path TrialStore::path_of(const std::string& key) const {
  return folder_ / "trials" / fmt::format("{:016x}.json", hash(key));
}

std::optional<TrialResult> TrialStore::load(const Trial& trial) const {
  const std::string key = trial.key();
  const auto text = read_file(path_of(key));
  if (!text) return std::nullopt;
  try {  // a file of another shape is not one of ours
    const auto json = nlohmann::json::parse(*text);
    if (json.at("format") != format || json.at("key") != key) return std::nullopt;
    TrialResult result;
    result.status = status_from(json.at("status"));
    result.lost = json.at("lost");
    result.round = numbers_from(json.at("round"));
    result.error = numbers_from(json.at("error"));
    result.seconds = numbers_from(json.at("seconds"));
    result.broadcasts = numbers_from(json.at("broadcasts"));
    const std::size_t size = result.round.size();
    const bool whole = size > 0 && result.error.size() == size && result.seconds.size() == size &&
                       result.broadcasts.size() == size;
    return whole ? std::optional(std::move(result)) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

Status TrialStore::save(const Trial& trial, const FinishedTrial& finished) const {
  const TrialResult& result = finished.result;
  const std::string key = trial.key();
  const nlohmann::json json = {{"format", format},
                               {"key", key},
                               {"status", name_of(result.status)},
                               {"lost", result.lost},
                               {"round", numbers_json(result.round)},
                               {"error", numbers_json(result.error)},
                               {"seconds", numbers_json(result.seconds)},
                               {"broadcasts", numbers_json(result.broadcasts)}};
  if (!trial.record.empty())
    if (Status status = write_file_atomically(folder_ / "records" / (trial.record + ".json"),
                                              to_json(finished.record).dump() + "\n");
        !status)
      return status;
  return write_file_atomically(path_of(key), json.dump() + "\n");
}

}  // namespace grove::experiments
