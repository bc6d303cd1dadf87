#include "outputs.h"

#include <filesystem>

#include <unistd.h>

#include "grove/base/file.h"
#include "grove/report/plot.h"
#include "grove/report/summary.h"

namespace grove::app {

void add_quiet_and_json(Outputs& outputs, std::vector<Option>& options) {
  options.push_back(switch_option({"quiet", "", "print errors only", "Output"}, outputs.quiet));
  options.push_back(
      switch_option({"json", "", "print JSON on standard output", "Output"}, outputs.json));
}

void add_output_options(Outputs& outputs, std::vector<Option>& options) {
  options.push_back(
      text_option({"record", "FILE.json", "write the run record", "Output"}, outputs.record));
  options.push_back(
      text_option({"model", "FILE.json", "write the model", "Output"}, outputs.model));
  options.push_back(
      text_option({"plot", "FILE.svg|.png", "draw convergence", "Output"}, outputs.plot));
  add_quiet_and_json(outputs, options);
}

Status check_outputs(const Outputs& outputs) {
  namespace fs = std::filesystem;
  for (const auto& [flag, name] : {std::pair{"--record", outputs.record},
                                   {"--model", outputs.model},
                                   {"--plot", outputs.plot}}) {
    if (name.empty()) continue;
    const fs::path path(name);
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    std::error_code error;
    if (fs::is_directory(path, error))
      return Error{flag, name + " is a folder; expected a file name"};
    if (!fs::is_directory(folder, error))
      return Error{flag, "folder " + folder.string() + " does not exist"};
    if (::access(folder.c_str(), W_OK) != 0)
      return Error{flag, "folder " + folder.string() + " is not writable"};
  }
  const auto ending = fs::path(outputs.plot).extension();
  if (!outputs.plot.empty() && ending != ".svg" && ending != ".png")
    return Error{"--plot", outputs.plot + ": expected a name ending in .svg or .png"};
  return success();
}

Status write_record(const std::string& path, const RunRecord& record) {
  return write_file_atomically(path, to_json(record).dump(1) + "\n");
}

Status write_model(const std::string& path, const Model& model) {
  return write_file_atomically(path, to_json(model).dump(1) + "\n");
}

Status write_plot(const std::string& path, const NamedRuns& runs) {
  return draw(convergence_figure(runs), path);
}

}  // namespace grove::app
