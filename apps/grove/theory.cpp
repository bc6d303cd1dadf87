#include <cstdio>
#include <memory>

#include "command.h"
#include "experiments/theory_probe.h"
#include "outputs.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct TheorySettings {
  Config config;
  Outputs outputs;
};

Result<int> theory(const TheorySettings& settings) {
  watch_for_interrupts();
  if (Status status = check(settings.config); !status) return status.error();
  const auto report = experiments::examine(settings.config, {.seconds = monotonic_seconds,
                                                             .measured = [](const TracePoint&) {},
                                                             .interrupted = interrupted});
  if (!report) return report.error();
  if (settings.outputs.json)
    fmt::print("{}\n", experiments::to_json(*report).dump(1));
  else if (!settings.outputs.quiet)
    fmt::print("{}", experiments::text_of(*report));
  return ok;
}

}  // namespace

Command theory_command() {
  auto settings = std::make_shared<TheorySettings>();
  Command command{.name = "theory",
                  .summary = "Theorem 1 and Corollary 1 evaluated on an instance, beside a run",
                  .positionals = {{"data"}},
                  .options = options_of(settings->config),
                  .run = [settings] { return theory(*settings); },
                  .takes_config = true};
  add_quiet_and_json(settings->outputs, command.options);
  return command;
}

}  // namespace grove::app
