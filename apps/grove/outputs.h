#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grove/record/model.h"
#include "grove/record/record.h"
#include "grove/setup/config.h"
#include "grove/setup/option.h"

namespace grove::app {

/// Where results go. Empty: nowhere.
struct Outputs {
  std::string record, model, plot;
  bool quiet = false;
  bool json = false;
};

void add_quiet_and_json(Outputs& outputs, std::vector<Option>& options);
void add_output_options(Outputs& outputs, std::vector<Option>& options);

/// Prints what was asked for on standard output. Throws where it cannot be written, unless the
/// reader has gone: `grove ... | head` is no failure.
void print_result(std::string_view text);

/// Prints a remark on standard error, if anyone listens.
void print_note(std::string_view text);

/// Refuses an output that would replace one of these files.
Status check_not_input(const std::string& output, const std::vector<std::string>& inputs);

/// Refuses file names that could not be written in the end, before any work is done.
Status check_outputs(const Outputs& outputs, const std::vector<std::string>& inputs);

/// What a run may read.
std::vector<std::string> inputs_of(const Config& config);

using NamedRuns = std::vector<std::pair<std::string, RunRecord>>;

Status write_record(const std::string& path, const RunRecord& record);
Status write_model(const std::string& path, const Model& model);
/// Draws convergence. Runs that began at the optimum leave nothing to draw: a note, and no file.
Status write_plot(const std::string& path, const NamedRuns& runs);

}  // namespace grove::app
