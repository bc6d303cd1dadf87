#include <cstdio>
#include <memory>

#include "command.h"
#include "experiments/theory_probe.h"
#include "grove/record/json_format.h"
#include "outputs.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct TheorySettings {
  Config config;
  Outputs outputs;
};

Result<int> theory(const TheorySettings& settings) {
  leave_on_interrupt();
  const auto problem = prepare(settings.config);
  if (!problem) return problem.error();
  watch_for_interrupts();
  const auto report = experiments::examine(settings.config, *problem,
                                           {.seconds = monotonic_seconds,
                                            .measured = [](const TracePoint&) {},
                                            .interrupted = interrupted});
  if (!report) return report.error();
  if (settings.outputs.json)
    print_result(json_text(experiments::to_json(*report)));
  else if (!settings.outputs.quiet)
    print_result(experiments::text_of(*report));
  return interrupted() ? ended_by_user : ok;
}

}  // namespace

Command theory_command() {
  auto settings = std::make_shared<TheorySettings>();
  settings->config.links = LinkChoice::all;
  Command command{.name = "theory",
                  .summary = theory_summary,
                  .positionals = {{"data"}},
                  .options = options_of(settings->config),
                  .run = [settings] { return theory(*settings); },
                  .takes_config = true};
  add_quiet_and_json(settings->outputs, command.options);
  return command;
}

}  // namespace grove::app
