#include "grove/data/encoding.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/data/lines.h"

namespace grove {
namespace {

constexpr const char* missing_level_name = "missing";

/// Where the variable stands in the formula: the first term that has it.
TextRange range_of(const Formula& formula, std::size_t variable) {
  for (const Term& term : formula.terms)
    if (std::ranges::find(term.variables, variable) != term.variables.end()) return term.range;
  return {};
}

Error variable_error(const Formula& formula, std::size_t variable, std::string what) {
  return formula_error(formula.text, range_of(formula, variable), std::move(what));
}

Status check_kinds(const Formula& formula, std::size_t k, const TableSummary& summary) {
  const Variable& variable = formula.variables[k];
  const auto found = summary.kinds.find(variable.column);
  if (found == summary.kinds.end()) return success();
  const ColumnKinds& kinds = found->second;
  if (kinds.text_site.empty() || kinds.number_site.empty()) return success();
  return variable_error(
      formula, k,
      fmt::format("column {} holds numbers at {} and texts, as {}, at {}; C({}) makes a factor of "
                  "it everywhere",
                  shown(variable.column), kinds.number_site, shown(kinds.example), kinds.text_site,
                  variable.column));
}

Result<FactorLevels> factor_levels(const Formula& formula, std::size_t k, const TableRoles& roles,
                                   const TableSummary& summary) {
  const Variable& variable = formula.variables[k];
  FactorLevels factor{.levels = sorted_levels(summary.levels.at(variable.name))};
  if (roles.missing == MissingPolicy::indicator && summary.missing.contains(variable.column)) {
    factor.levels.emplace_back(missing_level_name);
    factor.missing_level = true;
  }
  if (factor.levels.size() < 2)
    return variable_error(formula, k,
                          fmt::format("the factor has the one level {} at all sites; expected two "
                                      "or more",
                                      factor.levels.empty() ? "" : shown(factor.levels[0])));
  if (variable.reference.empty()) return factor;
  const auto found = std::ranges::find(factor.levels, variable.reference);
  if (found == factor.levels.end())
    return variable_error(formula, k,
                          fmt::format("there is no level {} to refer to; expected one of {}",
                                      shown(variable.reference), fmt::join(factor.levels, ", ")));
  factor.reference = static_cast<std::size_t>(found - factor.levels.begin());
  return factor;
}

Error response_error(const Formula& formula, std::string what) {
  return formula_error(formula.text, formula.response.expression.range, std::move(what));
}

/// Two sites whose labels differ, both by name.
std::string differing_sites(const TableSummary& summary) {
  const SiteSummary& first = summary.sites.front();
  for (const SiteSummary& site : summary.sites)
    if (site.response_levels != first.response_levels)
      return fmt::format(": {} has {}; {} has {}", first.name,
                         fmt::join(first.response_levels, ", "), site.name,
                         fmt::join(site.response_levels, ", "));
  return fmt::format(": every site has {}", fmt::join(first.response_levels, ", "));
}

Result<std::vector<std::string>> response_classes(const Formula& formula, const TableRoles& roles,
                                                  const TableSummary& summary) {
  using Classes = std::vector<std::string>;
  if (roles.response == ResponseKind::number || roles.response == ResponseKind::survival)
    return Classes{};
  Classes levels = sorted_levels(summary.response_levels);
  if (levels.size() < 2)
    return response_error(formula, fmt::format("the response has the one value {} at all sites; "
                                               "expected two or more",
                                               levels.empty() ? "" : shown(levels[0])));
  if (roles.response == ResponseKind::classes) {
    constexpr std::size_t most_classes = 100;
    if (levels.size() <= most_classes) return levels;
    return response_error(formula, fmt::format("the response has {} values or more; expected at "
                                               "most {} classes",
                                               levels.size(), most_classes));
  }
  if (levels.size() == 2) return levels;
  const bool fractions =
      !summary.response_is_text && summary.response_low >= 0 && summary.response_high <= 1;
  if (fractions) return Classes{};
  return response_error(formula,
                        "expected two labels, the same at all sites, or fractions between "
                        "0 and 1" +
                            differing_sites(summary));
}

/// Whether a factor of a term is coded without its reference level: where the term without this
/// factor is in the model, the full set of levels would be collinear with it.
bool has_margin(const Formula& formula, const Term& term, std::size_t variable,
                bool constant_is_spanned) {
  Term margin = term;
  std::erase(margin.variables, variable);
  if (margin.variables.empty()) return constant_is_spanned;
  return std::ranges::find(formula.terms, margin) != formula.terms.end();
}

void add_columns(Encoding& encoding, const Term& term, bool& constant_is_spanned) {
  std::vector<DesignColumn> columns{{.range = term.range}};
  for (const std::size_t k : term.variables) {
    const Variable& variable = encoding.formula.variables[k];
    std::vector<DesignColumn> longer;
    const auto extend = [&](const std::string& name, int level) {
      for (DesignColumn column : columns) {
        column.name += (column.name.empty() ? "" : ":") + name;
        column.parts.push_back({k, level});
        longer.push_back(std::move(column));
      }
    };
    if (const auto& factor = encoding.factors[k]) {
      const bool reduced = has_margin(encoding.formula, term, k, constant_is_spanned);
      if (!reduced && term.variables.size() == 1) constant_is_spanned = true;
      for (std::size_t level = 0; level < factor->levels.size(); ++level)
        if (!reduced || level != factor->reference)
          extend(fmt::format("{}[{}{}]", variable.name, reduced ? "T." : "", factor->levels[level]),
                 static_cast<int>(level));
    } else {
      extend(variable.name, -1);
    }
    columns = std::move(longer);
  }
  encoding.columns.insert(encoding.columns.end(), columns.begin(), columns.end());
}

}  // namespace

Status lay_out_columns(Encoding& encoding) {
  encoding.columns.clear();
  bool constant_is_spanned = encoding.formula.intercept;
  for (const Term& term : encoding.formula.terms) add_columns(encoding, term, constant_is_spanned);
  if (encoding.roles.missing == MissingPolicy::indicator)
    for (const auto& [column, mean] : encoding.fill)
      encoding.columns.push_back(
          {.name = fmt::format("missing({})", column), .parts = {}, .indicator_of = column});
  return success();
}

Result<Encoding> agree(const Formula& formula, const TableRoles& roles,
                       const TableSummary& summary) {
  Encoding encoding{.formula = formula, .roles = roles};
  encoding.factors.resize(formula.variables.size());
  for (std::size_t k = 0; k < formula.variables.size(); ++k) {
    const Variable& variable = formula.variables[k];
    if (!variable.is_factor) {
      if (Status status = check_kinds(formula, k, summary); !status) return status.error();
      if (!summary.levels.contains(variable.name)) continue;
    }
    auto levels = factor_levels(formula, k, roles, summary);
    if (!levels) return levels.error();
    encoding.factors[k] = std::move(*levels);
  }
  auto classes = response_classes(formula, roles, summary);
  if (!classes) return classes.error();
  encoding.classes = std::move(*classes);
  if (const std::string& reference = formula.response.reference; !reference.empty()) {
    const auto found = std::ranges::find(encoding.classes, reference);
    if (found == encoding.classes.end())
      return response_error(formula,
                            fmt::format("there is no class {} to refer to; expected one "
                                        "of {}",
                                        shown(reference), fmt::join(encoding.classes, ", ")));
    std::rotate(encoding.classes.begin(), found, found + 1);  // the others stay in order
  }
  for (const auto& [column, mean] : summary.means)
    if (summary.missing.contains(column) && mean.count > 0)
      encoding.fill[column] = mean.sum / mean.count;
  if (Status status = lay_out_columns(encoding); !status) return status.error();
  if (encoding.columns.empty() && !formula.intercept)
    return formula_error(formula.text, {0, formula.text.size()},
                         "expected at least one term or an intercept");
  return encoding;
}

}  // namespace grove
