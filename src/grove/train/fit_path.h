#pragma once

#include <vector>

#include "grove/train/fit.h"

/// Choosing the l1 weight: a path of fits from the largest useful weight downwards, and
/// cross-validation with folds inside every site.
namespace grove {

struct PathPoint {
  double l1 = 0;
  Vector scaled;        ///< in scaled coordinates
  Vector coefficients;  ///< in the units of the tables: features, then intercepts
  std::size_t nonzeros = 0;
  double deviance = 0;
  Round rounds = 0;
  bool converged = false;
};

struct FitPath {
  std::vector<PathPoint> points;  ///< by falling l1
  double null_deviance = 0;
  Round rounds = 0;  ///< of all points together
};

/// The least l1 weight at which all penalized coefficients are zero: the largest gradient of the
/// model without terms, from sums over sites.
double largest_l1(const FitData& data, double l2);

/// `count` weights from the largest useful one downwards, evenly on a logarithmic scale.
std::vector<double> path_weights(const FitData& data, double l2, std::size_t count);

/// Each point starts at the one before. `data` was read for a penalized fit.
Result<FitPath> fit_path(const FitOptions& options, const Config& config, const FitData& data,
                         const std::vector<double>& weights, const RunHooks& hooks = {});

struct CrossValidation {
  std::size_t folds = 0;
  std::vector<double> l1;
  std::vector<double> mean;            ///< deviance per unit of weight of rows left out
  std::vector<double> std_error;       ///< of the mean, over folds
  std::size_t best = 0;                ///< the least mean
  std::size_t one_standard_error = 0;  ///< the largest l1 within one standard error of it
};

/// Folds are drawn inside every site; deviances of the rows left out are summed over sites. Columns
/// keep the standardization of all rows.
Result<CrossValidation> cross_validate(const FitOptions& options, const Config& config,
                                       const FitData& data, const std::vector<double>& weights,
                                       std::size_t folds, const RunHooks& hooks = {});

}  // namespace grove
