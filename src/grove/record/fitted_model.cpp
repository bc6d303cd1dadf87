#include "grove/record/fitted_model.h"

#include <algorithm>

#include "grove/base/text.h"
#include "grove/record/json_format.h"

namespace grove {
namespace {

using nlohmann::json;

constexpr auto fitted_format = "grove-model/2";

json optional_json(const std::optional<double>& value) {
  return value ? json(*value) : json(nullptr);
}

std::optional<double> optional_number(const json& from, const char* key) {
  if (!from.contains(key) || from.at(key).is_null()) return std::nullopt;
  return from.at(key).get<double>();
}

std::vector<double> numbers(const Vector& vector) { return {vector.begin(), vector.end()}; }

Vector numbers_from(const json& from) {
  const auto values = from.get<std::vector<double>>();
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

json labels_of(const std::vector<std::string>& classes) {
  if (classes.size() != 2) return nullptr;
  const auto negative = parse_double(classes[0]), positive = parse_double(classes[1]);
  if (negative && positive) return {{"negative", *negative}, {"positive", *positive}};
  return {{"negative", classes[0]}, {"positive", classes[1]}};
}

std::string policy_name(MissingPolicy policy) {
  switch (policy) {
    case MissingPolicy::drop:
      return "drop";
    case MissingPolicy::refuse:
      return "refuse";
    case MissingPolicy::mean:
      return "mean";
    case MissingPolicy::indicator:
      return "indicator";
  }
  return {};
}

MissingPolicy policy_from(const std::string& name) {
  for (const MissingPolicy policy :
       {MissingPolicy::drop, MissingPolicy::refuse, MissingPolicy::mean, MissingPolicy::indicator})
    if (policy_name(policy) == name) return policy;
  throw json::other_error::create(501, "missing: unknown policy " + name, nullptr);
}

json variables_json(const Encoding& encoding) {
  json variables = json::array();
  for (std::size_t k = 0; k < encoding.factors.size(); ++k) {
    json row = {{"name", encoding.formula.variables[k].name}};
    if (const auto& factor = encoding.factors[k]) {
      row["kind"] = "factor";
      row["levels"] = factor->levels;
      row["reference"] = factor->levels[factor->reference];
      if (factor->missing_level) row["missing_level"] = true;
    } else {
      row["kind"] = "numeric";
    }
    variables.push_back(std::move(row));
  }
  return variables;
}

/// The formula is parsed again over the columns it was parsed with; levels come from the model.
Encoding encoding_from(const json& from, const Family& family) {
  const json& encoding_part = from.at("encoding");
  const auto columns = encoding_part.at("table_columns").get<std::vector<std::string>>();
  const auto formula = parse_formula(from.at("formula").get<std::string>(), columns);
  if (!formula) throw json::other_error::create(501, formula.error().text(), nullptr);
  Encoding encoding{.formula = *formula};
  encoding.roles = {.response = family.response(),
                    .missing = policy_from(encoding_part.at("missing").get<std::string>()),
                    .weights = encoding_part.at("weights").get<std::string>(),
                    .offset = encoding_part.at("offset").get<std::string>()};
  encoding.factors.resize(formula->variables.size());
  const json& variables = from.at("variables");
  for (std::size_t k = 0; k < encoding.factors.size(); ++k) {
    const json& row = variables.at(k);
    if (row.at("kind") != "factor") continue;
    FactorLevels factor{.levels = row.at("levels").get<std::vector<std::string>>()};
    const auto reference = std::ranges::find(factor.levels, row.at("reference").get<std::string>());
    if (reference == factor.levels.end())
      throw json::other_error::create(501, "reference: is no level", nullptr);
    factor.reference = static_cast<std::size_t>(reference - factor.levels.begin());
    factor.missing_level = row.value("missing_level", false);
    encoding.factors[k] = std::move(factor);
  }
  encoding.fill = encoding_part.at("fill").get<FillValues>();
  encoding.classes = from.at("classes").get<std::vector<std::string>>();
  const Status laid_out = lay_out_columns(encoding);
  if (!laid_out) throw json::other_error::create(501, laid_out.error().text(), nullptr);
  return encoding;
}

Inference inference_from(const json& from) {
  const json& part = from.at("inference");
  Inference inference;
  part.at("kind").get_to(inference.kind);
  part.at("reason").get_to(inference.reason);
  inference.uses_t = part.at("distribution") == "t";
  part.at("confidence").get_to(inference.confidence);
  part.at("deviance").get_to(inference.deviance);
  inference.null_deviance = optional_number(part, "null_deviance");
  part.at("df_residual").get_to(inference.df_residual);
  part.at("df_null").get_to(inference.df_null);
  inference.dispersion = optional_number(part, "dispersion").value_or(std::nan(""));
  part.at("dispersion_estimated").get_to(inference.dispersion_estimated);
  inference.aic = optional_number(part, "aic");
  inference.log_likelihood = optional_number(part, "log_likelihood");
  inference.null_log_likelihood = optional_number(part, "null_log_likelihood");
  part.at("samples").get_to(inference.samples);
  part.at("dropped").get_to(inference.dropped);
  for (const json& row : from.at("table"))
    inference.table.push_back({.name = row.at("name").get<std::string>(),
                               .class_name = row.value("class", ""),
                               .estimate = row.at("estimate").get<double>(),
                               .std_error = optional_number(row, "std_error"),
                               .statistic = optional_number(row, "statistic"),
                               .p_value = optional_number(row, "p_value"),
                               .low = optional_number(row, "low"),
                               .high = optional_number(row, "high")});
  return inference;
}

FittedModel read_fitted_model(const json& from) {
  FittedModel model;
  from.at("version").get_to(model.version);
  const auto family = Family::parse(from.at("family").get<std::string>());
  if (!family) throw json::other_error::create(501, "family: " + family.error().what, nullptr);
  model.family = *family;
  model.ties = from.value("ties", "efron") == "breslow" ? Ties::breslow : Ties::efron;
  model.encoding = encoding_from(from, model.family);
  model.coefficients = numbers_from(from.at("coefficients"));
  model.intercepts = numbers_from(from.at("intercepts"));
  model.intercept = model.intercepts.size() > 0;
  if (model.coefficients.size() !=
      model.blocks() * static_cast<Index>(model.encoding.columns.size()))
    throw json::other_error::create(501, "coefficients: their number differs from the columns'",
                                    nullptr);
  from.at("regularizer").at("l1").get_to(model.l1);
  from.at("regularizer").at("l2").get_to(model.l2);
  model.standardize = from.value("standardize", false);
  from.at("objective").get_to(model.objective);
  from.at("outcome").get_to(model.outcome);
  model.inference = inference_from(from);
  if (from.contains("selection")) model.selection = from.at("selection");
  if (from.contains("test")) model.test = from.at("test");
  for (const json& site : from.at("sites"))
    model.sites.push_back({site.at("name").get<std::string>(), site.at("rows").get<std::size_t>(),
                           site.at("dropped").get<std::size_t>(),
                           site.at("missing").get<std::map<std::string, std::size_t>>()});
  return model;
}

}  // namespace

Index FittedModel::blocks() const {
  return family.kind == Family::Kind::multinomial ? static_cast<Index>(encoding.classes.size()) - 1
                                                  : 1;
}

json table_json(const std::vector<CoefficientRow>& table) {
  json rows = json::array();
  for (const CoefficientRow& row : table) {
    json one = {{"name", row.name},
                {"estimate", row.estimate},
                {"std_error", optional_json(row.std_error)},
                {"statistic", optional_json(row.statistic)},
                {"p_value", optional_json(row.p_value)},
                {"low", optional_json(row.low)},
                {"high", optional_json(row.high)}};
    if (!row.class_name.empty()) one["class"] = row.class_name;
    rows.push_back(std::move(one));
  }
  return rows;
}

json inference_json(const Inference& inference) {
  json result = {{"kind", inference.kind},
                 {"reason", inference.reason},
                 {"distribution", inference.uses_t ? "t" : "normal"},
                 {"confidence", inference.confidence},
                 {"deviance", inference.deviance},
                 {"null_deviance", optional_json(inference.null_deviance)},
                 {"df_residual", inference.df_residual},
                 {"df_null", inference.df_null},
                 {"dispersion", inference.dispersion},
                 {"dispersion_estimated", inference.dispersion_estimated},
                 {"aic", optional_json(inference.aic)},
                 {"log_likelihood", optional_json(inference.log_likelihood)},
                 {"samples", inference.samples},
                 {"dropped", inference.dropped}};
  if (inference.null_log_likelihood) result["null_log_likelihood"] = *inference.null_log_likelihood;
  return result;
}

json to_json(const FittedModel& model) {
  const Encoding& encoding = model.encoding;
  json names = json::array(), terms = json::array(), sites = json::array();
  for (const DesignColumn& column : encoding.columns) names.push_back(column.name);
  for (const Term& term : encoding.formula.terms) terms.push_back(encoding.formula.name_of(term));
  for (const FittedSite& site : model.sites)
    sites.push_back({{"name", site.name},
                     {"rows", site.rows},
                     {"dropped", site.dropped},
                     {"missing", site.missing}});
  json result = {
      {"format", fitted_format},
      {"version", model.version},
      {"loss", model.family.has_margin() ? name_of(model.family.loss()) : model.family.name()},
      {"family", model.family.name()},
      {"link", model.family.link()},
      {"formula", encoding.formula.text},
      {"features", model.coefficients.size()},
      {"labels", labels_of(encoding.classes)},
      {"classes", encoding.classes},
      {"intercept", model.intercepts.size() == 1 ? json(model.intercepts[0]) : json()},
      {"intercepts", numbers(model.intercepts)},
      {"coefficients", numbers(model.coefficients)},
      {"columns", names},
      {"label_column", encoding.formula.response.name},
      {"terms", terms},
      {"variables", variables_json(encoding)},
      {"regularizer", {{"l1", model.l1}, {"l2", model.l2}}},
      {"standardize", model.standardize},
      {"objective", model.objective},
      {"outcome", model.outcome},
      {"table", table_json(model.inference.table)},
      {"inference", inference_json(model.inference)},
      {"sites", sites}};
  result["encoding"] = {{"table_columns", encoding.formula.columns()},
                        {"missing", policy_name(encoding.roles.missing)},
                        {"weights", encoding.roles.weights},
                        {"offset", encoding.roles.offset},
                        {"fill", encoding.fill}};
  if (!model.selection.is_null()) result["selection"] = model.selection;
  if (!model.test.is_null()) result["test"] = model.test;
  if (model.family.kind == Family::Kind::cox)
    result["ties"] = model.ties == Ties::efron ? "efron" : "breslow";
  return result;
}

bool is_fitted_model(const json& from) { return has_format(from, fitted_format); }

Result<FittedModel> fitted_model_from_json(const json& from) {
  if (!is_fitted_model(from))
    return Error{"format", "is no fitted model; expected \"grove-model/2\""};
  try {  // nlohmann-json reports missing and mistyped fields by exception
    return read_fitted_model(from);
  } catch (const json::exception& error) {
    return Error{"model", plain_message(error)};
  }
}

Matrix linear_predictors(const FittedModel& model, const Design& design) {
  const auto& rows = std::get<DenseRows>(design.samples.features);
  const Eigen::Map<const Matrix> coefficients(model.coefficients.data(), rows.cols(),
                                              model.blocks());
  Matrix eta = rows * coefficients;
  if (model.intercepts.size() > 0) eta.rowwise() += model.intercepts.transpose();
  if (design.offsets.size() > 0) eta.colwise() += design.offsets;
  return eta;
}

Vector class_probabilities(const Eigen::RowVectorXd& linear_predictors) {
  Vector scores = Vector::Zero(linear_predictors.size() + 1);  // that of the first class is zero
  scores.tail(linear_predictors.size()) = linear_predictors.transpose();
  scores = (scores.array() - scores.maxCoeff()).exp();
  return scores / scores.sum();
}

}  // namespace grove
