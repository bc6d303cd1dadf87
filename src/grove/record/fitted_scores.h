#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grove/record/fitted_model.h"

namespace grove {

/// How well a fitted model predicts rows with known responses. Which numbers there are depends on
/// the family.
struct FittedScores {
  double rows = 0;
  std::optional<double> deviance;           ///< of all rows
  std::optional<double> log_loss;           ///< mean negative log likelihood of the class, in nats
  std::optional<double> accuracy;           ///< share of right classes
  std::optional<double> auc;                ///< area under the ROC curve
  std::optional<double> calibration_slope;  ///< of the response on the linear predictor; best: 1
  std::optional<double> calibration_intercept;
  std::optional<double> rmse, mae;

  /// Those that there are, by key.
  std::vector<std::pair<std::string, double>> named() const;
};

/// The design is that of the model's encoding, with responses.
FittedScores score(const FittedModel& model, const Design& design);

/// One bin of a calibration plot: predicted and observed means of rows with like predictions.
struct CalibrationBin {
  double predicted = 0, observed = 0;
  double rows = 0;
};

/// Ten bins of equal numbers of rows, by prediction; of families with one mean.
std::vector<CalibrationBin> calibration_bins(const FittedModel& model, const Design& design);

}  // namespace grove
