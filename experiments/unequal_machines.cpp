#include "experiments/unequal_machines.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grove/base/text.h"
#include "grove/schedule/machine_options.h"

namespace grove::experiments {
namespace {

constexpr const char* machine_speeds = "extreme:0.1:1";
constexpr const char* message_seconds = "1e-4";
constexpr double most_steps = 10;

std::string proportional_work(const Config& config) {
  const auto speeds = make_speeds(config.speeds, config.agents, config.seed);
  std::string work;
  for (const double speed : *speeds)
    work += fmt::format("{}{:.0f}", work.empty() ? "" : ",", std::max(1.0, most_steps * speed));
  return work;
}

/// Enough for every line that gets there at all.
std::uint64_t rounds_of(WorkMethod method, const WorkRule& rule) {
  const std::uint64_t rounds = method == WorkMethod::paper ? 500 : 100;
  return rule.free_running ? 5 * rounds : rounds;
}

}  // namespace

std::vector<WorkRule> work_rules() {
  std::vector<WorkRule> rules;
  for (const bool free_running : {false, true})
    for (const auto& [name, work] :
         {std::pair{"equal (10)", "equal:10"}, std::pair{"equal (1)", "equal:1"},
          std::pair{"proportional to speed", ""}, std::pair{"automatic", "auto"}})
      rules.push_back({fmt::format("{}, {}", name, free_running ? "free-running" : "lock-step"),
                       work, free_running});
  return rules;
}

std::string name_of(WorkMethod method) {
  return method == WorkMethod::paper ? "linearized" : "matrix-weighted";
}

std::vector<Trial> work_trials(const Scale& scale, WorkMethod method, const WorkRule& rule) {
  std::vector<Trial> trials;
  const Setting picture = settings(scale).back();
  for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
    Trial trial{.config = base_config(scale, picture, seed),
                .stop = {.reached = std::ranges::min(WorkFigure::levels), .lost = 100}};
    Config& config = trial.config;
    config.sampling = SamplingKind::full;
    config.link = LinkKind::edge;
    config.free_running = rule.free_running;
    config.speeds = machine_speeds;
    config.latency = message_seconds;
    config.work = rule.work.empty() ? proportional_work(config) : rule.work;
    config.rounds = rounds_of(method, rule);
    if (method == WorkMethod::paper) {
      config.local_model = LocalModelKind::linearized;
    } else {
      config.penalty = PenaltySpec();
      config.theta_penalty.reset();
      config.prox.reset();
    }
    if (seed == 1) trial.record = file_name({"work", name_of(method), rule.name});
    trials.push_back(std::move(trial));
  }
  return trials;
}

Spread seconds_to(std::span<const TrialResult> seeds, double level) {
  std::vector<double> seconds;
  for (const TrialResult& run : seeds) {
    const auto position = run.first_at(level);
    seconds.push_back(position ? run.seconds[*position] : std::numeric_limits<double>::infinity());
  }
  return spread_of(std::move(seconds));
}

std::string WorkFigure::title() const {
  return fmt::format("Work on unequal machines: {}", method == WorkMethod::paper
                                                         ? "linearized local model, mu_z = 3e-3"
                                                         : "matrix-weighted links");
}

Figure WorkFigure::draw() const {
  Figure figure{.title = title(),
                .x_label = "simulated seconds",
                .y_label = "relative error (median and quartiles over seeds)",
                .log_x = true,
                .mark_meaning = diverged_meaning,
                .curves = {}};
  for (const auto& [rule, seeds] : lines)
    figure.curves.push_back(error_over_time(rule.name, seeds, 120));
  return figure;
}

}  // namespace grove::experiments
