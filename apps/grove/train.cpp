#include <cassert>
#include <cstdio>
#include <memory>

#include "command.h"
#include "grove/base/printable.h"
#include "grove/record/json_format.h"
#include "grove/record/summary.h"
#include "grove/setup/loss_option.h"
#include "grove/train/run.h"
#include "memory.h"
#include "outputs.h"
#include "processes.h"
#include "run_view.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct TrainSettings {
  Config config;
  Outputs outputs;
};

Model model_of(const Config& config, const RunRecord& record) {
  Loss loss = config.loss;
  if (std::holds_alternative<HuberLoss>(loss)) {  // in the units of the targets
    [[maybe_unused]] const Status known = loss_option(loss).set(record.problem.loss);
    assert(known);
  }
  Model model{.version = record.version,
              .loss = std::move(loss),
              .coefficients = record.solution.head(static_cast<Index>(record.problem.features)),
              .labels = record.problem.labels,
              .columns = record.problem.columns,
              .l1 = config.l1,
              .l2 = config.l2,
              .objective = record.objective,
              .gap_bound = record.outcome.gap_bound};
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
  if (Status status = write_report(outputs, settings.config.method.name(), to_json(record));
      !status)
    return status;
  if (outputs.plot.empty() && outputs.csv.empty()) return success();
  return write_convergence(outputs, {{settings.config.method.name(), {record}}});
}

int exit_code(RunStatus status) {
  if (status == RunStatus::diverged) return diverged;
  return status == RunStatus::interrupted ? ended_by_user : ok;
}

Result<int> report(const TrainSettings& settings, const RunRecord& record) {
  if (Status status = write_outputs(settings, record); !status) return status.error();
  if (settings.outputs.json)
    print_result(json_text(to_json(record)));
  else if (!settings.outputs.quiet)
    print_result(summary_text(record));
  if (record.outcome.status == RunStatus::diverged)
    fmt::print(stderr, "grove: {}\n", printable(record.outcome.detail));
  return exit_code(record.outcome.status);
}

Result<int> train(TrainSettings& settings) {
  prepare_memory();
  const Status outputs =
      all_ok(is_root() ? check_outputs(settings.outputs, inputs_of(settings.config)) : success());
  if (!outputs) return outputs.error();
  const auto cluster = place_run(settings.config);
  if (!cluster) return cluster.error();
  auto view = is_root() ? RunView::start(settings.outputs) : std::unique_ptr<RunView>();
  if (const Status status = all_ok(view ? success() : Status(view.error())); !status)
    return status.error();
  leave_on_interrupt();
  const auto problem = prepare(settings.config, *cluster);
  if (!problem) return problem.error();
  watch_for_interrupts();
  const auto record = [&] {
    const bool quiet = settings.outputs.quiet || !is_root();
    ProgressLine line(settings.config, "train", quiet);
    RunHooks hooks = terminal_hooks(line);
    if (!quiet) hooks.noted = print_note;
    hooks.agents_wanted = !settings.outputs.report.empty() || settings.outputs.view;
    if (*view) (*view)->follow(settings.config.method.name(), hooks);
    return run_prepared(settings.config, *problem, hooks, *cluster);
  }();
  if (!record) return record.error();
  if (!is_root()) return ok;
  auto code = report(settings, *record);
  if (code && *view) (*view)->finish(settings.config.method.name(), to_json(*record));
  return code;
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
