#include "grove/record/fitted_scores.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <Eigen/LU>

namespace grove {
namespace {

using Kind = Family::Kind;

/// response ~ 1 + eta in the model's family, by Newton's method from the perfect slope.
std::optional<Eigen::Vector2d> calibration_line(const Family& family, const Vector& eta,
                                                const Design& design) {
  Eigen::Vector2d line(0, 1);
  for (int step = 0; step < 50; ++step) {
    Eigen::Vector2d score = Eigen::Vector2d::Zero();
    Eigen::Matrix2d information = Eigen::Matrix2d::Zero();
    for (Index row = 0; row < eta.size(); ++row) {
      const Eigen::Vector2d features(1, eta[row]);
      const double weight = design.weight(row);
      const RowFit fit = fit_row(family, line.dot(features), design.samples.targets[row], weight);
      score += weight * fit.score * features;
      information += weight * fit.information * features * features.transpose();
    }
    if (!(information.determinant() > 1e-12 * information(0, 0) * information(1, 1)))
      return std::nullopt;
    const Eigen::Vector2d move = information.inverse() * score;
    if (!move.allFinite()) return std::nullopt;
    line += move * std::min(1.0, 2 / (1e-300 + move.lpNorm<Eigen::Infinity>()));
    if (move.lpNorm<Eigen::Infinity>() < 1e-10) return line;
  }
  return std::nullopt;
}

Matrix probabilities_of(const Matrix& eta) {
  Matrix result(eta.rows(), eta.cols() + 1);
  result.col(0).setZero();
  result.rightCols(eta.cols()) = eta;
  for (Index row = 0; row < result.rows(); ++row) {
    result.row(row) = (result.row(row).array() - result.row(row).maxCoeff()).exp();
    result.row(row) /= result.row(row).sum();
  }
  return result;
}

FittedScores class_scores(const Matrix& eta, const Design& design) {
  const Matrix p = probabilities_of(eta);
  FittedScores scores{.rows = static_cast<double>(eta.rows())};
  double loss = 0, right = 0, weight = 0;
  for (Index row = 0; row < p.rows(); ++row) {
    Index best = 0;
    p.row(row).maxCoeff(&best);
    const auto target = static_cast<Index>(design.samples.targets[row]);
    loss -= design.weight(row) * std::log(p(row, target));
    right += design.weight(row) * (best == target ? 1 : 0);
    weight += design.weight(row);
  }
  scores.log_loss = loss / weight;
  scores.accuracy = right / weight;
  scores.deviance = 2 * loss;
  return scores;
}

}  // namespace

std::vector<std::pair<std::string, double>> FittedScores::named() const {
  std::vector<std::pair<std::string, double>> result{{"rows", rows}};
  const auto add = [&](const char* key, const std::optional<double>& value) {
    if (value) result.emplace_back(key, *value);
  };
  add("deviance", deviance);
  add("log_loss", log_loss);
  add("accuracy", accuracy);
  add("auc", auc);
  add("calibration_slope", calibration_slope);
  add("calibration_intercept", calibration_intercept);
  add("rmse", rmse);
  add("mae", mae);
  return result;
}

FittedScores score(const FittedModel& model, const Design& design) {
  const Matrix eta = linear_predictors(model, design);
  const Vector& targets = design.samples.targets;
  if (model.family.kind == Kind::multinomial) return class_scores(eta, design);
  if (model.family.kind == Kind::cox)
    return {.rows = static_cast<double>(eta.rows()),
            .deviance = -2 * cox_log_likelihood(design, model.ties, model.coefficients)};
  FittedScores scores{.rows = static_cast<double>(eta.rows())};
  if (model.family.kind == Kind::binomial) {
    const Vector line = eta.col(0);
    if (!model.encoding.classes.empty()) {
      scores = class_scores(eta, design);
      scores.auc = area_under_curve(line, targets);
    }
  } else {
    double squares = 0, distances = 0;
    for (Index row = 0; row < eta.rows(); ++row) {
      const double error = targets[row] - mean_at(model.family, eta(row, 0));
      squares += error * error;
      distances += std::abs(error);
    }
    scores.rmse = std::sqrt(squares / scores.rows);
    scores.mae = distances / scores.rows;
  }
  if (!model.family.is_likelihood()) return scores;
  double deviance = 0;
  for (Index row = 0; row < eta.rows(); ++row) {
    const double weight = design.weight(row);
    deviance += weight * fit_row(model.family, eta(row, 0), targets[row], weight).deviance;
  }
  scores.deviance = deviance;
  if (const auto line = calibration_line(model.family, eta.col(0), design)) {
    scores.calibration_intercept = (*line)[0];
    scores.calibration_slope = (*line)[1];
  }
  return scores;
}

std::vector<CalibrationBin> calibration_bins(const FittedModel& model, const Design& design) {
  if (!model.family.has_margin() || !model.family.is_likelihood()) return {};
  const Vector eta = linear_predictors(model, design).col(0);
  std::vector<Index> order(static_cast<std::size_t>(eta.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, [&](Index row) { return eta[row]; });
  const std::size_t bins = std::min<std::size_t>(10, order.size());
  std::vector<CalibrationBin> result(bins);
  for (std::size_t k = 0; k < order.size(); ++k) {
    CalibrationBin& bin = result[k * bins / order.size()];
    bin.predicted += mean_at(model.family, eta[order[k]]);
    bin.observed += design.samples.targets[order[k]];
    ++bin.rows;
  }
  for (CalibrationBin& bin : result) {
    bin.predicted /= bin.rows;
    bin.observed /= bin.rows;
  }
  return result;
}

}  // namespace grove
