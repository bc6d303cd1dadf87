#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "grove/base/text.h"
#include "grove/data/complete_rows.h"
#include "grove/data/encoding.h"
#include "grove/data/lines.h"

namespace grove {
namespace {

constexpr std::size_t levels_in_messages = 6;

class Summarizer {
 public:
  Summarizer(const Table& table, const Formula& formula, const TableRoles& roles)
      : table_(table), formula_(formula), roles_(roles) {
    summary_.sites.push_back({.name = table.source});
    summary_.response = roles.response;
  }

  Result<TableSummary> run() {
    for (const std::string& name : columns_read(formula_, roles_))
      if (table_.find(name) == nullptr)
        return Error{table_.source, fmt::format("has no column {}, which other sites or the "
                                                "formula have",
                                                shown(name))};
    auto complete = complete_rows(table_, formula_, roles_);
    if (!complete) return complete.error();
    rows_ = std::move(complete->rows);
    summary_.sites[0].rows = rows_.size();
    summary_.sites[0].dropped = table_.rows() - rows_.size();
    summary_.sites[0].missing = complete->missing;
    summary_.missing = complete->missing;
    for (const Variable& variable : formula_.variables)
      if (Status status = add(variable); !status) return status.error();
    add_means();
    if (Status status = add_response(); !status) return status.error();
    return std::move(summary_);
  }

 private:
  Status add(const Variable& variable) {
    if (variable.column.empty()) return success();
    const TableColumn& column = *table_.find(variable.column);
    if (!variable.is_factor) {
      if (Status status = add_kind(variable, column); !status) return status;
      if (!column.is_text) return success();
    }
    LevelCounts& counts = summary_.levels[variable.name];
    count_levels(column, counts);
    return success();
  }

  Status add_kind(const Variable& variable, const TableColumn& column) {
    ColumnKinds& kinds = summary_.kinds[variable.column];
    const bool has_any = column.is_text || std::ranges::any_of(rows_, [&](std::size_t row) {
                           return !column.missing(row);
                         });
    if (!has_any) return success();
    (column.is_text ? kinds.text_site : kinds.number_site) = table_.source;
    if (!column.is_text) return success();
    const std::string cell = column.text(column.first_text_row);
    kinds.example = cell;
    const std::size_t texts = column.codes.size() - column.number_cells;
    if (column.number_cells > texts / 2)
      return Error{table_.where(column.first_text_row),
                   fmt::format("column {}: expected a number as in most rows, found {}; C({}) in "
                               "the formula makes a factor of it",
                               shown(column.name), shown(cell), column.name)};
    if (days_since_1970(cell))
      return Error{table_.where(column.first_text_row),
                   fmt::format("column {} holds dates; date({}) in the formula makes numbers of "
                               "them, C({}) a factor",
                               shown(column.name), column.name, column.name)};
    return success();
  }

  void count_levels(const TableColumn& column, LevelCounts& counts) {
    for (const std::size_t row : rows_)
      if (!column.missing(row)) ++counts[column.text(row)].rows;
    for (auto& [level, count] : counts) {
      count.sites = 1;
      count.site = table_.source;
    }
  }

  /// Of the numbers that are there, in all rows: what missing ones are filled with.
  void add_means() {
    if (roles_.missing != MissingPolicy::mean && roles_.missing != MissingPolicy::indicator) return;
    for (const Variable& variable : formula_.variables) {
      std::vector<std::string> names;
      if (!variable.is_factor) collect_columns(variable.expression, names);
      for (const std::string& name : names) {
        const TableColumn& column = *table_.find(name);
        if (column.is_text || summary_.means.contains(name)) continue;
        MeanSum& mean = summary_.means[name];
        for (const double number : column.numbers) {
          if (std::isnan(number)) continue;
          mean.sum += number;
          ++mean.count;
        }
      }
    }
  }

  Status add_response() {
    const Response& response = formula_.response;
    const TableColumn* column = response.column.empty() ? nullptr : table_.find(response.column);
    if (roles_.response == ResponseKind::survival) return success();
    summary_.response_is_text = column != nullptr && column->is_text;
    if (!summary_.response_is_text || roles_.response == ResponseKind::number) {
      const auto values = evaluate(response.expression, table_);
      if (!values) return values.error();
      for (const std::size_t row : rows_) {
        const double value = (*values)[static_cast<Index>(row)];
        summary_.response_low = std::min(summary_.response_low, value);
        summary_.response_high = std::max(summary_.response_high, value);
        if (roles_.response != ResponseKind::number) count_response(exact(value));
      }
    } else {
      for (const std::size_t row : rows_) count_response(column->text(row));
    }
    for (auto& [level, count] : summary_.response_levels) {
      count.sites = 1;
      count.site = table_.source;
    }
    const auto levels = sorted_levels(summary_.response_levels);
    summary_.sites[0].response_levels.assign(
        levels.begin(),
        levels.begin() + static_cast<std::ptrdiff_t>(std::min(levels.size(), levels_in_messages)));
    return success();
  }

  void count_response(const std::string& level) {
    if (summary_.response_levels.size() < most_response_levels ||
        summary_.response_levels.contains(level))
      ++summary_.response_levels[level].rows;
  }

  const Table& table_;
  const Formula& formula_;
  const TableRoles& roles_;
  std::vector<std::size_t> rows_;
  TableSummary summary_;
};

void merge_levels(const LevelCounts& other, LevelCounts& counts) {
  for (const auto& [level, count] : other) {
    LevelCount& own = counts[level];
    own.rows += count.rows;
    own.sites += count.sites;
    if (own.site.empty()) own.site = count.site;
  }
}

}  // namespace

std::vector<std::string> columns_read(const Formula& formula, const TableRoles& roles) {
  std::vector<std::string> columns = formula.columns();
  for (const std::string& name : {roles.weights, roles.offset})
    if (!name.empty() && std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
  return columns;
}

Result<CompleteRows> complete_rows(const Table& table, const Formula& formula,
                                   const TableRoles& roles, bool needs_response) {
  std::set<std::string> fillable;  // missing cells of these do not cost the row
  const bool fills =
      roles.missing == MissingPolicy::mean || roles.missing == MissingPolicy::indicator;
  for (const Variable& variable : formula.variables) {
    std::vector<std::string> names;
    collect_columns(variable.expression, names);
    for (const std::string& name : names) {
      const bool text = variable.is_factor || table.find(name)->is_text;
      if (fills && (!text || roles.missing == MissingPolicy::indicator)) fillable.insert(name);
    }
  }
  std::vector<std::string> needed;
  collect_columns(formula.response.expression, needed);
  if (formula.response.event) collect_columns(*formula.response.event, needed);
  std::vector<std::string> columns = columns_read(formula, roles);
  if (needs_response)
    for (const std::string& name : needed) fillable.erase(name);
  else
    std::erase_if(columns, [&](const std::string& name) {
      return std::ranges::find(needed, name) != needed.end() && !fillable.contains(name);
    });
  CompleteRows result;
  std::vector<char> complete(table.rows(), 1);
  for (const std::string& name : columns) {
    const TableColumn& column = *table.find(name);
    std::size_t missing = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (!column.missing(row)) continue;
      if (roles.missing == MissingPolicy::refuse)
        return Error{table.where(row),
                     fmt::format("column {}: expected a value, found a missing one", shown(name))};
      ++missing;
      if (!fillable.contains(name)) complete[row] = 0;
    }
    if (missing > 0) result.missing[name] = missing;
  }
  for (std::size_t row = 0; row < table.rows(); ++row)
    if (complete[row]) result.rows.push_back(row);
  if (result.rows.empty())
    return Error{table.source, "has no row without missing cells in the columns of the formula"};
  return result;
}

Result<TableSummary> summarize(const Table& table, const Formula& formula,
                               const TableRoles& roles) {
  return Summarizer(table, formula, roles).run();
}

void merge(const TableSummary& other, TableSummary& summary) {
  summary.sites.insert(summary.sites.end(), other.sites.begin(), other.sites.end());
  for (const auto& [column, kinds] : other.kinds) {
    ColumnKinds& own = summary.kinds[column];
    if (own.text_site.empty()) own.text_site = kinds.text_site, own.example = kinds.example;
    if (own.number_site.empty()) own.number_site = kinds.number_site;
  }
  for (const auto& [variable, levels] : other.levels)
    merge_levels(levels, summary.levels[variable]);
  for (const auto& [column, mean] : other.means) {
    summary.means[column].sum += mean.sum;
    summary.means[column].count += mean.count;
  }
  for (const auto& [column, count] : other.missing) summary.missing[column] += count;
  merge_levels(other.response_levels, summary.response_levels);
  summary.response_is_text = summary.response_is_text || other.response_is_text;
  summary.response_low = std::min(summary.response_low, other.response_low);
  summary.response_high = std::max(summary.response_high, other.response_high);
}

std::vector<std::string> sorted_levels(const LevelCounts& counts) {
  std::vector<std::string> levels;
  for (const auto& [level, count] : counts) levels.push_back(level);
  const auto is_number = [](const std::string& level) { return parse_double(level).has_value(); };
  if (std::ranges::all_of(levels, is_number))
    std::ranges::stable_sort(levels, {},
                             [](const std::string& level) { return *parse_double(level); });
  return levels;
}

}  // namespace grove
