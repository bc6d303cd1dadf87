#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grove/base/text.h"
#include "grove/record/fitted_model.h"

namespace grove {
namespace {

std::string p_text(double p) {
  if (p < 2.2e-16) return "< 2e-16";
  return p < 1e-4 ? fmt::format("{:.2e}", p) : fmt::format("{:.3g}", p);
}

std::string_view stars(double p) {
  if (p < 0.001) return " ***";
  if (p < 0.01) return " **";
  if (p < 0.05) return " *";
  return p < 0.1 ? " ." : "";
}

std::string row_text(const CoefficientRow& row, std::size_t width) {
  std::string text = fmt::format("  {:<{}} {:>12.6g}", row.name, width, row.estimate);
  if (!row.std_error) return text + "\n";
  return text + fmt::format(" {:>11.5g} {:>8.3f} {:>9} {:>11.5g} {:>11.5g}{}\n", *row.std_error,
                            *row.statistic, p_text(*row.p_value), *row.low, *row.high,
                            stars(*row.p_value));
}

std::string table_text(const FittedModel& model) {
  const Inference& inference = model.inference;
  std::size_t width = 9;
  for (const CoefficientRow& row : inference.table) width = std::max(width, row.name.size());
  std::string text = fmt::format("  {:<{}} {:>12}", "", width, "Estimate");
  if (inference.kind != "none") {
    const std::string percent = exact(100 * inference.confidence);
    text += fmt::format(" {:>11} {:>8} {:>9} {:>11} {:>11}",
                        inference.kind == "robust" ? "Robust SE" : "Std. Error",
                        inference.uses_t ? "t value" : "z value",
                        inference.uses_t ? "Pr(>|t|)" : "Pr(>|z|)", percent + "% low", "high");
  }
  text += "\n";
  std::string class_name;
  for (const CoefficientRow& row : inference.table) {
    if (row.class_name != class_name)
      text += fmt::format("  {} against {}\n", row.class_name, model.encoding.classes.front());
    class_name = row.class_name;
    text += row_text(row, width);
  }
  if (inference.kind == "none")
    text += fmt::format("  no standard errors: {}\n", inference.reason);
  else if (!inference.reason.empty())
    text += fmt::format("  standard errors are {}\n", inference.reason);
  return text;
}

std::string fit_text(const FittedModel& model) {
  const Inference& inference = model.inference;
  std::string text;
  if (model.family.kind == Family::Kind::cox) {
    text += fmt::format("Log partial likelihood: {:.6f}", inference.log_likelihood.value_or(0));
    if (inference.null_log_likelihood)
      text += fmt::format(" (without terms: {:.6f})", *inference.null_log_likelihood);
    return text + fmt::format(", stratified by site, {} ties\n",
                              model.ties == Ties::efron ? "Efron's" : "Breslow's");
  }
  if (inference.dispersion_estimated)
    text += fmt::format("Dispersion: {:.6g}, estimated\n", inference.dispersion);
  if (inference.null_deviance)
    text += fmt::format("    Null deviance: {:.6g} on {} degrees of freedom\n",
                        *inference.null_deviance, inference.df_null);
  text += fmt::format("Residual deviance: {:.6g} on {} degrees of freedom\n", inference.deviance,
                      inference.df_residual);
  if (inference.aic) text += fmt::format("AIC: {:.6g}\n", *inference.aic);
  return text;
}

std::string sites_text(const FittedModel& model) {
  std::string text = fmt::format("{} rows used, {} dropped for missing cells\n",
                                 model.inference.samples, model.inference.dropped);
  for (const FittedSite& site : model.sites) {
    text += fmt::format("  {}: {} used", site.name, site.rows);
    if (site.dropped > 0) text += fmt::format(", {} dropped", site.dropped);
    std::string columns;
    for (const auto& [column, count] : site.missing)
      columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", count, column);
    text += columns.empty() ? "\n" : fmt::format(" (missing: {})\n", columns);
  }
  return text;
}

}  // namespace

std::string summary_text(const FittedModel& model) {
  std::string penalties;
  if (model.l1 > 0) penalties += fmt::format(", l1 {}", exact(model.l1));
  if (model.l2 > 0) penalties += fmt::format(", l2 {}", exact(model.l2));
  if (!penalties.empty() && model.standardize) penalties += " on standardized columns";
  return fmt::format("{}\n{} with link {}{}\n\n{}\n{}{}{}\n", model.encoding.formula.text,
                     model.family.name(), model.family.link(), penalties, table_text(model),
                     fit_text(model), sites_text(model), model.outcome);
}

}  // namespace grove
