#include "predict_table.h"

#include <cmath>
#include <cstdio>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/record/fitted_scores.h"
#include "grove/record/json_format.h"
#include "grove/record/plot.h"

namespace grove::app {
namespace {

using Kind = Family::Kind;

/// Header and values of the predictions of one row.
class PredictionWriter {
 public:
  PredictionWriter(const FittedModel& model, PredictionType type) : model_(model), type_(type) {}

  std::vector<std::string> header() const {
    const auto& classes = model_.encoding.classes;
    std::vector<std::string> names;
    if (type_ == PredictionType::link) {
      if (model_.blocks() == 1) return {"linear_predictor"};
      for (std::size_t k = 1; k < classes.size(); ++k)
        names.push_back("linear_predictor_of_" + classes[k]);
      return names;
    }
    if (!classes.empty()) {
      names.emplace_back("predicted_label");
      const bool probabilities =
          type_ == PredictionType::response && model_.family.kind != Kind::squared_hinge;
      for (std::size_t k = 0; probabilities && k < classes.size(); ++k)
        names.push_back("probability_of_" + classes[k]);
      return names;
    }
    return {model_.family.kind == Kind::cox ? "relative_risk" : "predicted_value"};
  }

  std::vector<std::string> values(const Eigen::RowVectorXd& eta) const {
    const auto& classes = model_.encoding.classes;
    std::vector<std::string> cells;
    if (type_ == PredictionType::link) {
      for (const double number : eta) cells.push_back(exact(number));
      return cells;
    }
    if (classes.empty()) return {exact(mean_at(model_.family, eta[0]))};
    Vector scores = Vector::Zero(static_cast<Index>(classes.size()));
    scores.tail(eta.size()) = eta.transpose();
    Index best = 0;
    scores.maxCoeff(&best);
    cells.push_back(classes[static_cast<std::size_t>(best)]);
    if (header().size() == 1) return cells;
    for (const double probability : class_probabilities(eta)) cells.push_back(exact(probability));
    return cells;
  }

 private:
  const FittedModel& model_;
  PredictionType type_;
};

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t k = 0; k < cells.size(); ++k) line += (k > 0 ? "," : "") + csv_field(cells[k]);
  return line + "\n";
}

std::string prediction_lines(const FittedModel& model, const TablePrediction& settings,
                             const Table& table, const Design& design) {
  const PredictionWriter writer(model, settings.type);
  const Matrix eta = linear_predictors(model, design);
  const TableColumn* id = settings.id.empty() ? nullptr : table.find(settings.id);
  std::vector<std::string> cells = writer.header();
  const std::size_t width = cells.size();
  if (id != nullptr) cells.insert(cells.begin(), id->name);
  std::string lines = csv_line(cells);
  Index next = 0;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const bool used = next < eta.rows() && design.rows[static_cast<std::size_t>(next)] == row;
    cells = used ? writer.values(eta.row(next++)) : std::vector<std::string>(width, "NA");
    if (id != nullptr) cells.insert(cells.begin(), id->missing(row) ? "NA" : id->text(row));
    lines += csv_line(cells);
  }
  return lines;
}

}  // namespace

std::string scores_text(const std::vector<std::pair<std::string, double>>& scores) {
  std::string text;
  for (const auto& [key, value] : scores) {
    std::string title = key == "auc" || key == "rmse" || key == "mae" ? "" : key;
    for (char& letter : title)
      if (letter == '_') letter = ' ';
    if (title.empty())
      for (const char letter : key) title += static_cast<char>(std::toupper(letter));
    text += fmt::format("{:<21} {:.6g}\n", title, value);
  }
  return text;
}

Result<int> predict_table(const FittedModel& model, const TablePrediction& settings) {
  const auto table = read_table(settings.data, settings.table);
  if (!table) return table.error();
  if (!settings.id.empty() && table->find(settings.id) == nullptr)
    return Error{"--id", fmt::format("{} has no column `{}`", settings.data, settings.id)};
  Encoding encoding = model.encoding;
  if (table->find(encoding.roles.weights) == nullptr) encoding.roles.weights.clear();
  const auto design =
      make_design(*table, encoding, {.needs_response = false, .unseen = settings.unseen});
  if (!design) return design.error();
  std::vector<std::pair<std::string, double>> scores;
  if (design->has_targets && design->samples.targets.allFinite())
    scores = score(model, *design).named();
  const std::string lines = prediction_lines(model, settings, *table, *design);
  if (!settings.out.empty())
    if (Status status = write_file_atomically(settings.out, lines); !status) return status.error();
  if (settings.outputs.json) {
    nlohmann::json json = {{"format", "grove-prediction/1"}, {"scores", nlohmann::json::object()}};
    for (const auto& [key, value] : scores) json["scores"][key] = value;
    const Matrix eta = linear_predictors(model, *design);
    json["margins"] = std::vector<double>(eta.reshaped().begin(), eta.reshaped().end());
    print_result(json_text(json));
    return ok;
  }
  if (settings.out.empty()) print_result(lines);
  if (settings.outputs.quiet) return ok;
  const std::string text =
      scores.empty() ? "no scores: the data has no responses\n" : scores_text(scores);
  // Without --out the predictions are the output, so the scores must not mix with them.
  if (settings.out.empty())
    fmt::print(stderr, "{}", text);
  else
    print_result(text);
  return ok;
}

}  // namespace grove::app
