#include "grove/peer/disclosure.h"

#include <algorithm>

#include <fmt/format.h>

namespace grove::peer {
namespace {

/// The values of one column, as far as needed to see whether there are two and how often.
struct ColumnCounts {
  double values[2] = {};
  std::uint64_t counts[2] = {};
  bool more = false;  ///< than two values

  void add(double value, std::uint64_t times = 1) {
    for (int k = 0; k < 2; ++k)
      if (counts[k] == 0 || values[k] == value) {
        values[k] = value;
        counts[k] += times;
        return;
      }
    more = true;
  }
  bool is_binary() const { return !more && counts[1] > 0; }
  std::uint64_t fewest() const { return std::min(counts[0], counts[1]); }
};

std::vector<ColumnCounts> count_values(const Samples& samples) {
  std::vector<ColumnCounts> columns(static_cast<std::size_t>(samples.dimension()));
  std::vector<std::uint64_t> nonzeros(columns.size(), 0);
  for (Index row = 0; row < samples.count(); ++row)
    for_each_nonzero(samples, row, [&](Index column, double value) {
      columns[static_cast<std::size_t>(column)].add(value);
      ++nonzeros[static_cast<std::size_t>(column)];
    });
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (const std::uint64_t zeros = static_cast<std::uint64_t>(samples.count()) - nonzeros[k];
        zeros > 0)
      columns[k].add(0, zeros);
  return columns;
}

std::string name_of_column(const std::optional<ColumnNames>& columns, std::size_t k) {
  return columns ? "'" + columns->features[k] + "'" : std::to_string(k + 1);
}

std::optional<DisclosureViolation> find_rare_value(const DisclosureRules& rules,
                                                   const DisclosureFacts& facts) {
  if (rules.min_count == 0) return std::nullopt;
  if (facts.classes) {
    const auto ones = static_cast<std::uint64_t>((facts.samples.targets.array() > 0.5).count());
    const auto fewest = std::min(ones, static_cast<std::uint64_t>(facts.samples.count()) - ones);
    if (fewest < rules.min_count)
      return DisclosureViolation{"disclosure.min-count",
                                 fmt::format("a class has {} rows; expected at least {} in each",
                                             fewest, rules.min_count)};
  }
  const auto columns = count_values(facts.samples);
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (columns[k].is_binary() && columns[k].fewest() < rules.min_count)
      return DisclosureViolation{
          "disclosure.min-count",
          fmt::format("column {} has two values, one of them in {} rows; expected at least {}",
                      name_of_column(facts.columns, k), columns[k].fewest(), rules.min_count)};
  return std::nullopt;
}

DisclosureViolation forbidden_column(const std::string& name) {
  return {"disclosure.columns", fmt::format("column '{}' is not among the allowed ones", name)};
}

std::optional<DisclosureViolation> find_few_rows(const DisclosureRules& rules, std::uint64_t rows) {
  if (rows >= rules.min_rows) return std::nullopt;
  return DisclosureViolation{
      "disclosure.min-rows",
      fmt::format("the data has {} rows; expected at least {}", rows, rules.min_rows)};
}

std::optional<DisclosureViolation> find_rare_level(const DisclosureRules& rules,
                                                   const std::string& of,
                                                   const LevelCounts& levels) {
  for (const auto& [level, count] : levels)
    if (count.rows < rules.min_count)
      return DisclosureViolation{
          "disclosure.min-count",
          fmt::format("level '{}' of {} has {} rows at this site; expected at least {}", level, of,
                      count.rows, rules.min_count)};
  return std::nullopt;
}

std::optional<DisclosureViolation> find_column(const DisclosureRules& rules,
                                               const DisclosureFacts& facts) {
  if (rules.columns.empty()) return std::nullopt;
  if (!facts.columns)
    return DisclosureViolation{"disclosure.columns",
                               "the data has no names of columns; expected a CSV file"};
  for (const std::string& name : facts.columns->features)
    if (std::ranges::find(rules.columns, name) == rules.columns.end())
      return forbidden_column(name);
  return std::nullopt;
}

}  // namespace

std::optional<DisclosureViolation> find_violation(const DisclosureRules& rules,
                                                  std::uint64_t members) {
  if (members >= rules.min_members) return std::nullopt;
  return DisclosureViolation{
      "disclosure.min-members",
      fmt::format("the network has {} members; expected at least {}", members, rules.min_members)};
}

std::optional<DisclosureViolation> find_violation(const DisclosureRules& rules,
                                                  const TableSummary& summary,
                                                  const std::vector<std::string>& columns,
                                                  std::uint64_t members) {
  if (auto violation = find_few_rows(rules, summary.sites.front().rows)) return violation;
  if (auto violation = find_violation(rules, members)) return violation;
  for (const std::string& name : columns)
    if (!rules.columns.empty() && std::ranges::find(rules.columns, name) == rules.columns.end())
      return forbidden_column(name);
  for (const auto& [variable, levels] : summary.levels)
    if (auto violation = find_rare_level(rules, variable, levels)) return violation;
  return find_rare_level(rules, "the response", summary.response_levels);
}

std::optional<DisclosureViolation> find_violation(const DisclosureRules& rules,
                                                  const DisclosureFacts& facts) {
  const auto rows = static_cast<std::uint64_t>(facts.samples.count());
  if (auto violation = find_few_rows(rules, rows)) return violation;
  if (static_cast<double>(facts.coefficients) > rules.max_ratio * static_cast<double>(rows))
    return DisclosureViolation{
        "disclosure.max-ratio",
        fmt::format("{} coefficients from {} rows; expected at most {:.4g} of the rows",
                    facts.coefficients, rows, rules.max_ratio)};
  if (auto violation = find_violation(rules, facts.members)) return violation;
  if (auto violation = find_column(rules, facts)) return violation;
  return find_rare_value(rules, facts);
}

}  // namespace grove::peer
