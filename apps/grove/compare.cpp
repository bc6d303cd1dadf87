#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/ranges.h>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/record/comparison.h"
#include "grove/record/json_format.h"
#include "grove/train/run.h"
#include "memory.h"
#include "outputs.h"
#include "processes.h"
#include "run_view.h"
#include "terminal.h"
#include "tuning.h"

namespace grove::app {
namespace {

struct CompareSettings {
  Config config;
  Outputs outputs;
  std::vector<std::pair<std::string, Method>> methods;
  std::uint64_t seeds = 1;
  bool tune = false;
};

/// A method that the other options exclude.
struct LeftOut {
  std::string method;
  std::string reason;
};

/// All that a comparison gave. `series` and `tuning` are in the order of the methods.
struct Comparison {
  std::vector<RunSeries> series;
  std::vector<Tuning> tuning;
  std::vector<LeftOut> left_out;
};

Option methods_option(std::vector<std::pair<std::string, Method>>& target) {
  return {"methods",
          "a,b,c",
          "methods to compare (all that fit the other options)",
          "Method",
          [&target](std::string_view given) -> Status {
            target.clear();
            Config one;
            const Option method = *find_option(options_of(one), "method");
            for (std::string_view name : split(given, ',')) {
              if (Status status = method.set(trim(name)); !status) return status;
              target.emplace_back(trim(name), one.method);
            }
            return success();
          },
          [&target] {
            nlohmann::json names = nlohmann::json::array();
            for (const auto& [name, method] : target) names.push_back(name);
            return names;
          }};
}

void note_about(const std::string& method, std::string_view text) {
  print_note(fmt::format("{}: {}", method, text));
}

/// Without --methods: every method that the other options allow. Returns the others.
Result<std::vector<LeftOut>> choose_fitting_methods(CompareSettings& settings) {
  std::vector<LeftOut> left_out;
  Config config = settings.config;
  for (const Method& method : built_in_registry().methods) {
    config.method = method;
    if (const Status fits = check(config))
      settings.methods.emplace_back(method.name(), method);
    else
      left_out.push_back({method.name(), fits.error().text()});
  }
  if (settings.methods.empty()) return Error{"--methods", "no method fits: " + left_out[0].reason};
  return left_out;
}

Status check_methods(const CompareSettings& settings) {
  Config config = settings.config;
  for (const auto& [name, method] : settings.methods) {
    config.method = method;
    if (Status status = check(config); !status) return status;
  }
  return success();
}

/// The runs of all methods, seed after seed.
class Comparing {
 public:
  Comparing(const CompareSettings& settings, Cluster* cluster, RunView* view)
      : settings_(settings),
        cluster_(cluster),
        view_(view),
        quiet_(settings.outputs.quiet || !is_root()) {
    for (const auto& [name, method] : settings.methods) {
      configs_.push_back(settings.config);
      configs_.back().method = method;
      result_.series.push_back({name, {}});
    }
  }

  Result<Comparison> run() {
    for (std::uint64_t k = 0; k < settings_.seeds && !ends(); ++k)
      if (Status status = run_seed(settings_.config.seed + k); !status) return status.error();
    std::erase_if(result_.series, [](const RunSeries& one) { return one.runs.empty(); });
    return std::move(result_);
  }

 private:
  bool ends() const {
    return cluster_ ? cluster_->allreduce_max(interrupted()) > 0 : interrupted();
  }

  Status run_seed(std::uint64_t seed) {
    for (Config& config : configs_) config.seed = seed;
    leave_on_interrupt();
    const auto problem = prepare(configs_[0], cluster_);
    if (!problem) return problem.error();
    watch_for_interrupts();
    for (std::size_t k = 0; k < configs_.size() && !ends(); ++k) {
      if (settings_.tune && seed == settings_.config.seed) {
        const auto tuned = tune_method(k, *problem);
        if (!tuned) return tuned.error();
        if (!*tuned) break;
      }
      if (Status status = run_method(k, *problem); !status) return status;
    }
    return success();
  }

  /// Trials keep no checkpoint: it would be taken for one of the run itself. False: interrupted.
  Result<bool> tune_method(std::size_t k, const PreparedProblem& problem) {
    Config config = configs_[k];
    config.checkpoint.clear();
    ProgressLine line(config, "tune " + result_.series[k].name, quiet_);
    auto tuning = tune(config, problem, terminal_hooks(line), cluster_);
    if (!tuning) return tuning.error();
    if (!*tuning) return false;
    config.checkpoint = configs_[k].checkpoint;
    configs_[k] = config;
    result_.series[k].tuned = (*tuning)->chosen();
    result_.tuning.push_back(std::move(**tuning));
    return true;
  }

  Status run_method(std::size_t k, const PreparedProblem& problem) {
    const std::string& name = result_.series[k].name;
    Config config = configs_[k];
    if (!config.checkpoint.empty()) {  // one folder holds the checkpoint of one run
      std::filesystem::path folder = std::filesystem::path(config.checkpoint) / name;
      if (settings_.seeds > 1) folder /= fmt::format("seed-{}", config.seed);
      config.checkpoint = folder.string();
    }
    const bool several = settings_.seeds > 1;
    const std::string shown = several ? fmt::format("{} seed {}", name, config.seed) : name;
    ProgressLine line(config, shown, quiet_);
    RunHooks hooks = terminal_hooks(line);
    // The notes are about settings, which all seeds share.
    if (!quiet_ && config.seed == settings_.config.seed)
      hooks.noted = [&](std::string_view note) { note_about(name, note); };
    hooks.agents_wanted = !settings_.outputs.report.empty() || settings_.outputs.view;
    if (view_ != nullptr) view_->follow(shown, hooks);
    auto record = run_prepared(config, problem, hooks, cluster_);
    if (!record) return record.error();
    if (view_ != nullptr) view_->runs().complete(to_json(*record));
    result_.series[k].runs.push_back(std::move(*record));
    return success();
  }

  const CompareSettings& settings_;
  Cluster* cluster_;
  RunView* view_;  ///< or null
  bool quiet_;
  std::vector<Config> configs_;  ///< by method; after tuning with the chosen value
  Comparison result_;
};

nlohmann::json to_json(const Comparison& comparison) {
  nlohmann::json result = {{"format", "grove-compare/1"}, {"runs", nlohmann::json::array()}};
  for (const RunSeries& series : comparison.series)
    for (const RunRecord& run : series.runs)
      result["runs"].push_back({{"method", series.name}, {"record", to_json(run)}});
  for (const LeftOut& left_out : comparison.left_out)
    result["left_out"].push_back({{"method", left_out.method}, {"reason", left_out.reason}});
  for (std::size_t k = 0; k < comparison.tuning.size(); ++k) {
    result["tuning"].push_back(to_json(comparison.tuning[k]));
    result["tuning"].back()["method"] = comparison.series[k].name;
  }
  return result;
}

Status write_outputs(const Outputs& outputs, const Comparison& comparison) {
  if (!outputs.record.empty())
    if (Status status = write_file_atomically(outputs.record, json_text(to_json(comparison)));
        !status)
      return status;
  if (Status status = write_report(outputs, "compare", to_json(comparison)); !status) return status;
  return write_convergence(outputs, comparison.series);
}

/// The budget and the rule of the search, and its trials.
std::string tuning_lines(const CompareSettings& settings, const Comparison& comparison) {
  if (comparison.tuning.empty()) return "";
  std::string text = fmt::format(
      "tuning: {} trials per method on seed {}, of at most {} rounds each. Chosen: the value that "
      "converges in the fewest rounds, or else the one with the least {} at the end.\n",
      Tuning::trials_per_method, settings.config.seed, settings.config.rounds,
      all_have_reference(comparison.series) ? "relative error" : "stationarity");
  for (std::size_t k = 0; k < comparison.tuning.size(); ++k)
    text +=
        fmt::format("  {:<14} {}\n", comparison.series[k].name, tuning_text(comparison.tuning[k]));
  return text;
}

/// That some runs diverge is a result; that all did is a failure.
int exit_code_of(const Comparison& comparison) {
  if (interrupted()) return ended_by_user;
  bool any_run = false, any_good = false;
  for (const RunSeries& series : comparison.series)
    for (const RunRecord& run : series.runs) {
      any_run = true;
      any_good = any_good || run.outcome.status != RunStatus::diverged;
    }
  return any_run && !any_good ? diverged : ok;
}

void note_divergence(const Comparison& comparison) {
  for (const RunSeries& series : comparison.series)
    for (const RunRecord& run : series.runs)
      if (run.outcome.status == RunStatus::diverged) {
        note_about(series.name, run.outcome.detail);
        break;  // the same sentence for every seed would hide the table
      }
}

Result<int> report(const CompareSettings& settings, const Comparison& comparison) {
  if (Status status = write_outputs(settings.outputs, comparison); !status) return status.error();
  if (!settings.outputs.quiet) note_divergence(comparison);
  if (settings.outputs.json)
    print_result(json_text(to_json(comparison)));
  else if (!settings.outputs.quiet)
    print_result(comparison_table(comparison.series) + tuning_lines(settings, comparison));
  return exit_code_of(comparison);
}

Result<int> compare(CompareSettings& settings) {
  prepare_memory();
  const Status outputs =
      all_ok(is_root() ? check_outputs(settings.outputs, inputs_of(settings.config)) : success());
  if (!outputs) return outputs.error();
  const auto cluster = place_run(settings.config);
  if (!cluster) return cluster.error();
  std::vector<LeftOut> left_out;
  if (settings.methods.empty()) {
    auto excluded = choose_fitting_methods(settings);
    if (!excluded) return excluded.error();
    left_out = std::move(*excluded);
  }
  if (Status status = check_methods(settings); !status) return status.error();
  if (is_root() && !settings.outputs.quiet)
    for (const LeftOut& one : left_out) note_about(one.method, "left out: " + one.reason);
  auto view = is_root() ? RunView::start(settings.outputs) : std::unique_ptr<RunView>();
  if (const Status status = all_ok(view ? success() : Status(view.error())); !status)
    return status.error();
  auto comparison = Comparing(settings, *cluster, view->get()).run();
  if (!comparison) return comparison.error();
  comparison->left_out = std::move(left_out);
  if (!is_root()) return ok;
  auto code = report(settings, *comparison);
  if (code && *view) (*view)->finish("compare", to_json(*comparison));
  return code;
}

}  // namespace

Command compare_command() {
  auto settings = std::make_shared<CompareSettings>();
  settings->config.safeguard = false;        // a comparison shows what the methods do by themselves
  settings->config.links = LinkChoice::all;  // and all of them on one graph
  Command command{.name = "compare",
                  .summary = "run several methods on the same problem",
                  .positionals = {{"data"}},
                  .options = options_of(settings->config),
                  .run = [settings] { return compare(*settings); },
                  .takes_config = true};
  auto& options = command.options;
  std::erase_if(options, [](const Option& option) { return option.name == "method"; });
  options.push_back(methods_option(settings->methods));
  options.push_back(switch_option(
      {"tune", "",
       fmt::format("search the penalty, the proximal weight (druid-gd) or the step (gossip "
                   "methods) with {} trials per method",
                   Tuning::trials_per_method),
       "Method"},
      settings->tune));
  options.push_back(count_option(
      {"seeds", "N",
       "repeat with seeds S to S+N-1: medians in the table, bands between the quartiles in --plot "
       "(1)",
       "Stopping and measuring"},
      settings->seeds, 1, 10'000));
  add_output_options(settings->outputs, options);
  std::erase_if(options, [](const Option& option) { return option.name == "model"; });
  return command;
}

}  // namespace grove::app
