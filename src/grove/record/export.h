#pragma once

#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/record/fitted_model.h"
#include "grove/record/model.h"

/// Models in the formats of other programs. What a format cannot express is an error that names it.
namespace grove {

/// The text that liblinear's `predict` reads. Features are the columns of the model, from 1.
Result<std::string> liblinear_text(const Model& model);
Result<std::string> liblinear_text(const FittedModel& model);

/// PMML 4.4: a GeneralRegressionModel over the columns of the table. Columns with a coefficient of
/// zero are left out.
Result<std::string> pmml_text(const Model& model);
Result<std::string> pmml_text(const FittedModel& model);

/// An ONNX file, in double precision. A trained model has one input of all features, a fitted model
/// one for every column of the table.
Result<std::string> onnx_bytes(const Model& model);
Result<std::string> onnx_bytes(const FittedModel& model);

/// What the writers share.
namespace exports {

/// A column of the table that a fitted model reads.
struct Input {
  std::string name;
  bool is_text = false;
  std::vector<std::string> levels;  ///< of a factor
  bool missing_level = false;       ///< missing cells are the last level
};

/// The columns that the formula reads, without the response. An error names a column that is read
/// both as numbers and as texts, and a date.
Result<std::vector<Input>> inputs_of(const FittedModel& model);

/// A trained model as a fitted one, with the features whose coefficient is not zero.
Result<FittedModel> as_fitted(const Model& model);

/// Why the model cannot be written: it has a loss of the user's own.
Status check_loss(const Model& model);

/// The sum of these offsets and the column of --offset; empty: there are none.
std::vector<Syntax> offsets_of(const FittedModel& model);

/// Coefficients of a column of the design, one for every class but the first.
Vector coefficients_of(const FittedModel& model, std::size_t column);

}  // namespace exports
}  // namespace grove
