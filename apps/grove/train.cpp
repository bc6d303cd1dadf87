#include <cstdio>
#include <memory>

#include "command.h"
#include "grove/report/summary.h"
#include "grove/run/run.h"
#include "outputs.h"
#include "processes.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct TrainSettings {
  Config config;
  Outputs outputs;
};

Model model_of(const Config& config, const RunRecord& record) {
  Model model{.version = record.version,
              .loss = config.loss,
              .coefficients = record.solution.head(static_cast<Index>(record.problem.features)),
              .labels = record.problem.labels,
              .l1 = config.l1,
              .l2 = config.l2,
              .objective = record.objective};
  if (config.intercept) model.intercept = record.solution[record.solution.size() - 1];
  return model;
}

Status write_outputs(const TrainSettings& settings, const RunRecord& record) {
  const Outputs& outputs = settings.outputs;
  if (!outputs.record.empty())
    if (Status status = write_record(outputs.record, record); !status) return status;
  // A diverged run has no model worth keeping.
  if (!outputs.model.empty() && record.outcome.status != RunStatus::diverged)
    if (Status status = write_model(outputs.model, model_of(settings.config, record)); !status)
      return status;
  if (!outputs.plot.empty())
    return write_plot(outputs.plot, {{name_of(settings.config.method), record}});
  return success();
}

int report(const TrainSettings& settings, const RunRecord& record) {
  if (settings.outputs.json)
    fmt::print("{}\n", to_json(record).dump(1));
  else if (!settings.outputs.quiet)
    fmt::print("{}", summary_text(record));
  if (const Status status = write_outputs(settings, record); !status) return fail(status.error());
  if (record.outcome.status != RunStatus::diverged) return ok;
  fmt::print(stderr, "grove: {}\n", record.outcome.detail);
  return diverged;
}

int train(TrainSettings& settings) {
  const Status outputs = together(speaks() ? check_outputs(settings.outputs) : success());
  if (!outputs) return fail(outputs.error());
  const auto cluster = place_run(settings.config);
  if (!cluster) return fail(cluster.error());
  watch_for_interrupts();
  const auto record = [&] {
    ProgressLine line(settings.config, "train", settings.outputs.quiet || !speaks());
    return run(settings.config, terminal_hooks(line), *cluster);
  }();
  if (!record) return fail(record.error());
  return speaks() ? report(settings, *record) : ok;
}

}  // namespace

Command train_command() {
  auto settings = std::make_shared<TrainSettings>();
  Command command{.name = "train",
                  .summary = "train a model over a network of agents",
                  .positionals = {{"data"}},
                  .options = options_of(settings->config),
                  .run = [settings] { return train(*settings); },
                  .takes_config = true};
  add_output_options(settings->outputs, command.options);
  return command;
}

}  // namespace grove::app
