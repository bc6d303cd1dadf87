#include "grove/problem/inference.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "grove/problem/multinomial.h"

namespace grove {
namespace {

constexpr double two_pi = 6.283185307179586476925286766559;

Vector with_one(const DenseRows& rows, Index row, bool intercept) {
  Vector result(rows.cols() + (intercept ? 1 : 0));
  result.head(rows.cols()) = rows.row(row).transpose();
  if (intercept) result[rows.cols()] = 1;
  return result;
}

void count_row(double weight, InferenceSums& sums) {
  ++sums.rows;
  if (weight == 0) return;
  ++sums.rows_with_weight;
  sums.weight += weight;
  sums.log_weight += std::log(weight);
}

void add_row(const Family& family, const RowFit& fit, double eta, double response, double weight,
             InferenceSums& sums) {
  count_row(weight, sums);
  if (weight == 0) return;
  sums.deviance += weight * fit.deviance;
  sums.pearson += weight * fit.pearson;
  sums.log_likelihood += fit.log_likelihood;
  if (family.kind != Family::Kind::gamma) return;
  sums.log_response += weight * std::log(response);
  sums.ratio += weight * response / fit.mean;
  sums.log_mean += weight * eta;
}

InferenceSums margin_sums(const InferenceModel& model, const Design& design, const Vector& x,
                          bool products) {
  const auto& rows = std::get<DenseRows>(design.samples.features);
  InferenceSums sums;
  sums.information = Matrix::Zero(x.size(), x.size());
  if (products) sums.score_products = Matrix::Zero(x.size(), x.size());
  for (Index row = 0; row < rows.rows(); ++row) {
    const Vector features = with_one(rows, row, model.intercept);
    const double eta = design.offset(row) + features.dot(x);
    const double response = design.samples.targets[row], weight = design.weight(row);
    const RowFit fit = fit_row(model.family, eta, response, weight);
    add_row(model.family, fit, eta, response, weight, sums);
    sums.information.selfadjointView<Eigen::Lower>().rankUpdate(features, weight * fit.information);
    const double score = weight * fit.score;
    if (products)
      sums.score_products.selfadjointView<Eigen::Lower>().rankUpdate(features, score * score);
  }
  sums.information = Matrix(sums.information.selfadjointView<Eigen::Lower>());
  if (products) sums.score_products = Matrix(sums.score_products.selfadjointView<Eigen::Lower>());
  return sums;
}

Matrix summed_hessian(const Objective& objective, const Vector& x) {
  Matrix hessian;
  Vector gradient;
  ObjectiveScratch scratch;
  objective.evaluate(x, Batch::all(), &gradient, &hessian, scratch);
  return hessian;
}

InferenceSums multinomial_sums(const InferenceModel& model, const Design& design, const Vector& x,
                               bool products) {
  const auto& rows = std::get<DenseRows>(design.samples.features);
  const Matrix p = class_probabilities(rows, model.classes, model.intercept, x);
  InferenceSums sums;
  if (products) sums.score_products = Matrix::Zero(x.size(), x.size());
  for (Index row = 0; row < rows.rows(); ++row) {
    const double weight = design.weight(row);
    const auto target = static_cast<Index>(design.samples.targets[row]);
    count_row(weight, sums);
    if (weight == 0) continue;
    sums.log_likelihood += weight * std::log(p(row, target));
    if (!products) continue;
    Vector score(x.size());
    for (Index c = 1; c < model.classes; ++c) {
      const double slope = weight * ((c == target ? 1 : 0) - p(row, c));
      score.segment((c - 1) * rows.cols(), rows.cols()) = slope * rows.row(row).transpose();
      if (model.intercept) score[(model.classes - 1) * rows.cols() + c - 1] = slope;
    }
    sums.score_products += score * score.transpose();
  }
  sums.deviance = -2 * sums.log_likelihood;
  const SiteTerms terms{.intercept = model.intercept,
                        .scale = static_cast<double>(design.samples.count())};
  sums.information = summed_hessian(*make_multinomial_objective(design, model.classes, terms), x);
  return sums;
}

InferenceSums cox_sums(const InferenceModel& model, const Design& design, const Vector& x) {
  InferenceSums sums;
  for (Index row = 0; row < design.samples.count(); ++row) count_row(design.weight(row), sums);
  sums.log_likelihood = cox_log_likelihood(design, model.ties, x);
  sums.deviance = -2 * sums.log_likelihood;
  const SiteTerms terms{.scale = static_cast<double>(design.samples.count())};
  sums.information = summed_hessian(*make_cox_objective(design, model.ties, terms), x);
  return sums;
}

/// Twice the negative log likelihood plus twice the number of parameters, as R's families have it.
std::optional<double> aic_of(const Family& family, const InferenceSums& sums, double parameters) {
  switch (family.kind) {
    case Family::Kind::gaussian: {
      const double n = sums.rows_with_weight;
      return n * (std::log(two_pi * sums.deviance / n) + 1) + 2 - sums.log_weight + 2 * parameters;
    }
    case Family::Kind::gamma: {
      const double dispersion = sums.deviance / sums.weight, shape = 1 / dispersion;
      const double log_density = (shape - 1) * sums.log_response - shape * sums.ratio -
                                 shape * (sums.log_mean + sums.weight * std::log(dispersion)) -
                                 sums.weight * std::lgamma(shape);
      return -2 * log_density + 2 + 2 * parameters;
    }
    case Family::Kind::binomial:
    case Family::Kind::poisson:
    case Family::Kind::negative_binomial:
    case Family::Kind::multinomial:
    case Family::Kind::cox:
      return -2 * sums.log_likelihood + 2 * parameters;
    case Family::Kind::huber:
    case Family::Kind::squared_hinge:
      break;
  }
  return std::nullopt;
}

/// The inverse by Cholesky of the matrix scaled to a unit diagonal; none where it is singular.
std::optional<Matrix> inverse_of(const Matrix& matrix) {
  if (!matrix.allFinite() || !(matrix.diagonal().minCoeff() > 0)) return std::nullopt;
  const Vector scale = matrix.diagonal().cwiseSqrt().cwiseInverse();
  const Matrix scaled = scale.asDiagonal() * matrix * scale.asDiagonal();
  const Eigen::SelfAdjointEigenSolver<Matrix> spectrum(scaled, Eigen::EigenvaluesOnly);
  if (!(spectrum.eigenvalues()[0] > 1e-13)) return std::nullopt;
  const Eigen::LLT<Matrix> factor(scaled);
  return Matrix(scale.asDiagonal() * factor.solve(Matrix::Identity(scaled.rows(), scaled.cols())) *
                scale.asDiagonal());
}

/// Calls ask with the distribution of estimate / error where the coefficient is zero.
template <class Ask>
double with_distribution(const Inference& inference, const Ask& ask) {
  return inference.uses_t ? ask(boost::math::students_t(inference.df_residual))
                          : ask(boost::math::normal());
}

void fill_row(double estimate, double variance, const Inference& inference, CoefficientRow& row) {
  row.estimate = estimate;
  if (inference.kind == "none" || !(variance > 0)) return;
  const double error = std::sqrt(variance), statistic = estimate / error;
  const double quantile = interval_quantile(inference, inference.confidence);
  row.std_error = error;
  row.statistic = statistic;
  row.p_value = with_distribution(inference, [&](const auto& distribution) {
    return 2 * cdf(complement(distribution, std::abs(statistic)));
  });
  row.low = estimate - quantile * error;
  row.high = estimate + quantile * error;
}

void fill_summary(const InferenceModel& model, const InferenceSums& sums,
                  const std::optional<InferenceSums>& null_fit, double parameters,
                  Inference& inference) {
  const Family& family = model.family;
  inference.deviance = sums.deviance;
  inference.samples = static_cast<std::size_t>(sums.rows);
  const bool multinomial = family.kind == Family::Kind::multinomial;
  const double equations = multinomial ? static_cast<double>(model.classes - 1) : 1;
  inference.df_residual = equations * sums.rows_with_weight - parameters;
  inference.df_null = equations * (sums.rows_with_weight - (model.intercept ? 1 : 0));
  if (family.kind == Family::Kind::cox) inference.df_null = sums.rows_with_weight;
  if (null_fit) inference.null_deviance = null_fit->deviance;
  inference.dispersion_estimated = family.estimates_dispersion();
  if (inference.dispersion_estimated)
    inference.dispersion =
        inference.df_residual > 0 ? sums.pearson / inference.df_residual : std::nan("");
  if (!family.is_likelihood()) return;
  inference.aic = aic_of(family, sums, parameters);
  const double counted = parameters + (inference.dispersion_estimated ? 1 : 0);
  inference.log_likelihood = counted - *inference.aic / 2;  // R's logLik()
  if (null_fit && family.kind == Family::Kind::cox)
    inference.null_log_likelihood = null_fit->log_likelihood;
}

/// The covariance of the coefficients in scaled scaling.
std::optional<Matrix> covariance_of(const InferenceSums& sums, const ColumnScaling& scaling,
                                    const InferenceOptions& options, double dispersion) {
  Matrix information = sums.information;
  const Index penalized = scaling.blocks * scaling.features();
  information.diagonal().head(penalized).array() += options.ridge;
  const auto inverse = inverse_of(information);
  if (!inverse) return std::nullopt;
  if (options.robust) return *inverse * sums.score_products * *inverse;
  return dispersion * *inverse;
}

}  // namespace

InferenceSums inference_sums(const InferenceModel& model, const Design& design, const Vector& x,
                             bool score_products) {
  if (model.family.kind == Family::Kind::multinomial)
    return multinomial_sums(model, design, x, score_products);
  if (model.family.kind == Family::Kind::cox) return cox_sums(model, design, x);
  return margin_sums(model, design, x, score_products);
}

NullSums null_sums(const InferenceModel& model, const Design& design, double intercept) {
  NullSums result;
  result.sums.information = Matrix::Zero(1, 1);
  if (model.family.kind == Family::Kind::cox) {
    const Vector zero = Vector::Zero(design.samples.dimension());
    result.sums.log_likelihood = cox_log_likelihood(design, model.ties, zero);
    result.sums.deviance = -2 * result.sums.log_likelihood;
    return result;
  }
  for (Index row = 0; row < design.samples.count(); ++row) {
    const double eta = design.offset(row) + intercept, weight = design.weight(row);
    const double response = design.samples.targets[row];
    const RowFit fit = fit_row(model.family, eta, response, weight);
    add_row(model.family, fit, eta, response, weight, result.sums);
    result.sums.information(0, 0) += weight * fit.information;
    result.score += weight * fit.score;
  }
  return result;
}

Inference infer(const InferenceModel& model, const InferenceSums& sums,
                const std::optional<InferenceSums>& null_fit, const Vector& x,
                const ColumnScaling& scaling, const std::vector<std::string>& names,
                const std::vector<std::string>& classes, const InferenceOptions& options) {
  Inference inference{.confidence = options.confidence};
  const Index parameters = options.selects ? (x.array() != 0).count() : x.size();
  fill_summary(model, sums, null_fit, static_cast<double>(parameters), inference);
  const Matrix map = scaling.map();
  const Vector estimates = map * x;
  Matrix covariance = Matrix::Zero(x.size(), x.size());
  inference.uses_t = inference.dispersion_estimated;
  inference.reason = options.refusal;
  if (!model.family.is_likelihood())
    inference.reason = "the loss is no likelihood";
  else if (inference.dispersion_estimated && !(inference.df_residual > 0))
    inference.reason = "there are no more rows than coefficients";
  if (inference.reason.empty()) {
    if (const auto scaled = covariance_of(sums, scaling, options, inference.dispersion)) {
      covariance = map * *scaled * map.transpose();
      inference.kind = options.robust ? "robust" : "model";
      if (options.ridge > 0) inference.reason = "of the penalized information";
    } else {
      inference.reason = "the information matrix is singular";
    }
  }
  const Index features = scaling.features();
  for (Index block = 0; block < scaling.blocks; ++block) {
    const std::string class_name =
        classes.empty() ? "" : classes[static_cast<std::size_t>(block) + 1];
    const auto add = [&](const std::string& name, Index position) {
      CoefficientRow row{.name = name, .class_name = class_name};
      fill_row(estimates[position], covariance(position, position), inference, row);
      inference.table.push_back(std::move(row));
    };
    if (scaling.intercept) add("Intercept", scaling.blocks * features + block);
    for (Index k = 0; k < features; ++k)
      add(names[static_cast<std::size_t>(k)], block * features + k);
  }
  return inference;
}

double interval_quantile(const Inference& inference, double confidence) {
  return with_distribution(inference, [&](const auto& distribution) {
    return boost::math::quantile(complement(distribution, (1 - confidence) / 2));
  });
}

std::vector<std::string> collinear_columns(const Matrix& gram,
                                           const std::vector<std::string>& names) {
  const Vector scale = gram.diagonal().cwiseSqrt();
  Matrix scaled = gram;
  for (Index j = 0; j < gram.cols(); ++j)
    for (Index i = 0; i < gram.rows(); ++i)
      scaled(i, j) = scale[i] > 0 && scale[j] > 0 ? gram(i, j) / (scale[i] * scale[j]) : 0;
  const Eigen::SelfAdjointEigenSolver<Matrix> spectrum(scaled);
  constexpr double singular = 1e-12, part = 1e-4;
  std::vector<std::string> found;
  for (Index k = 0; k < gram.rows(); ++k) {
    const bool involved = [&] {
      for (Index e = 0; e < gram.rows(); ++e)
        if (spectrum.eigenvalues()[e] < singular && std::abs(spectrum.eigenvectors()(k, e)) > part)
          return true;
      return false;
    }();
    if (involved) found.push_back(names[static_cast<std::size_t>(k)]);
  }
  return found;
}

}  // namespace grove
