#include <memory>

#include "command.h"
#include "fit_figures.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/record/fitted_scores.h"
#include "grove/record/json_format.h"
#include "grove/train/fit_options.h"
#include "grove/train/fit_path.h"
#include "memory.h"
#include "outputs.h"
#include "predict_table.h"
#include "processes.h"
#include "run_view.h"
#include "terminal.h"

namespace grove::app {
namespace {

enum class FitPicture { automatic, convergence, forest, path, cross_validation, calibration };
enum class ChoiceRule { best, one_standard_error };

struct FitSettings {
  Config config = default_fit_config();
  FitOptions fit;
  bool no_header = false;
  std::uint64_t path = 0;   ///< weights; 0: none
  std::uint64_t folds = 0;  ///< 0: no cross-validation
  ChoiceRule rule = ChoiceRule::one_standard_error;
  std::string warm_start, test;
  FitPicture picture = FitPicture::automatic;
  Outputs outputs;

  bool chooses() const { return path > 0 || folds > 0; }
};

/// The method that ran, where `auto` chose it.
std::string method_name(const RunRecord& record) {
  return record.config.value("method", std::string());
}

/// All that a fit has found.
struct FitResults {
  Fit fit;
  std::optional<FitPath> path;
  std::optional<CrossValidation> choice;
  std::optional<Design> test;
  std::vector<std::pair<std::string, double>> scores;
};

Result<FittedModel> read_fitted(const std::string& flag, const std::string& path) {
  const auto text = read_file(path);
  if (!text) return Error{flag, text.error().text()};
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Error{flag, path + " is not JSON; expected a model of grove fit"};
  auto model = fitted_model_from_json(json);
  if (!model) return Error{flag, path + ": " + model.error().text()};
  return model;
}

nlohmann::json selection_json(const FitResults& results) {
  nlohmann::json json;
  if (results.path) {
    json["null_deviance"] = results.path->null_deviance;
    for (const PathPoint& point : results.path->points)
      json["path"].push_back({{"l1", point.l1},
                              {"nonzeros", point.nonzeros},
                              {"deviance", point.deviance},
                              {"rounds", point.rounds},
                              {"converged", point.converged},
                              {"coefficients", std::vector<double>(point.coefficients.begin(),
                                                                   point.coefficients.end())}});
  }
  if (const auto& choice = results.choice)
    json["cross_validation"] = {{"folds", choice->folds},
                                {"l1", choice->l1},
                                {"mean", choice->mean},
                                {"std_error", choice->std_error},
                                {"best", choice->l1[choice->best]},
                                {"one_standard_error", choice->l1[choice->one_standard_error]}};
  return json;
}

/// Fits the path, chooses a weight, and writes it to config.l1.
Status choose_weight(FitSettings& settings, const FitData& data, const RunHooks& hooks,
                     FitResults& results) {
  constexpr std::uint64_t usual_path = 50;
  Config& config = settings.config;
  const std::uint64_t count = settings.path > 0 ? settings.path : usual_path;
  const std::vector<double> weights = path_weights(data, config.l2, count);
  if (!(weights.front() > 0))
    return Error{"--path", "no l1 weight makes a difference: all gradients are zero"};
  auto path = fit_path(settings.fit, config, data, weights, hooks);
  if (!path) return path.error();
  results.path = std::move(*path);
  if (settings.folds == 0) {
    if (config.l1 == 0) config.l1 = weights.back();
    return success();
  }
  auto choice = cross_validate(settings.fit, config, data, weights, settings.folds, hooks);
  if (!choice) return choice.error();
  config.l1 =
      weights[settings.rule == ChoiceRule::best ? choice->best : choice->one_standard_error];
  results.choice = std::move(*choice);
  return success();
}

Status score_test(const FitSettings& settings, const FittedModel& model, FitResults& results) {
  const auto table = read_table(settings.test, settings.fit.table);
  if (!table) return Error{"--test", table.error().text()};
  auto design = make_design(*table, model.encoding);
  if (!design) return Error{"--test", design.error().text()};
  results.scores = score(model, *design).named();
  results.test = std::move(*design);
  return success();
}

Result<FitResults> find_fit(FitSettings& settings, const FitData& data, const RunHooks& hooks) {
  FitResults results;
  std::optional<Vector> start;
  if (!settings.warm_start.empty()) {
    const auto earlier = read_fitted("--warm-start", settings.warm_start);
    if (!earlier) return earlier.error();
    start = start_from(*earlier, data);
  }
  if (settings.chooses())
    if (Status status = choose_weight(settings, data, hooks, results); !status)
      return status.error();
  auto found = fit(settings.fit, settings.config, data, hooks, start);
  if (!found) return found.error();
  results.fit = std::move(*found);
  FittedModel& model = results.fit.model;
  model.selection = selection_json(results);
  if (settings.test.empty()) return results;
  if (Status status = score_test(settings, model, results); !status) return status.error();
  for (const auto& [key, value] : results.scores) model.test[key] = value;
  return results;
}

FitPicture picture_of(const FitSettings& settings) {
  if (settings.picture != FitPicture::automatic) return settings.picture;
  if (settings.folds > 0) return FitPicture::cross_validation;
  return settings.path > 0 ? FitPicture::path : FitPicture::forest;
}

Status draw_results(const FitSettings& settings, const FitData& data, const FitResults& results) {
  const std::string& file = settings.outputs.plot;
  const Error lacking{"--plot-of",
                      "there is no such result; expected forest, or --path, --cv or "
                      "--test beside it"};
  switch (picture_of(settings)) {
    case FitPicture::forest: {
      const ForestPlot plot = forest_plot(settings.fit, data, results.fit.model);
      if (plot.entries.empty())
        return Error{"--plot", "a forest plot shows intervals, and there are none: " +
                                   results.fit.model.inference.reason};
      return draw(plot, file);
    }
    case FitPicture::path:
      return results.path ? draw(path_figure(data, *results.path), file) : lacking;
    case FitPicture::cross_validation:
      return results.choice ? draw(cross_validation_figure(*results.choice), file) : lacking;
    case FitPicture::calibration:
      return results.test ? draw(calibration_figure(results.fit.model, *results.test), file)
                          : lacking;
    case FitPicture::automatic:
    case FitPicture::convergence:
      break;
  }
  Outputs curves = settings.outputs;
  curves.csv.clear();
  return write_convergence(curves, {{method_name(results.fit.record), {results.fit.record}}});
}

/// The record with the table and the sites of the model.
nlohmann::json record_json(const Fit& fit) {
  nlohmann::json record = to_json(fit.record);
  record["table"] = table_json(fit.model.inference.table);
  record["inference"] = inference_json(fit.model.inference);
  for (const FittedSite& site : fit.model.sites)
    record["sites"].push_back(
        {{"name", site.name}, {"rows", site.rows}, {"dropped", site.dropped}});
  return record;
}

/// The record with all that the view shows of a fit.
nlohmann::json shown_json(const FitData& data, const FitResults& results) {
  nlohmann::json shown = record_json(results.fit);
  shown["selection"] = results.fit.model.selection;
  shown["coefficient_names"] = data.column_names();
  return shown;
}

Status write_outputs(const FitSettings& settings, const FitData& data, const FitResults& results) {
  const Outputs& outputs = settings.outputs;
  const FittedModel& model = results.fit.model;
  nlohmann::json record = record_json(results.fit);
  if (!outputs.report.empty())
    if (Status status = write_report(outputs, settings.fit.formula, shown_json(data, results));
        !status)
      return status;
  if (!outputs.record.empty()) {
    if (Status status = write_file_atomically(outputs.record, json_text(record)); !status)
      return status;
  }
  if (!outputs.model.empty())
    if (Status status = write_file_atomically(outputs.model, json_text(to_json(model))); !status)
      return status;
  if (!outputs.csv.empty()) {
    Outputs trace = outputs;
    trace.plot.clear();
    const RunRecord& run = results.fit.record;
    if (Status status = write_convergence(trace, {{method_name(run), {run}}}); !status)
      return status;
  }
  return outputs.plot.empty() ? success() : draw_results(settings, data, results);
}

std::string choice_text(const FitResults& results) {
  std::string text;
  if (results.path) {
    text += fmt::format("{:>14} {:>9} {:>12}{}\n", "l1", "non-zero", "explained",
                        results.choice ? "  deviance left out" : "");
    const FitPath& path = *results.path;
    for (std::size_t k = 0; k < path.points.size(); ++k) {
      const PathPoint& point = path.points[k];
      text += fmt::format("{:>14.6g} {:>9} {:>11.2f}%", point.l1, point.nonzeros,
                          100 * (1 - point.deviance / path.null_deviance));
      if (const auto& choice = results.choice) {
        text += fmt::format("  {:.5g} +- {:.2g}", choice->mean[k], choice->std_error[k]);
        if (k == choice->best) text += "  best";
        if (k == choice->one_standard_error) text += "  one standard error";
      }
      text += "\n";
    }
    text += "\n";
  }
  return text;
}

std::string results_text(const FitSettings& settings, const FitResults& results) {
  std::string text = choice_text(results) + summary_text(results.fit.model);
  if (!results.scores.empty())
    text += fmt::format("\nOn {}:\n{}", settings.test, scores_text(results.scores));
  return text;
}

Status check_settings(const FitSettings& settings) {
  const FitOptions& options = settings.fit;
  if (Status status = check_outputs(settings.outputs, options.sites); !status) return status;
  if (settings.config.agents_given && options.sites.size() > 1 &&
      settings.config.agents != options.sites.size())
    return Error{"--agents", fmt::format("one file is one agent: expected {}, found {}",
                                         options.sites.size(), settings.config.agents)};
  const FitPicture picture = picture_of(settings);
  if (settings.config.runtime == RuntimeKind::mpi && !settings.outputs.plot.empty() &&
      picture == FitPicture::forest)
    return Error{"--plot-of",
                 "a forest plot needs the tables of all sites in one process; expected "
                 "convergence under MPI"};
  if (settings.folds == 1) return Error{"--cv", "expected at least 2 folds"};
  return success();
}

Result<int> run_fit(FitSettings& settings) {
  prepare_memory();
  settings.fit.table.has_header = !settings.no_header;
  if (const Status status = all_ok(is_root() ? check_settings(settings) : success()); !status)
    return status.error();
  const bool agents_given = settings.config.agents_given;
  settings.config.agents =
      std::max<std::uint64_t>(settings.config.agents, settings.fit.sites.size());
  const auto cluster = place_run(settings.config);
  if (!cluster) return cluster.error();
  settings.config.agents_given = agents_given;
  Config reading = settings.config;
  if (settings.chooses()) reading.l1 = 1;  // the columns of a penalized fit
  const auto data = read_fit_data(settings.fit, reading, *cluster);
  if (!data) return data.error();
  const bool quiet = settings.outputs.quiet || !is_root();
  if (!quiet)
    for (const std::string& note : data->notes) print_note(note);
  auto view = is_root() ? RunView::start(settings.outputs) : std::unique_ptr<RunView>();
  if (const Status status = all_ok(view ? success() : Status(view.error())); !status)
    return status.error();
  watch_for_interrupts();
  const auto results = [&] {
    ProgressLine line(settings.config, "fit", quiet);
    RunHooks hooks = terminal_hooks(line);
    if (!quiet && !settings.chooses()) hooks.noted = print_note;
    hooks.agents_wanted = !settings.outputs.report.empty() || settings.outputs.view;
    if (*view) (*view)->follow(settings.fit.formula, hooks);
    return find_fit(settings, *data, hooks);
  }();
  if (!results) return results.error();
  if (!is_root()) return ok;
  if (Status status = write_outputs(settings, *data, *results); !status) return status.error();
  if (settings.outputs.json)
    print_result(json_text(to_json(results->fit.model)));
  else if (!quiet)
    print_result(results_text(settings, *results));
  if (*view) (*view)->finish(settings.fit.formula, shown_json(*data, *results));
  return results->fit.record.outcome.status == RunStatus::interrupted ? ended_by_user : ok;
}

void add_file_options(FitSettings& settings, std::vector<Option>& options) {
  const std::string table = "Tables";
  options.push_back(
      list_option({"sites", "FILE",
                   "tables (CSV, also .gz, .dta, .sav), one a site; - is standard input", table},
                  settings.fit.sites, argument_end));
  options.push_back(
      switch_option({"no-header", "", "tables have no header; columns are V1, V2, ...", table},
                    settings.no_header));
}

void add_choice_options(FitSettings& settings, std::vector<Option>& options) {
  const std::string choice = "Choosing and judging";
  options.push_back(
      count_option({"path", "K", "fit K l1 weights from the largest useful one downwards", choice},
                   settings.path, 1, 10'000));
  options.push_back(count_option(
      {"cv", "K", "choose the l1 weight by cross-validation, K folds inside every site", choice},
      settings.folds, 2, 1000));
  options.push_back(choice_option<ChoiceRule>(
      {"rule", "",
       "weight with the least deviance, or the largest within one standard error of it "
       "(one-se)",
       choice},
      settings.rule, {{"best", ChoiceRule::best}, {"one-se", ChoiceRule::one_standard_error}}));
  options.push_back(text_option({"warm-start", "MODEL.json", "start at an earlier model", choice},
                                settings.warm_start));
  options.push_back(
      text_option({"test", "FILE", "judge the model on this table", choice}, settings.test));
  options.push_back(choice_option<FitPicture>(
      {"plot-of", "", "what --plot draws (auto: cv with --cv, path with --path, else forest)",
       "Output"},
      settings.picture,
      {{"auto", FitPicture::automatic},
       {"forest", FitPicture::forest},
       {"path", FitPicture::path},
       {"cv", FitPicture::cross_validation},
       {"calibration", FitPicture::calibration},
       {"convergence", FitPicture::convergence}}));
}

}  // namespace

Command fit_command() {
  auto settings = std::make_shared<FitSettings>();
  Command command{.name = "fit",
                  .summary = "fit a generalized linear model over tables of several sites",
                  .positionals = {{"formula", true}, {"sites", true, true}},
                  .run = [settings] { return run_fit(*settings); },
                  .takes_config = true};
  command.options = options_of(settings->fit, settings->config);
  add_file_options(*settings, command.options);
  add_choice_options(*settings, command.options);
  add_output_options(settings->outputs, command.options);
  return command;
}

}  // namespace grove::app
