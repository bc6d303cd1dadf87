#include "grove/problem/family.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "grove/base/text.h"

namespace grove {
namespace {

using Kind = Family::Kind;

struct FamilyName {
  std::string_view name;
  Kind kind;
};
constexpr std::array<FamilyName, 11> family_names{{{"gaussian", Kind::gaussian},
                                                   {"binomial", Kind::binomial},
                                                   {"poisson", Kind::poisson},
                                                   {"gamma", Kind::gamma},
                                                   {"negative-binomial", Kind::negative_binomial},
                                                   {"multinomial", Kind::multinomial},
                                                   {"cox", Kind::cox},
                                                   {"huber", Kind::huber},
                                                   {"squared-hinge", Kind::squared_hinge},
                                                   {"logistic", Kind::binomial},
                                                   {"squared", Kind::gaussian}}};

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

/// y log(y / mu), 0 at y = 0.
double y_log_ratio(double y, double mu) { return y > 0 ? y * std::log(y / mu) : 0; }

double log_one_plus_exp(double eta) {
  return std::max(eta, 0.0) + std::log1p(std::exp(-std::abs(eta)));
}

RowFit binomial_row(double eta, double y, double weight) {
  const double mean = 1 / (1 + std::exp(-eta));
  const double variance = std::exp(-log_one_plus_exp(eta) - log_one_plus_exp(-eta));
  const double log_one = -log_one_plus_exp(-eta), log_zero = -log_one_plus_exp(eta);
  RowFit row{.mean = mean, .information = variance, .score = y - mean};
  if (y == 1) row.score = std::exp(log_zero);
  const double entropy = (y > 0 ? y * std::log(y) : 0) + (y < 1 ? (1 - y) * std::log1p(-y) : 0);
  row.deviance = 2 * (entropy - y * log_one - (1 - y) * log_zero);
  row.pearson = variance > 0 ? row.score * row.score / variance : 0;
  // As R: the weight is the number of trials.
  const double trials = std::round(weight), successes = std::round(weight * y);
  if (trials > 0)
    row.log_likelihood =
        weight / trials *
        (log_choose(trials, successes) + successes * log_one + (trials - successes) * log_zero);
  return row;
}

RowFit poisson_row(double eta, double y, double weight) {
  const double mean = std::exp(eta);
  RowFit row{.mean = mean, .information = mean, .score = y - mean};
  row.deviance = 2 * (y_log_ratio(y, mean) - (y - mean));
  row.pearson = row.score * row.score / mean;
  row.log_likelihood = weight * (y * eta - mean - std::lgamma(y + 1));
  return row;
}

RowFit gamma_row(double eta, double y) {
  const double mean = std::exp(eta), ratio = y / mean;
  RowFit row{.mean = mean, .information = 1, .score = ratio - 1};
  row.deviance = 2 * (ratio - 1 - std::log(ratio));
  row.pearson = row.score * row.score;
  return row;
}

RowFit negative_binomial_row(double theta, double eta, double y, double weight) {
  const double mean = std::exp(eta);
  const double information = mean * theta / (theta + mean);
  RowFit row{
      .mean = mean, .information = information, .score = theta * (y - mean) / (theta + mean)};
  row.deviance = 2 * (y_log_ratio(y, mean) - (y + theta) * std::log((y + theta) / (mean + theta)));
  row.pearson = (y - mean) * (y - mean) / (mean + mean * mean / theta);
  row.log_likelihood =
      weight * (y * eta - (y + theta) * std::log(mean + theta) - std::lgamma(y + 1) +
                theta * std::log(theta) - std::lgamma(theta) + std::lgamma(theta + y));
  return row;
}

RowFit gaussian_row(double eta, double y) {
  const double residual = y - eta;
  return {.mean = eta,
          .deviance = residual * residual,
          .pearson = residual * residual,
          .information = 1,
          .score = residual};
}

/// Of losses that are no likelihood.
RowFit loss_row(const Loss& loss, double eta, double y) {
  const LossPoint point = std::visit([&](const auto& form) { return form.at(eta, y); }, loss);
  return {.mean = eta,
          .deviance = 2 * point.value,
          .information = point.second_derivative,
          .score = -point.slope};
}

}  // namespace

Result<Family> Family::parse(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  const auto number =
      colon < text.size() ? parse_double(text.substr(colon + 1)) : std::optional<double>();
  for (const FamilyName& row : family_names) {
    if (row.name != name) continue;
    Family family{.kind = row.kind};
    const bool positive = number && *number > 0 && std::isfinite(*number);
    if (row.kind == Kind::negative_binomial) {
      if (!positive) return Error{"", "expected negative-binomial:THETA with THETA above 0"};
      family.parameter = *number;
    } else if (row.kind == Kind::huber) {
      if (colon < text.size() && !positive)
        return Error{"", "expected huber or huber:DELTA with DELTA above 0"};
      family.parameter = number.value_or(HuberLoss{}.delta);
    } else if (colon < text.size()) {
      return Error{"", fmt::format("{} takes no number", name)};
    }
    return family;
  }
  return Error{"", fmt::format("'{}' is unknown; expected gaussian, binomial, poisson, gamma, "
                               "negative-binomial:THETA, multinomial, cox, huber[:DELTA] or "
                               "squared-hinge",
                               text)};
}

std::string Family::name() const {
  for (const FamilyName& row : family_names)
    if (row.kind == kind) {
      const bool numbered = kind == Kind::negative_binomial || kind == Kind::huber;
      return std::string(row.name) + (numbered ? ":" + exact(parameter) : "");
    }
  return {};
}

std::string Family::link() const {
  switch (kind) {
    case Kind::gaussian:
    case Kind::huber:
    case Kind::squared_hinge:
      return "identity";
    case Kind::binomial:
    case Kind::multinomial:
      return "logit";
    case Kind::poisson:
    case Kind::gamma:
    case Kind::negative_binomial:
    case Kind::cox:
      return "log";
  }
  return {};
}

ResponseKind Family::response() const {
  switch (kind) {
    case Kind::binomial:
    case Kind::squared_hinge:
      return ResponseKind::two_classes;
    case Kind::multinomial:
      return ResponseKind::classes;
    case Kind::cox:
      return ResponseKind::survival;
    case Kind::gaussian:
    case Kind::poisson:
    case Kind::gamma:
    case Kind::negative_binomial:
    case Kind::huber:
      return ResponseKind::number;
  }
  return {};
}

Loss Family::loss() const {
  switch (kind) {
    case Kind::gaussian:
      return SquaredLoss{};
    case Kind::binomial:
      return LogisticLoss{};
    case Kind::poisson:
      return PoissonLoss{};
    case Kind::gamma:
      return GammaLoss{};
    case Kind::negative_binomial:
      return NegativeBinomialLoss{parameter};
    case Kind::huber:
      return HuberLoss{parameter};
    case Kind::squared_hinge:
      return SquaredHingeLoss{};
    case Kind::multinomial:
    case Kind::cox:
      break;
  }
  return SquaredLoss{};
}

std::optional<std::string> Family::complaint(double response) const {
  if (kind == Kind::cox) {
    if (!(response >= 0)) return "expected a time of at least 0";
    return std::nullopt;
  }
  return has_margin() ? target_complaint(loss(), response) : std::nullopt;
}

RowFit fit_row(const Family& family, double eta, double response, double weight) {
  switch (family.kind) {
    case Kind::gaussian:
      return gaussian_row(eta, response);
    case Kind::binomial:
      return binomial_row(eta, response, weight);
    case Kind::poisson:
      return poisson_row(eta, response, weight);
    case Kind::gamma:
      return gamma_row(eta, response);
    case Kind::negative_binomial:
      return negative_binomial_row(family.parameter, eta, response, weight);
    case Kind::huber:
    case Kind::squared_hinge:
      return loss_row(family.loss(), eta, response);
    case Kind::multinomial:
    case Kind::cox:
      break;
  }
  return {};
}

double mean_at(const Family& family, double eta) {
  if (family.kind == Kind::binomial) return 1 / (1 + std::exp(-eta));
  return family.link() == "log" ? std::exp(eta) : eta;
}

double link_of_mean(const Family& family, double mean) {
  if (family.kind == Kind::binomial) {
    const double inside = std::clamp(mean, 1e-6, 1 - 1e-6);
    return std::log(inside / (1 - inside));
  }
  return family.link() == "log" ? std::log(std::max(mean, 1e-6)) : mean;
}

}  // namespace grove
