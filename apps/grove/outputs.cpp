#include "outputs.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include "grove/base/file.h"
#include "grove/base/printable.h"
#include "grove/record/json_format.h"
#include "grove/record/plot.h"
#include "grove/view/page.h"
#include "grove/view/runs.h"

namespace grove::app {

void add_quiet_and_json(Outputs& outputs, std::vector<Option>& options) {
  options.push_back(switch_option({"quiet", "", "print errors only", "Output"}, outputs.quiet));
  options.push_back(
      switch_option({"json", "", "print JSON on standard output", "Output"}, outputs.json));
}

void add_plot_options(Outputs& outputs, std::vector<Option>& options) {
  options.push_back(text_option({"plot", "FILE.svg|.png|.pdf|.csv",
                                 "draw convergence; .csv: write the drawn curves", "Output"},
                                outputs.plot));
  options.push_back(text_option(
      {"csv", "FILE.csv", "write every measured round of every run", "Output"}, outputs.csv));
  options.push_back(choice_option<PlotAxis>(
      {"x", "",
       "what --plot draws convergence over: rounds, bytes sent, seconds (simulated ones if there "
       "are any) or gradients of single samples (auto: simulated seconds or rounds)",
       "Output"},
      outputs.x,
      {{"auto", PlotAxis::automatic},
       {"rounds", PlotAxis::rounds},
       {"bytes", PlotAxis::bytes},
       {"seconds", PlotAxis::seconds},
       {"gradients", PlotAxis::gradients}}));
}

void add_report_option(Outputs& outputs, std::vector<Option>& options) {
  options.push_back(
      text_option({"report", "FILE.html", "write a page that shows the run in a browser", "Output"},
                  outputs.report));
}

void add_listen_option(Outputs& outputs, std::vector<Option>& options) {
  options.push_back(text_option(
      {"listen", "HOST:PORT", "where the view is served (127.0.0.1, any free port)", "Output"},
      outputs.listen));
}

void add_view_options(Outputs& outputs, std::vector<Option>& options) {
  options.push_back(switch_option(
      {"view", "", "show it in a browser while it goes on, and until Ctrl-C", "Output"},
      outputs.view));
  add_listen_option(outputs, options);
}

void add_output_options(Outputs& outputs, std::vector<Option>& options) {
  options.push_back(
      text_option({"record", "FILE.json", "write the run record", "Output"}, outputs.record));
  options.push_back(
      text_option({"model", "FILE.json", "write the model", "Output"}, outputs.model));
  add_plot_options(outputs, options);
  add_report_option(outputs, options);
  add_view_options(outputs, options);
  add_quiet_and_json(outputs, options);
}

void print_result(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if ((!written || std::fflush(stdout) != 0) && errno != EPIPE)
    throw std::system_error(errno, std::generic_category(), "standard output");
}

void print_note(std::string_view text) {
  const std::string line = fmt::format("note: {}\n", printable(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

Status check_not_input(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code ignored;  // a file that does not exist cannot be lost
  for (const std::string& input : inputs)
    if (std::filesystem::is_regular_file(output, ignored) &&
        std::filesystem::equivalent(output, input, ignored))
      return Error{output, "is an input of this command; expected another name"};
  return success();
}

std::vector<std::string> inputs_of(const Config& config) {
  return {config.data, config.graph.text(), config.partition.text()};
}

Status check_outputs(const Outputs& outputs, const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  std::set<fs::path> taken;
  std::error_code ignored;
  for (const auto& [flag, name] : {std::pair{"--record", outputs.record},
                                   {"--model", outputs.model},
                                   {"--plot", outputs.plot},
                                   {"--csv", outputs.csv},
                                   {"--report", outputs.report}}) {
    if (name.empty()) continue;
    if (Status status = check_writable(name); !status) return Error{flag, status.error().text()};
    if (Status status = check_not_input(name, inputs); !status)
      return Error{flag, status.error().text()};
    const bool replaced = fs::exists(name, ignored) ? fs::is_regular_file(name, ignored) : true;
    if (replaced && !taken.insert(fs::weakly_canonical(fs::absolute(name), ignored)).second)
      return Error{flag, name + " is already the name of another output; expected a file each"};
  }
  if (!outputs.csv.empty() && fs::path(outputs.csv).extension() != ".csv")
    return Error{"--csv", outputs.csv + ": expected a name ending in .csv"};
  const Status drawable = outputs.plot.empty() ? success() : can_draw(outputs.plot);
  return drawable ? success() : Error{"--plot", drawable.error().text()};
}

Status write_record(const std::string& path, const RunRecord& record) {
  return write_file_atomically(path, json_text(to_json(record)));
}

Status write_report(const Outputs& outputs, const std::string& name, nlohmann::json record) {
  if (outputs.report.empty()) return success();
  nlohmann::json runs = no_runs();
  if (Status status = add_runs(name, std::move(record), runs); !status) return status;
  return write_file_atomically(outputs.report, view_page(&runs));
}

Status write_model(const std::string& path, const Model& model) {
  return write_file_atomically(path, json_text(to_json(model)));
}

Status write_convergence(const Outputs& outputs, const std::vector<RunSeries>& series) {
  if (!outputs.csv.empty())
    if (Status status = write_file_atomically(outputs.csv, trace_csv(series)); !status)
      return status;
  if (outputs.plot.empty()) return success();
  const Figure figure = convergence_figure(series, outputs.x);
  const auto shows = [](const Curve& curve) {  // on a logarithmic axis
    return !curve.marks.empty() || std::ranges::any_of(curve.y, [](double y) { return y > 0; });
  };
  if (std::ranges::any_of(figure.curves, shows)) return draw(figure, outputs.plot);
  print_note(outputs.plot +
             " is not drawn: the start is the optimum, so there is no convergence to show");
  return success();
}

}  // namespace grove::app
