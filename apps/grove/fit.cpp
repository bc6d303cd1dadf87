#include <memory>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/record/json_format.h"
#include "grove/train/fit.h"
#include "memory.h"
#include "outputs.h"
#include "processes.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct FitSettings {
  FitSettings() {
    config.no_reference = true;  // sites have no common optimum to compare with
    config.weighting = Weighting::sample;
  }

  Config config;
  FitOptions fit;
  std::string separator;
  bool no_header = false;
  Outputs outputs;
};

Option list_option(const OptionText& text, std::vector<std::string>& target, char separator) {
  return {text.name,
          text.value,
          text.help,
          text.group,
          [&target, separator](std::string_view given) -> Status {
            target.clear();
            for (const std::string_view part : split(given, separator))
              if (!trim(part).empty()) target.emplace_back(trim(part));
            return success();
          },
          [&target]() -> nlohmann::json { return target; }};
}

Option family_option(Family& target) {
  return {"family",
          "gaussian | binomial | poisson | gamma | negative-binomial:THETA | multinomial | cox | "
          "huber[:DELTA] | squared-hinge",
          "distribution of the response (gaussian)",
          "Model",
          [&target](std::string_view given) -> Status {
            const auto family = Family::parse(given);
            if (!family) return family.error();
            target = *family;
            return success();
          },
          [&target]() -> nlohmann::json { return target.name(); }};
}

Status write_outputs(const FitSettings& settings, const Fit& fit) {
  const Outputs& outputs = settings.outputs;
  if (!outputs.record.empty()) {
    nlohmann::json record = to_json(fit.record);
    record["table"] = table_json(fit.model.inference.table);
    record["inference"] = inference_json(fit.model.inference);
    for (const FittedSite& site : fit.model.sites)
      record["sites"].push_back(
          {{"name", site.name}, {"rows", site.rows}, {"dropped", site.dropped}});
    if (Status status = write_file_atomically(outputs.record, json_text(record)); !status)
      return status;
  }
  if (!outputs.model.empty())
    return write_file_atomically(outputs.model, json_text(to_json(fit.model)));
  return success();
}

Result<int> run_fit(FitSettings& settings) {
  prepare_memory();
  FitOptions& options = settings.fit;
  options.table.has_header = !settings.no_header;
  if (const Status status = check_outputs(settings.outputs, options.sites); !status)
    return status.error();
  if (settings.config.runtime == RuntimeKind::mpi)
    return Error{"--runtime", "fit runs in the simulator; expected simulator"};
  if (settings.config.agents_given && options.sites.size() > 1 &&
      settings.config.agents != options.sites.size())
    return Error{"--agents", fmt::format("one file is one agent: expected {}, found {}",
                                         options.sites.size(), settings.config.agents)};
  const auto data = read_fit_data(options, settings.config);
  if (!data) return data.error();
  const bool quiet = settings.outputs.quiet;
  if (!quiet)
    for (const std::string& note : data->notes) print_note(note);
  watch_for_interrupts();
  const auto result = [&] {
    ProgressLine line(settings.config, "fit", quiet);
    RunHooks hooks = terminal_hooks(line);
    if (!quiet) hooks.noted = print_note;
    return fit(options, settings.config, *data, hooks);
  }();
  if (!result) return result.error();
  if (Status status = write_outputs(settings, *result); !status) return status.error();
  if (settings.outputs.json)
    print_result(json_text(to_json(result->model)));
  else if (!quiet)
    print_result(summary_text(result->model));
  return result->record.outcome.status == RunStatus::interrupted ? ended_by_user : ok;
}

void add_table_options(FitSettings& settings, std::vector<Option>& options) {
  const std::string table = "Tables", model = "Model";
  FitOptions& fit = settings.fit;
  options.push_back(
      text_option({"formula", "FORMULA", "RESPONSE ~ TERMS, as in R", model}, fit.formula));
  options.push_back(
      list_option({"sites", "FILE",
                   "tables (CSV, also .gz, .dta, .sav), one a site; - is standard input", table},
                  fit.sites, argument_end));
  options.push_back(family_option(fit.family));
  options.push_back(choice_option<MissingPolicy>(
      {"missing", "", "what happens to rows with missing cells (drop)", table}, fit.roles.missing,
      {{"drop", MissingPolicy::drop},
       {"refuse", MissingPolicy::refuse},
       {"mean", MissingPolicy::mean},
       {"indicator", MissingPolicy::indicator}}));
  options.push_back(
      list_option({"columns", "a,b", "columns that . stands for (all)", table}, fit.columns, ','));
  options.push_back(
      list_option({"ignore", "a,b", "columns that . does not stand for", table}, fit.ignore, ','));
  options.push_back(
      switch_option({"no-header", "", "tables have no header; columns are V1, V2, ...", table},
                    settings.no_header));
  options.push_back(
      text_option({"weights", "COLUMN", "weights of rows (1)", model}, fit.roles.weights));
  options.push_back(text_option({"offset", "COLUMN", "added to the linear predictor (none)", model},
                                fit.roles.offset));
  options.push_back(text_option(
      {"class-weight", "balanced | a,b,...", "weights of the classes, in their order (1)", model},
      fit.class_weight));
  options.push_back(choice_option<Ties>({"ties", "", "events at one time, of cox (efron)", model},
                                        fit.ties,
                                        {{"efron", Ties::efron}, {"breslow", Ties::breslow}}));
  options.push_back(switch_option({"standardize", "",
                                   "penalties act on standardized columns; coefficients are "
                                   "reported in the units of the tables",
                                   model},
                                  fit.standardize));
  options.push_back(
      switch_option({"robust", "", "sandwich standard errors (HC0)", model}, fit.robust));
  options.push_back(number_option({"confidence", "C", "level of the intervals (0.95)", model},
                                  fit.confidence,
                                  Range{.low = 0, .high = 1, .low_open = true, .high_open = true}));
}

}  // namespace

Command fit_command() {
  auto settings = std::make_shared<FitSettings>();
  Command command{.name = "fit",
                  .summary = "fit a generalized linear model over tables of several sites",
                  .positionals = {{"formula", true}, {"sites", true, true}},
                  .run = [settings] { return run_fit(*settings); },
                  .takes_config = true};
  add_table_options(*settings, command.options);
  for (Option& option : options_of(settings->config))
    if (option.name != "data" && option.name != "shards" && option.name != "label-column" &&
        option.name != "loss" && option.name != "weighting" && option.name != "intercept" &&
        option.name != "samples")
      command.options.push_back(std::move(option));
  add_output_options(settings->outputs, command.options);
  return command;
}

}  // namespace grove::app
