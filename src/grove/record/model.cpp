#include "grove/record/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "grove/record/certificate_json.h"
#include "grove/record/json_format.h"
#include "grove/setup/loss_option.h"

namespace grove {
namespace {

using nlohmann::json;

constexpr auto model_format = "grove-model/1";

Model read_model(const json& from) {
  Model model;
  from.at("version").get_to(model.version);
  if (!loss_option(model.loss).set(from.at("loss").get<std::string>()))
    throw json::other_error::create(501, "loss: unknown " + from.at("loss").dump(), nullptr);
  const auto coefficients = from.at("coefficients").get<std::vector<double>>();
  model.coefficients = Eigen::Map<const Vector>(coefficients.data(), coefficients.size());
  if (from.at("features").get<std::size_t>() != coefficients.size())
    throw json::other_error::create(501, "features: differs from the coefficients' number",
                                    nullptr);
  if (!from.at("intercept").is_null()) model.intercept = from.at("intercept").get<double>();
  model.labels = labels_from(from.at("labels"));
  model.columns = columns_from(from);
  if (model.columns && model.columns->features.size() != coefficients.size())
    throw json::other_error::create(501, "columns: differ from the coefficients' number", nullptr);
  from.at("regularizer").at("l1").get_to(model.l1);
  from.at("regularizer").at("l2").get_to(model.l2);
  if (from.contains("objective")) from.at("objective").get_to(model.objective);
  if (from.contains("gap_bound")) model.gap_bound = from.at("gap_bound");
  if (from.contains("certificate")) model.certificate = certificate_from(from.at("certificate"));
  return model;
}

Scores classification_scores(const Loss& loss_function, const Vector& margins,
                             const Vector& targets) {
  double right = 0, loss = 0;
  for (Index k = 0; k < margins.size(); ++k) {
    right += (margins[k] > 0) == (targets[k] > 0.5);
    loss += LogisticLoss{}.at(margins[k], targets[k]).value;
  }
  const auto count = static_cast<double>(margins.size());
  Scores scores{.accuracy = right / count, .auc = area_under_curve(margins, targets)};
  if (has_probabilities(loss_function)) scores.log_loss = loss / count;
  return scores;
}

Scores regression_scores(const Vector& predicted, const Vector& targets) {
  const Vector residuals = predicted - targets;
  const auto count = static_cast<double>(predicted.size());
  const double variance = (targets.array() - targets.mean()).square().sum();
  Scores scores{.rmse = std::sqrt(residuals.squaredNorm() / count),
                .mae = residuals.lpNorm<1>() / count};
  if (variance > 0) scores.r_squared = 1 - residuals.squaredNorm() / variance;
  return scores;
}

}  // namespace

/// Mann-Whitney: the share of (positive, negative) pairs in the right order, ties counting half.
std::optional<double> area_under_curve(const Vector& margins, const Vector& targets) {
  std::vector<Index> order(static_cast<std::size_t>(margins.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::sort(order, {}, [&](Index k) { return margins[k]; });
  double positives = targets.sum(), rank_sum = 0;
  const double negatives = static_cast<double>(targets.size()) - positives;
  if (positives == 0 || negatives == 0) return std::nullopt;
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first + 1;
    while (last < order.size() && margins[order[last]] == margins[order[first]]) ++last;
    const double shared_rank = 0.5 * static_cast<double>(first + 1 + last);
    for (std::size_t k = first; k < last; ++k) rank_sum += targets[order[k]] * shared_rank;
    first = last;
  }
  return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives);
}

json to_json(const Model& model) {
  Loss loss = model.loss;
  json result = {
      {"format", model_format},
      {"version", model.version},
      {"loss", loss_option(loss).get()},
      {"features", model.coefficients.size()},
      {"labels", labels_json(model.labels)},
      {"intercept", model.intercept ? json(*model.intercept) : json(nullptr)},
      {"coefficients", std::vector<double>(model.coefficients.begin(), model.coefficients.end())},
      {"regularizer", {{"l1", model.l1}, {"l2", model.l2}}},
      {"objective", model.objective}};
  if (model.gap_bound) result["gap_bound"] = *model.gap_bound;
  if (model.certificate) result["certificate"] = to_json(*model.certificate);
  put_columns(model.columns, result);
  return result;
}

Result<Model> model_from_json(const json& from) {
  if (!has_format(from, model_format))
    return Error{"format", "is not a model; expected \"grove-model/1\""};
  try {  // nlohmann-json reports missing and mistyped fields by exception
    return read_model(from);
  } catch (const json::exception& error) {
    return Error{"model", plain_message(error)};
  }
}

Vector margins(const Model& model, const Samples& samples) {
  Vector known = Vector::Zero(samples.dimension());
  const Index common = std::min(samples.dimension(), model.coefficients.size());
  known.head(common) = model.coefficients.head(common);
  Vector result =
      std::visit([&](const auto& rows) -> Vector { return rows * known; }, samples.features);
  result.array() += model.intercept.value_or(0.0);
  return result;
}

Vector predicted_values(const Model& model, const Vector& margins) {
  return margins.unaryExpr([&](double margin) { return predicted_at(model.loss, margin); });
}

Scores score(const Model& model, const Vector& margins, const Vector& targets) {
  return is_classification(model.loss)
             ? classification_scores(model.loss, margins, targets)
             : regression_scores(predicted_values(model, margins), targets);
}

}  // namespace grove
