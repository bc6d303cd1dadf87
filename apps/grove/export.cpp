#include <memory>

#include "command.h"
#include "grove/base/file.h"
#include "grove/record/export.h"
#include "outputs.h"

namespace grove::app {
namespace {

enum class Format { none, pmml, liblinear, onnx };

struct ExportSettings {
  std::string model, file;
  Format format = Format::none;
};

template <class AnyModel>
Result<std::string> exported(const AnyModel& model, Format format) {
  if (format == Format::pmml) return pmml_text(model);
  if (format == Format::liblinear) return liblinear_text(model);
  return onnx_bytes(model);
}

Result<std::string> exported(const ExportSettings& settings) {
  const auto text = read_file(settings.model);
  if (!text) return text.error();
  const auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Error{settings.model, "is not JSON; expected a model written by grove train or fit"};
  const auto named = [&](const Error& error) { return Error{settings.model, error.text()}; };
  if (is_fitted_model(json)) {
    const auto model = fitted_model_from_json(json);
    if (!model) return named(model.error());
    auto bytes = exported(*model, settings.format);
    return bytes ? bytes : named(bytes.error());
  }
  const auto model = model_from_json(json);
  if (!model) return named(model.error());
  auto bytes = exported(*model, settings.format);
  return bytes ? bytes : named(bytes.error());
}

Result<int> run_export(const ExportSettings& settings) {
  if (settings.format == Format::none)
    return Error{"--to", "expected one of: pmml | liblinear | onnx"};
  if (Status status = check_not_input(settings.file, {settings.model}); !status)
    return Error{"FILE", status.error().text()};
  const auto bytes = exported(settings);
  if (!bytes) return bytes.error();
  if (Status status = write_file_atomically(settings.file, *bytes); !status) return status.error();
  return ok;
}

}  // namespace

Command export_command() {
  auto settings = std::make_shared<ExportSettings>();
  Command command{.name = "export",
                  .summary = "write a model for other programs",
                  .positionals = {{"model", true}, {"file", true}},
                  .run = [settings] { return run_export(*settings); }};
  auto& options = command.options;
  options.push_back(text_option({"model", "MODEL", "model written by grove train or fit", "Input"},
                                settings->model));
  options.push_back(text_option({"file", "FILE", "the file to write", "Output"}, settings->file));
  options.push_back(choice_option<Format>(
      {"to", "", "its format", "Output"}, settings->format,
      {{"pmml", Format::pmml}, {"liblinear", Format::liblinear}, {"onnx", Format::onnx}}));
  return command;
}

}  // namespace grove::app
