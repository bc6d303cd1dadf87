#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grove/data/design.h"
#include "grove/problem/column_scaling.h"
#include "grove/problem/cox.h"
#include "grove/problem/family.h"

/// Standard errors, deviance and AIC from sums over sites at the answer: what
/// R's summary(glm(...)) prints. A site computes its sums, sums are added, the rest follows.
namespace grove {

/// Sums over the rows of some sites, at one point.
struct InferenceSums {
  double rows = 0;
  double rows_with_weight = 0;
  double weight = 0;
  double deviance = 0;
  double pearson = 0;
  double log_likelihood = 0;
  double log_weight = 0;    ///< gaussian: sum of log weights
  double log_response = 0;  ///< gamma: sum of weight log y, and likewise
  double ratio = 0;         ///< weight y / mean
  double log_mean = 0;      ///< weight log mean
  Matrix information;       ///< expected second derivatives of the negative log likelihood
  Matrix score_products;    ///< of rows: sum u u'; empty: not asked for
};

struct InferenceModel {
  Family family;
  Index classes = 2;  ///< of multinomial
  Ties ties = Ties::efron;
  bool intercept = true;
};

/// At coefficients in the coordinates of the design.
InferenceSums inference_sums(const InferenceModel& model, const Design& design, const Vector& x,
                             bool score_products = false);

/// The same for the model without terms, at the intercept given (0 without one); without matrices
/// but for the 1 x 1 information and, in `score`, the derivative by the intercept.
struct NullSums {
  InferenceSums sums;
  double score = 0;
};
NullSums null_sums(const InferenceModel& model, const Design& design, double intercept);

struct CoefficientRow {
  std::string name;
  std::string class_name = {};  ///< of multinomial
  double estimate = 0;
  std::optional<double> std_error = {}, statistic = {}, p_value = {}, low = {}, high = {};
};

struct Inference {
  std::string kind = "none";  ///< model, robust or none
  std::string reason;         ///< why none, or what to keep in mind
  bool uses_t = false;        ///< else z
  double confidence = 0.95;
  double deviance = 0;
  std::optional<double> null_deviance;
  double df_residual = 0, df_null = 0;
  double dispersion = 1;
  bool dispersion_estimated = false;
  std::optional<double> aic, log_likelihood, null_log_likelihood;
  std::size_t samples = 0, dropped = 0;
  std::vector<CoefficientRow> table;  ///< intercept first
};

struct InferenceOptions {
  bool robust = false;
  double confidence = 0.95;
  /// (n l2 / 2)|x|^2 in the scaled coordinates, n the sum of weights; 0: none.
  double ridge = 0;
  bool selects = false;      ///< coefficients that are zero do not count as parameters (l1)
  std::string refusal = {};  ///< why there are no standard errors: l1, say
};

/// `x` in scaled coordinates; `names` of the features; `classes` of multinomial, else empty.
Inference infer(const InferenceModel& model, const InferenceSums& sums,
                const std::optional<InferenceSums>& null_fit, const Vector& x,
                const ColumnScaling& scaling, const std::vector<std::string>& names,
                const std::vector<std::string>& classes, const InferenceOptions& options);

/// Half the width of an interval of this level, in standard errors.
double interval_quantile(const Inference& inference, double confidence);

/// The columns that a linear combination makes zero everywhere, from their products summed over all
/// sites (`gram`); empty: the columns are independent. A name for every coordinate.
std::vector<std::string> collinear_columns(const Matrix& gram,
                                           const std::vector<std::string>& names);

}  // namespace grove
