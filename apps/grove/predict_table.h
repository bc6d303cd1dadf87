#pragma once

#include <string>

#include "grove/data/design.h"
#include "grove/record/fitted_model.h"
#include "outputs.h"

namespace grove::app {

enum class PredictionType { link, response, label };

/// How `grove predict` applies a model of `grove fit`.
struct TablePrediction {
  std::string data;
  std::string out;
  std::string id;  ///< column that is kept
  PredictionType type = PredictionType::response;
  UnseenLevels unseen = UnseenLevels::refuse;
  TableOptions table = {};
  Outputs outputs;
};

/// Writes one line for every row of the table, NA where cells of the model are missing, and scores
/// where the table has responses.
Result<int> predict_table(const FittedModel& model, const TablePrediction& settings);

/// Scores as lines for a person.
std::string scores_text(const std::vector<std::pair<std::string, double>>& scores);

}  // namespace grove::app
