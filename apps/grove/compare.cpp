#include <cstdio>
#include <memory>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/report/summary.h"
#include "grove/run/run.h"
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
              if (const Status status = one.set(trim(name)); !status) return status;
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

Result<NamedRuns> run_all(const CompareSettings& settings, Cluster* cluster) {
  Config config = settings.config;
  for (const auto& [name, method] : settings.methods) {
    config.method = method;
    if (const Status status = check(config); !status) return status.error();
  }
  const auto problem = prepare(config, cluster);
  if (!problem) return problem.error();
  NamedRuns runs;
  for (const auto& [name, method] : settings.methods) {
    if (cluster ? cluster->largest(interrupted()) > 0 : interrupted()) break;
    config.method = method;
    ProgressLine line(config, name, settings.outputs.quiet || !speaks());
    auto record = run_prepared(config, *problem, terminal_hooks(line), cluster);
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

int report(const CompareSettings& settings, const NamedRuns& runs) {
  if (settings.outputs.json)
    fmt::print("{}\n", runs_json(runs).dump(1));
  else if (!settings.outputs.quiet)
    fmt::print("{}", comparison_table(runs));
  for (const auto& [name, record] : runs)
    for (const std::string& note : record.notes)
      if (!settings.outputs.quiet) fmt::print(stderr, "note: {}: {}\n", name, note);
  if (!settings.outputs.record.empty())
    if (const Status status =
            write_file_atomically(settings.outputs.record, runs_json(runs).dump(1) + "\n");
        !status)
      return fail(status.error());
  if (!settings.outputs.plot.empty() && !runs.empty())
    if (const Status status = write_plot(settings.outputs.plot, runs); !status)
      return fail(status.error());
  return ok;
}

int compare(CompareSettings& settings) {
  const Status outputs = together(speaks() ? check_outputs(settings.outputs) : success());
  if (!outputs) return fail(outputs.error());
  const auto cluster = place_run(settings.config);
  if (!cluster) return fail(cluster.error());
  if (settings.methods.empty()) choose_fitting_methods(settings);
  watch_for_interrupts();
  const auto runs = run_all(settings, *cluster);
  if (!runs) return fail(runs.error());
  return speaks() ? report(settings, *runs) : ok;
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
