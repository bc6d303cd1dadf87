#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/base/result.h"
#include "grove/data/encoding.h"
#include "grove/problem/column_scaling.h"
#include "grove/problem/inference.h"
#include "grove/record/model.h"

namespace grove {

struct FittedSite {
  std::string name;
  std::size_t rows = 0, dropped = 0;
  std::map<std::string, std::size_t> missing = {};  ///< cells, by column
};

/// A model that grove fit has made, in the format "grove-model/2": the keys of "grove-model/1", and
/// how tables are encoded, classes, table and inference.
struct FittedModel {
  std::string version;
  Family family;
  Ties ties = Ties::efron;
  Encoding encoding;
  bool intercept = true;
  Vector coefficients;  ///< features of a class, of the next class, ...; in the units of the table
  Vector intercepts;    ///< one per class but the first; empty: none
  double l1 = 0, l2 = 0;
  bool standardize = false;
  double objective = 0;
  std::string outcome;  ///< how the run ended, for a person
  Inference inference;
  std::vector<FittedSite> sites;
  nlohmann::json selection;  ///< path and cross_validation, where there were any
  nlohmann::json test;       ///< scores on the table of --test, by key

  Index blocks() const;  ///< classes but the first; 1 where there is one linear predictor
};

nlohmann::json to_json(const FittedModel& model);
/// The table and inference of a model or record: what --json shows of them.
nlohmann::json inference_json(const Inference& inference);
nlohmann::json table_json(const std::vector<CoefficientRow>& table);

bool is_fitted_model(const nlohmann::json& json);
Result<FittedModel> fitted_model_from_json(const nlohmann::json& json);

/// Linear predictors, a row per sample and a column per class but the first; offsets included.
Matrix linear_predictors(const FittedModel& model, const Design& design);

/// Of all classes, from the linear predictors of a row.
Vector class_probabilities(const Eigen::RowVectorXd& linear_predictors);

/// The table of R's summary(glm(...)), for a person.
std::string summary_text(const FittedModel& model);

}  // namespace grove
