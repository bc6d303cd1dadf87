#include <algorithm>
#include <filesystem>
#include <memory>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/record/json_format.h"
#include "outputs.h"

namespace grove::app {
namespace {

struct PlotSettings {
  std::vector<std::string> records;
  Outputs outputs;
};

/// Records of compare hold several runs; those of one method are one series, by seed.
Status add_comparison(const std::string& path, const nlohmann::json& json,
                      std::vector<RunSeries>& series) {
  const std::size_t begin = series.size();
  for (const nlohmann::json& entry : json.at("runs")) {
    auto record = record_from_json(entry.at("record"));
    if (!record) return Error{path, record.error().text()};
    const std::string method = entry.at("method");
    const auto same = std::ranges::find(series.begin() + static_cast<std::ptrdiff_t>(begin),
                                        series.end(), method, &RunSeries::name);
    RunSeries& one = same == series.end() ? series.emplace_back(method) : *same;
    one.runs.push_back(std::move(*record));
  }
  return success();
}

Status add_records(const std::string& path, std::vector<RunSeries>& series) {
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Error{path, "is not JSON; expected a record written by grove train or grove compare"};
  try {  // nlohmann-json reports missing and mistyped fields by exception
    if (has_format(json, "grove-compare/1")) return add_comparison(path, json, series);
  } catch (const nlohmann::json::exception& error) {
    return Error{path, plain_message(error)};
  }
  auto record = record_from_json(json);
  if (!record) return Error{path, record.error().text()};
  series.push_back({std::filesystem::path(path).stem().string(), {std::move(*record)}});
  return success();
}

/// Two curves must not share a name: the later ones get a number.
void make_names_unique(std::vector<RunSeries>& series) {
  for (std::size_t k = 1; k < series.size(); ++k) {
    const std::string name = series[k].name;
    const auto earlier = series.begin() + static_cast<std::ptrdiff_t>(k);
    for (int number = 2;
         std::ranges::find(series.begin(), earlier, series[k].name, &RunSeries::name) != earlier;
         ++number)
      series[k].name = fmt::format("{} ({})", name, number);
  }
}

Result<int> plot(PlotSettings& settings) {
  Outputs& outputs = settings.outputs;
  if (outputs.plot.empty() && outputs.csv.empty()) outputs.plot = "convergence.svg";
  if (Status status = check_outputs(outputs, settings.records); !status) return status.error();
  std::vector<RunSeries> series;
  for (const std::string& path : settings.records)
    if (Status status = add_records(path, series); !status) return status.error();
  make_names_unique(series);
  const bool some_have = std::ranges::any_of(series, [](const RunSeries& one) {
    return std::ranges::any_of(one.runs, [](const auto& run) { return run.reference.has_value(); });
  });
  if (some_have && !all_have_reference(series) && !outputs.quiet)
    print_note("not every record has a centralized optimum, so that stationarity is drawn");
  if (Status status = write_convergence(outputs, series); !status) return status.error();
  if (outputs.quiet) return ok;
  for (const std::string& file : {outputs.plot, outputs.csv})
    if (!file.empty() && std::filesystem::exists(file)) print_result(file + "\n");
  return ok;
}

Option records_option(std::vector<std::string>& target) {
  return {"records",
          "RECORD.json...",
          "records written by grove train --record or grove compare --record",
          "Input",
          [&target](std::string_view given) -> Status {
            target.clear();
            for (const std::string_view path : split(given, argument_end))
              target.emplace_back(path);
            return success();
          },
          [&target] { return nlohmann::json(target); }};
}

}  // namespace

Command plot_command() {
  auto settings = std::make_shared<PlotSettings>();
  Command command{.name = "plot",
                  .summary = "draw the convergence of several run records in one figure",
                  .positionals = {{.option = "records", .required = true, .several = true}},
                  .options = {records_option(settings->records)},
                  .run = [settings] { return plot(*settings); }};
  add_plot_options(settings->outputs, command.options);
  command.options.push_back(
      switch_option({"quiet", "", "print errors only", "Output"}, settings->outputs.quiet));
  return command;
}

}  // namespace grove::app
