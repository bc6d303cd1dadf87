#include "fit_figures.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "grove/record/fitted_scores.h"

namespace grove::app {
namespace {

std::string coefficient_name(const CoefficientRow& row) {
  return row.class_name.empty() ? row.name : row.class_name + ": " + row.name;
}

void add_entry(const std::string& source, const CoefficientRow& row, ForestPlot& plot) {
  if (!row.low || !row.high) return;
  plot.entries.push_back({coefficient_name(row), source, row.estimate, *row.low, *row.high});
}

}  // namespace

ForestPlot forest_plot(const FitOptions& options, const FitData& data, const FittedModel& model) {
  ForestPlot plot{.title = fmt::format("{} ({}), {}% intervals", options.formula,
                                       options.family.name(), 100 * options.confidence)};
  const bool by_site = data.designs.size() > 1 && data.designs.size() == data.sites.size();
  const auto sites =
      by_site ? site_estimates(options, data) : std::vector<std::optional<Inference>>();
  for (std::size_t k = 0; k < model.inference.table.size(); ++k) {
    const CoefficientRow& row = model.inference.table[k];
    if (row.name == "Intercept" && model.inference.table.size() > 1) continue;
    for (std::size_t site = 0; site < sites.size(); ++site)
      if (sites[site])
        add_entry(std::filesystem::path(data.sites[site].name).stem().string(),
                  sites[site]->table[k], plot);
    add_entry(plot.network, row, plot);
  }
  return plot;
}

Figure path_figure(const FitData& data, const FitPath& path) {
  Figure figure{.title = "Coefficients of " + data.encoding.formula.text,
                .x_label = "l1 weight",
                .y_label = "coefficient of the standardized column",
                .log_x = true,
                .log_y = false};
  const std::vector<std::string> names = data.column_names();
  const Vector deviations = data.moments.deviations();
  const Index features = data.scaling.features();
  for (Index block = 0; block < data.scaling.blocks; ++block)
    for (Index k = 0; k < features; ++k) {
      Curve curve{.name = names[static_cast<std::size_t>(k)]};
      if (data.scaling.blocks > 1)
        curve.name = data.encoding.classes[static_cast<std::size_t>(block) + 1] + ": " + curve.name;
      for (const PathPoint& point : path.points) {
        curve.x.push_back(point.l1);
        curve.y.push_back(point.coefficients[block * features + k] * deviations[k]);
      }
      figure.curves.push_back(std::move(curve));
    }
  return figure;
}

Figure cross_validation_figure(const CrossValidation& choice) {
  Figure figure{.title = fmt::format("Cross-validation, {} folds inside every site", choice.folds),
                .x_label = "l1 weight",
                .y_label = "deviance per row left out",
                .log_x = true,
                .log_y = false,
                .mark_meaning = "chosen weights"};
  Curve curve{.name = "mean and one standard error", .x = choice.l1, .y = choice.mean};
  for (std::size_t k = 0; k < choice.l1.size(); ++k) {
    curve.low.push_back(choice.mean[k] - choice.std_error[k]);
    curve.high.push_back(choice.mean[k] + choice.std_error[k]);
  }
  const auto mark = [&](std::size_t at, const char* text) {
    curve.marks.push_back({choice.l1[at], choice.mean[at], text});
  };
  mark(choice.best, "best");
  if (choice.one_standard_error != choice.best)
    mark(choice.one_standard_error, "one standard error");
  figure.curves.push_back(std::move(curve));
  return figure;
}

Figure calibration_figure(const FittedModel& model, const Design& design) {
  Figure figure{.title = "Calibration of " + model.encoding.formula.text,
                .x_label = "mean prediction of a group of rows",
                .y_label = "mean response",
                .log_y = false};
  Curve observed{.name = "groups of rows by prediction"}, ideal{.name = "perfect calibration"};
  for (const CalibrationBin& bin : calibration_bins(model, design)) {
    observed.x.push_back(bin.predicted);
    observed.y.push_back(bin.observed);
    ideal.x.push_back(bin.predicted);
    ideal.y.push_back(bin.predicted);
  }
  figure.curves = {std::move(observed), std::move(ideal)};
  return figure;
}

}  // namespace grove::app
