#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "grove/agent/answer_certificate.h"
#include "grove/base/result.h"
#include "grove/data/samples.h"
#include "grove/problem/loss.h"

namespace grove {

/// A trained model, in the format "grove-model/1".
struct Model {
  std::string version;
  Loss loss;
  Vector coefficients;  ///< one per feature
  std::optional<double> intercept;
  std::optional<LabelNames> labels;    ///< of a classifier
  std::optional<ColumnNames> columns;  ///< of the CSV file it was trained on
  double l1 = 0;
  double l2 = 0;
  double objective = 0;
  std::optional<double> gap_bound = {};  ///< as in Outcome
  std::optional<AnswerCertificate> certificate =
      {};  ///< where exact sums over the network gave one
};

nlohmann::json to_json(const Model& model);
Result<Model> model_from_json(const nlohmann::json& json);

/// w'x + intercept for every sample. Missing features count as zero; those after the model's were
/// zero in all it was trained on, and are not used.
Vector margins(const Model& model, const Samples& samples);

/// What a regression predicts at these margins.
Vector predicted_values(const Model& model, const Vector& margins);

/// Quality on samples with known targets. Which fields are set depends on the loss.
struct Scores {
  std::optional<double> accuracy;   ///< share of right classes
  std::optional<double> log_loss;   ///< mean negative log likelihood, in nats; of logistic loss
  std::optional<double> auc;        ///< area under the ROC curve; unset if one class is absent
  std::optional<double> rmse;       ///< root of the mean squared error
  std::optional<double> mae;        ///< mean absolute error
  std::optional<double> r_squared;  ///< 1 - squared error / variance; unset for constant targets
};
/// Area under the ROC curve of targets 0 and 1; unset if one class is absent.
std::optional<double> area_under_curve(const Vector& margins, const Vector& targets);

Scores score(const Model& model, const Vector& margins, const Vector& targets);

}  // namespace grove
