#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grove/record/convergence.h"
#include "grove/record/model.h"
#include "grove/record/record.h"
#include "grove/setup/config.h"
#include "grove/setup/option.h"

namespace grove::app {

/// The files for results. Empty: none.
struct Outputs {
  std::string record, model, plot, csv, report;
  PlotAxis x = PlotAxis::automatic;  ///< of the plot
  bool view = false;                 ///< show the run in a browser while it goes on
  std::string listen = "127.0.0.1:0";
  bool quiet = false;
  bool json = false;
};

void add_quiet_and_json(Outputs& outputs, std::vector<Option>& options);
/// --plot, --csv and --x.
void add_plot_options(Outputs& outputs, std::vector<Option>& options);
void add_report_option(Outputs& outputs, std::vector<Option>& options);
/// --view and --listen.
void add_view_options(Outputs& outputs, std::vector<Option>& options);
void add_listen_option(Outputs& outputs, std::vector<Option>& options);
void add_output_options(Outputs& outputs, std::vector<Option>& options);

/// Prints a result on standard output. Throws where it cannot be written, unless the reader of the
/// pipe has ended: `grove ... | head` is no failure.
void print_result(std::string_view text);

/// Prints a remark on standard error.
void print_note(std::string_view text);

/// Refuses an output that would replace one of these files.
Status check_not_input(const std::string& output, const std::vector<std::string>& inputs);

/// Refuses file names that could not be written in the end, before any work is done.
Status check_outputs(const Outputs& outputs, const std::vector<std::string>& inputs);

/// The files that a run may read.
std::vector<std::string> inputs_of(const Config& config);

Status write_record(const std::string& path, const RunRecord& record);
/// Writes the page of --report, if it is asked for, with this record of a run or a comparison.
Status write_report(const Outputs& outputs, const std::string& name, nlohmann::json record);
Status write_model(const std::string& path, const Model& model);
/// Writes the convergence of the runs as --plot and --csv ask. Runs that start at the optimum leave
/// nothing to draw: a note, and no picture.
Status write_convergence(const Outputs& outputs, const std::vector<RunSeries>& series);

}  // namespace grove::app
