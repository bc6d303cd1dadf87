#include <memory>

#include "command.h"
#include "grove/base/file.h"
#include "grove/record/fitted_model.h"
#include "grove/record/json_format.h"
#include "outputs.h"

namespace grove::app {
namespace {

struct SummarySettings {
  std::string model;
  Outputs outputs;
};

Result<int> run_summary(const SummarySettings& settings) {
  const auto text = read_file(settings.model);
  if (!text) return text.error();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Error{settings.model, "is not JSON; expected a model written by grove fit"};
  const auto model = fitted_model_from_json(json);
  if (!model) return Error{settings.model, model.error().text()};
  if (settings.outputs.json)
    print_result(json_text({{"table", json.at("table")}, {"inference", json.at("inference")}}));
  else
    print_result(summary_text(*model));
  return ok;
}

}  // namespace

Command summary_command() {
  auto settings = std::make_shared<SummarySettings>();
  Command command{.name = "summary",
                  .summary = "print the table of a model written by grove fit",
                  .positionals = {{"model", true}},
                  .run = [settings] { return run_summary(*settings); }};
  command.options.push_back(
      text_option({"model", "MODEL", "model written by grove fit", "Input"}, settings->model));
  command.options.push_back(switch_option({"json", "", "print JSON on standard output", "Output"},
                                          settings->outputs.json));
  return command;
}

}  // namespace grove::app
