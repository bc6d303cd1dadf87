#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "grove/base/result.h"
#include "grove/data/encoding.h"
#include "grove/problem/loss.h"

namespace grove {

/// A family of response distributions with its link, as --family takes it. The loss of a row is its
/// negative log likelihood, up to what does not depend on the coefficients.
struct Family {
  enum class Kind {
    gaussian,
    binomial,
    poisson,
    gamma,
    negative_binomial,
    multinomial,
    cox,
    huber,
    squared_hinge
  };
  Kind kind = Kind::gaussian;
  double parameter = 0;  ///< theta of the negative binomial, delta of Huber's loss

  /// Names of families, and of the losses that train calls otherwise.
  static Result<Family> parse(std::string_view text);

  std::string name() const;
  std::string link() const;  ///< "logit", "log", ...
  ResponseKind response() const;
  /// Losses that are no likelihood give no standard errors.
  bool is_likelihood() const { return kind != Kind::huber && kind != Kind::squared_hinge; }
  bool estimates_dispersion() const { return kind == Kind::gaussian || kind == Kind::gamma; }
  /// The loss is a function of one margin per row: all but multinomial and cox.
  bool has_margin() const { return kind != Kind::multinomial && kind != Kind::cox; }
  Loss loss() const;  ///< of a family with a margin

  /// What is wrong with a response: "expected a count of at least 0".
  std::optional<std::string> complaint(double response) const;
};

/// What inference needs of one row, at its linear predictor eta.
struct RowFit {
  double mean = 0;
  double deviance = 0;        ///< unit deviance
  double pearson = 0;         ///< (y - mean)^2 / variance
  double information = 0;     ///< expected second derivative of the loss by eta
  double score = 0;           ///< minus the derivative of the loss by eta
  double log_likelihood = 0;  ///< of families without dispersion
};
RowFit fit_row(const Family& family, double eta, double response, double weight);

/// The mean response at a linear predictor.
double mean_at(const Family& family, double eta);

/// The linear predictor of a constant mean response; finite also at the edge of the range.
double link_of_mean(const Family& family, double mean);

}  // namespace grove
