#include "tuning.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "grove/base/text.h"
#include "grove/setup/scalar_penalty.h"

namespace grove::app {
namespace {

/// The option that is searched, and the values beside the one that was given.
struct Grid {
  std::string option;
  std::vector<double> values;
};

std::vector<double> multiples(double center, std::initializer_list<double> factors) {
  std::vector<double> values;
  for (const double factor : factors) {
    // Three digits are enough for a search, and can be typed again.
    values.push_back(*parse_double(fmt::format("{:.3g}", center * factor)));
  }
  return values;
}

double largest_smoothness(const Instance& instance) {
  double largest = 0;
  for (const auto& objective : instance.objectives)
    largest = std::max(largest, objective->smoothness());
  return largest > 0 ? largest : 1;
}

/// Gossip methods are stable up to 2/L and often beyond, as L bounds the Hessian everywhere and a
/// run meets only some places; the proximal weight of DRUID-GD is the inverse of a step. Penalties
/// may be off in both directions.
Grid grid_for(const Config& config, const Instance& instance) {
  if (!is_druid(config.method)) {
    const double center = config.step.value_or(1 / largest_smoothness(instance));
    return {"step", multiples(center, {0.5, 2, 4, 8, 16, 32})};
  }
  if (config.method.solves_by(LocalSolverKind::gradient_step))
    return {"prox", multiples(largest_smoothness(instance), {2, 0.5, 0.25, 0.1, 0.05, 0.02})};
  const double center =
      config.penalty.is_auto() || config.penalty.published_form()
          ? automatic_scalar_penalty(*instance.mean, instance.start(), instance.graph)
          : static_cast<double>(config.penalty);
  const bool center_is_tried = !can_publish_weights(config) && !config.penalty.published_form();
  return {"penalty", center_is_tried ? multiples(center, {1. / 27, 1. / 9, 1. / 3, 3, 9, 27})
                                     : multiples(center, {1. / 27, 1. / 9, 1. / 3, 1, 3, 9})};
}

TuningTrial trial_of(std::string value, const RunRecord& record) {
  const TracePoint& last = record.trace.back();
  const bool diverged = record.outcome.status == RunStatus::diverged;
  return {.value = std::move(value),
          .status = record.outcome.status,
          .rounds = record.outcome.rounds,
          .error = diverged ? std::numeric_limits<double>::infinity()
                            : last.relative_error.value_or(last.stationarity)};
}

/// Sorts the better trial first. Errors that are not numbers are worst.
auto rank_of(const TuningTrial& trial) {
  const bool converged = trial.status == RunStatus::converged;
  const double error =
      std::isnan(trial.error) ? std::numeric_limits<double>::infinity() : trial.error;
  return std::tuple(!converged, converged ? static_cast<double>(trial.rounds) : error,
                    trial.rounds);
}

/// The value of an option as the record of a run shows it, after defaults were filled in. A list
/// with a number for every agent is too long for a table.
std::string shown_value(const nlohmann::json& value) {
  if (value.is_string() && value.get<std::string>().find(',') == std::string::npos)
    return value.get<std::string>();
  return value.is_number() ? fmt::format("{:.3g}", value.get<double>()) : "default";
}

}  // namespace

Result<std::optional<Tuning>> tune(Config& config, const PreparedProblem& problem,
                                   const RunHooks& hooks, Cluster* cluster) {
  const Grid grid = grid_for(config, problem.instance);
  static_assert(Tuning::trials_per_method == 1 + 6);
  std::vector<Config> tried(1 + grid.values.size(), config);
  Tuning tuning{.option = grid.option};
  for (std::size_t k = 0; k < tried.size(); ++k) {
    if (k > 0) {
      const auto options = options_of(tried[k]);
      const Option* option = find_option(options, grid.option);
      if (Status status = set_option(*option, exact(grid.values[k - 1])); !status)
        return status.error();
    }
    const auto record = run_prepared(tried[k], problem, hooks, cluster);
    if (!record) return record.error();
    if (record->outcome.status == RunStatus::interrupted) return std::optional<Tuning>{};
    tuning.trials.push_back(trial_of(
        k > 0 ? exact(grid.values[k - 1]) : shown_value(record->config.at(grid.option)), *record));
  }
  const auto best = std::ranges::min_element(tuning.trials, {}, rank_of);
  tuning.best = static_cast<std::size_t>(best - tuning.trials.begin());
  config = tried[tuning.best];
  return std::optional{std::move(tuning)};
}

std::string tuning_text(const Tuning& tuning) {
  std::string text = tuning.option + ":";
  for (std::size_t k = 0; k < tuning.trials.size(); ++k) {
    const TuningTrial& trial = tuning.trials[k];
    std::string result = fmt::format("error {:.1e}", trial.error);
    if (trial.status == RunStatus::converged) result = fmt::format("{} rounds", trial.rounds);
    if (trial.status == RunStatus::diverged) result = "diverged";
    text += fmt::format("{} {} {}{}", k == 0 ? "" : ";", trial.value, result,
                        k == tuning.best ? " (chosen)" : "");
  }
  return text;
}

nlohmann::json to_json(const Tuning& tuning) {
  nlohmann::json json = {{"option", tuning.option},
                         {"chosen", tuning.trials[tuning.best].value},
                         {"trials", nlohmann::json::array()}};
  for (const TuningTrial& trial : tuning.trials)
    json["trials"].push_back(
        {{"value", trial.value},
         {"status", name_of(trial.status)},
         {"rounds", trial.rounds},
         {"error", std::isfinite(trial.error) ? nlohmann::json(trial.error) : nullptr}});
  return json;
}

}  // namespace grove::app
