#include <algorithm>
#include <filesystem>
#include <memory>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/record/json_format.h"
#include "grove/record/summary.h"
#include "grove/train/run.h"
#include "memory.h"
#include "outputs.h"
#include "processes.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct CompareSettings {
  Config config;
  Outputs outputs;
  std::vector<std::pair<std::string, Method>> methods;
};

Option methods_option(std::vector<std::pair<std::string, Method>>& target) {
  return {"methods",
          "a,b,c",
          "methods to compare (all that fit the other options)",
          "Method",
          [&target](std::string_view given) -> Status {
            target.clear();
            Method method{};
            const Option one = choice_option<Method>({"method"}, method, method_names());
            for (std::string_view name : split(given, ',')) {
              if (Status status = one.set(trim(name)); !status) return status;
              target.emplace_back(trim(name), method);
            }
            return success();
          },
          [&target] {
            nlohmann::json names = nlohmann::json::array();
            for (const auto& [name, method] : target) names.push_back(name);
            return names;
          }};
}

/// Without --methods: every method that the other options allow.
void choose_fitting_methods(CompareSettings& settings) {
  for (const auto& [name, method] : method_names()) {
    Config config = settings.config;
    config.method = method;
    if (check(config)) settings.methods.emplace_back(name, method);
  }
}

void note_about(const std::string& method, std::string_view text) {
  print_note(fmt::format("{}: {}", method, text));
}

Result<NamedRuns> run_all(const CompareSettings& settings, Cluster* cluster) {
  Config config = settings.config;
  for (const auto& [name, method] : settings.methods) {
    config.method = method;
    if (Status status = check(config); !status) return status.error();
  }
  leave_on_interrupt();
  const auto problem = prepare(config, cluster);
  if (!problem) return problem.error();
  watch_for_interrupts();
  NamedRuns runs;
  for (const auto& [name, method] : settings.methods) {
    if (cluster ? cluster->allreduce_max(interrupted()) > 0 : interrupted()) break;
    config.method = method;
    if (!settings.config.checkpoint.empty())  // one folder holds the checkpoint of one run
      config.checkpoint = (std::filesystem::path(settings.config.checkpoint) / name).string();
    const bool quiet = settings.outputs.quiet || !is_root();
    ProgressLine line(config, name, quiet);
    RunHooks hooks = terminal_hooks(line);
    if (!quiet) hooks.noted = [&](std::string_view note) { note_about(name, note); };
    auto record = run_prepared(config, *problem, hooks, cluster);
    if (!record) return record.error();
    runs.emplace_back(name, std::move(*record));
  }
  return runs;
}

nlohmann::json runs_json(const NamedRuns& runs) {
  nlohmann::json result = {{"format", "grove-compare/1"}, {"runs", nlohmann::json::array()}};
  for (const auto& [name, record] : runs)
    result["runs"].push_back({{"method", name}, {"record", to_json(record)}});
  return result;
}

Status write_outputs(const Outputs& outputs, const NamedRuns& runs) {
  if (!outputs.record.empty())
    if (Status status = write_file_atomically(outputs.record, json_text(runs_json(runs))); !status)
      return status;
  return outputs.plot.empty() ? success() : write_plot(outputs.plot, runs);
}

/// Some methods may fail where others do not: that is a result. That all did is a failure.
int exit_code_of(const NamedRuns& runs) {
  const auto has_diverged = [](const auto& run) {
    return run.second.outcome.status == RunStatus::diverged;
  };
  if (interrupted()) return ended_by_user;
  return !runs.empty() && std::ranges::all_of(runs, has_diverged) ? diverged : ok;
}

Result<int> report(const CompareSettings& settings, const NamedRuns& runs) {
  if (Status status = write_outputs(settings.outputs, runs); !status) return status.error();
  for (const auto& [name, record] : runs)
    if (record.outcome.status == RunStatus::diverged && !settings.outputs.quiet)
      note_about(name, record.outcome.detail);
  if (settings.outputs.json)
    print_result(json_text(runs_json(runs)));
  else if (!settings.outputs.quiet)
    print_result(comparison_table(runs));
  return exit_code_of(runs);
}

Result<int> compare(CompareSettings& settings) {
  prepare_memory();
  const Status outputs =
      all_ok(is_root() ? check_outputs(settings.outputs, inputs_of(settings.config)) : success());
  if (!outputs) return outputs.error();
  const auto cluster = place_run(settings.config);
  if (!cluster) return cluster.error();
  if (settings.methods.empty()) choose_fitting_methods(settings);
  const auto runs = run_all(settings, *cluster);
  if (!runs) return runs.error();
  return is_root() ? report(settings, *runs) : ok;
}

}  // namespace

Command compare_command() {
  auto settings = std::make_shared<CompareSettings>();
  Command command{.name = "compare",
                  .summary = "run several methods on the same problem",
                  .positionals = {{"data"}},
                  .options = options_of(settings->config),
                  .run = [settings] { return compare(*settings); },
                  .takes_config = true};
  std::erase_if(command.options, [](const Option& option) { return option.name == "method"; });
  command.options.push_back(methods_option(settings->methods));
  add_output_options(settings->outputs, command.options);
  std::erase_if(command.options, [](const Option& option) { return option.name == "model"; });
  return command;
}

}  // namespace grove::app
