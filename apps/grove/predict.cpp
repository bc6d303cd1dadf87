#include <cmath>
#include <cstdio>
#include <memory>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/data/dataset.h"
#include "grove/data/labels.h"
#include "grove/record/json_format.h"
#include "grove/record/model.h"
#include "grove/record/plot.h"
#include "outputs.h"
#include "predict_table.h"

namespace grove::app {
namespace {

struct PredictSettings {
  std::string model, data, label_column, out, id;
  PredictionType type = PredictionType::response;
  UnseenLevels unseen = UnseenLevels::refuse;
  bool no_header = false;
  std::uint64_t seed = 1;
  Outputs outputs;
};

Result<nlohmann::json> read_json(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  auto json = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Error{path, "is not JSON; expected a model written by grove train or fit"};
  return json;
}

Result<Model> read_model(const std::string& path, const nlohmann::json& json) {
  auto model = model_from_json(json);
  if (!model) return Error{path, model.error().text()};
  return model;
}

struct Prediction {
  Vector margins;
  bool labelled = true;          ///< the data has labels
  std::optional<Scores> scores;  ///< if they are the model's
};

Result<Prediction> predict(const PredictSettings& settings, const Model& model) {
  auto dataset =
      load_dataset(settings.data, TargetKind::number, settings.seed,
                   {.label_column = settings.label_column,
                    .model_columns = model.columns,
                    .model_labels = model.labels,
                    .model_features = static_cast<std::size_t>(model.coefficients.size())});
  if (!dataset) return dataset.error();
  if (dataset->samples.dimension() > model.coefficients.size() && !settings.outputs.quiet)
    print_note(fmt::format("{} has {} features; those after the {} of the model are not used",
                           settings.data, dataset->samples.dimension(), model.coefficients.size()));
  Prediction prediction{.margins = margins(model, dataset->samples),
                        .labelled = dataset->samples.targets.allFinite()};
  if (!predicted_values(model, prediction.margins).allFinite())
    return Error{settings.data,
                 "the values are so large that predictions overflow; expected features "
                 "of the size that the model was trained on"};
  if (!prediction.labelled) return prediction;
  if (!model.labels || apply_labels(*model.labels, *dataset))
    prediction.scores = score(model, prediction.margins, dataset->samples.targets);
  return prediction;
}

double probability_of(double margin) { return 1 / (1 + std::exp(-margin)); }

/// CSV with a header and one line per sample: the predicted label and the probability of the class
/// that the header names (without a likelihood the linear predictor), or the predicted number.
std::string prediction_csv(const Model& model, const Vector& margins) {
  if (!model.labels) {
    std::string lines = "predicted_value\n";
    for (const double value : predicted_values(model, margins)) lines += exact(value) + "\n";
    return lines;
  }
  const std::string labels[] = {label_text(*model.labels, false), label_text(*model.labels, true)};
  if (!has_probabilities(model.loss)) {
    std::string lines = "predicted_label,linear_predictor\n";
    for (const double margin : margins)
      lines += fmt::format("{},{}\n", csv_field(labels[margin > 0]), exact(margin));
    return lines;
  }
  std::string lines = fmt::format("predicted_label,{}\n", csv_field("probability_of_" + labels[1]));
  for (const double margin : margins)
    lines += fmt::format("{},{}\n", csv_field(labels[margin > 0]), exact(probability_of(margin)));
  return lines;
}

struct NamedScore {
  std::string key;    ///< in JSON
  std::string title;  ///< for a person
  std::optional<double> value;
};

std::vector<NamedScore> named(const Scores& scores) {
  return {{"accuracy", "accuracy", scores.accuracy},
          {"log_loss", "log loss", scores.log_loss},
          {"auc", "AUC", scores.auc},
          {"rmse", "RMSE", scores.rmse},
          {"mae", "MAE", scores.mae},
          {"r_squared", "R2", scores.r_squared}};
}

std::string scores_text(const Prediction& prediction) {
  if (!prediction.labelled) return "no scores: the data has no labels\n";
  if (!prediction.scores) return "no scores: the data's labels are not the model's\n";
  std::string text;
  for (const auto& [key, title, value] : named(*prediction.scores))
    if (value) text += fmt::format("{:<9} {:.6g}\n", title, *value);
  return text;
}

nlohmann::json prediction_json(const Model& model, const Prediction& prediction) {
  nlohmann::json scores = nlohmann::json::object();
  if (prediction.scores)
    for (const auto& [key, title, value] : named(*prediction.scores))
      if (value) scores[key] = *value;
  nlohmann::json result = {
      {"format", "grove-prediction/1"},
      {"scores", scores},
      {"margins", std::vector<double>(prediction.margins.begin(), prediction.margins.end())}};
  if (!model.labels) {
    const Vector values = predicted_values(model, prediction.margins);
    result["values"] = std::vector<double>(values.begin(), values.end());
    return result;
  }
  result["labels"] = labels_json(model.labels);
  if (!has_probabilities(model.loss)) return result;
  for (const double margin : prediction.margins)
    result["probabilities_of_positive"].push_back(probability_of(margin));
  return result;
}

Result<int> predict_fitted(const PredictSettings& settings, const nlohmann::json& json) {
  const auto model = fitted_model_from_json(json);
  if (!model) return Error{settings.model, model.error().text()};
  return predict_table(*model, {.data = settings.data,
                                .out = settings.out,
                                .id = settings.id,
                                .type = settings.type,
                                .unseen = settings.unseen,
                                .table = {.has_header = !settings.no_header},
                                .outputs = settings.outputs});
}

Result<int> run_predict(const PredictSettings& settings) {
  if (Status status = check_not_input(settings.out, {settings.model, settings.data}); !status)
    return Error{"--out", status.error().text()};
  const auto json = read_json(settings.model);
  if (!json) return json.error();
  if (is_fitted_model(*json)) return predict_fitted(settings, *json);
  if (!settings.id.empty())
    return Error{"--id", "needs a model of grove fit, which reads tables by column"};
  const auto model = read_model(settings.model, *json);
  if (!model) return model.error();
  const auto prediction = predict(settings, *model);
  if (!prediction) return prediction.error();
  const std::string lines = prediction_csv(*model, prediction->margins);
  if (!settings.out.empty()) {
    if (Status status = write_file_atomically(settings.out, lines); !status) return status.error();
  }
  if (settings.outputs.json) {
    print_result(json_text(prediction_json(*model, *prediction)));
    return ok;
  }
  // Without --out the predictions are the output, so the scores must not mix with them.
  if (settings.out.empty()) print_result(lines);
  if (settings.outputs.quiet) return ok;
  if (settings.out.empty())
    fmt::print(stderr, "{}", scores_text(*prediction));
  else
    print_result(scores_text(*prediction));
  return ok;
}

}  // namespace

Command predict_command() {
  auto settings = std::make_shared<PredictSettings>();
  Command command{.name = "predict",
                  .summary = "apply a trained model to data",
                  .positionals = {{"model", true}, {"data", true}},
                  .run = [settings] { return run_predict(*settings); }};
  auto& options = command.options;
  options.push_back(
      text_option({"model", "MODEL", "model written by grove train", "Input"}, settings->model));
  options.push_back(
      text_option({"data", "DATA", "data as for grove train", "Input"}, settings->data));
  options.push_back(text_option(
      {"label-column", "NAME",
       "label column of a CSV file (label, target, y, or the last if the model does not "
       "need it)",
       "Input"},
      settings->label_column));
  options.push_back(
      count_option({"seed", "S", "seed of synthetic data (1)", "Input"}, settings->seed, 0));
  const std::string fitted = "Models of grove fit";
  options.push_back(choice_option<PredictionType>(
      {"type", "", "linear predictor, mean and class probabilities, or class alone (response)",
       fitted},
      settings->type,
      {{"link", PredictionType::link},
       {"response", PredictionType::response},
       {"class", PredictionType::label}}));
  options.push_back(text_option(
      {"id", "COLUMN", "column of the table that the predictions keep", fitted}, settings->id));
  options.push_back(choice_option<UnseenLevels>(
      {"unseen", "", "levels that the model does not know: an error, or zeros (error)", fitted},
      settings->unseen, {{"error", UnseenLevels::refuse}, {"zero", UnseenLevels::zero}}));
  options.push_back(
      switch_option({"no-header", "", "the table has no header; columns are V1, V2, ...", fitted},
                    settings->no_header));
  options.push_back(text_option(
      {"out", "FILE.csv",
       "write the predictions (CSV with a header) there instead of standard output", "Output"},
      settings->out));
  add_quiet_and_json(settings->outputs, options);
  return command;
}

}  // namespace grove::app
