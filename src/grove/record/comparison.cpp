#include "grove/record/comparison.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "grove/base/printable.h"
#include "grove/record/spread.h"
#include "grove/record/summary.h"

namespace grove {
namespace {

using Measure = std::function<double(const RunRecord&)>;

double or_nan(const std::optional<double>& value) { return value.value_or(std::nan("")); }

Spread spread_over(const RunSeries& series, const Measure& measure) {
  std::vector<double> values;
  for (const RunRecord& run : series.runs) values.push_back(measure(run));
  return spread_of(std::move(values));
}

std::string scientific(double value) {
  return std::isfinite(value) ? fmt::format("{:.3e}", value) : "-";
}

std::string count(double value) { return std::isfinite(value) ? fmt::format("{:g}", value) : "-"; }

/// Rounds until the relative error was at most `level`.
Measure rounds_until(double level) {
  return [level](const RunRecord& run) {
    const auto rounds = run.reference ? rounds_to(run, level) : std::nullopt;
    return rounds ? static_cast<double>(*rounds) : std::nan("");
  };
}

std::string outcome_text(const RunSeries& series) {
  if (series.runs.size() == 1) return name_of(series.runs[0].outcome.status);
  const auto converged = std::ranges::count_if(
      series.runs, [](const RunRecord& run) { return run.outcome.status == RunStatus::converged; });
  return fmt::format("{}/{} converged", converged, series.runs.size());
}

std::string rounds_text(const RunSeries& series) {
  const Spread rounds = spread_over(
      series, [](const RunRecord& run) { return static_cast<double>(run.outcome.rounds); });
  if (series.runs.size() == 1) return count(rounds.median);
  return fmt::format("{} ({} to {})", count(rounds.median), count(rounds.low), count(rounds.high));
}

struct Column {
  std::string title;
  bool left = false;
  std::function<std::string(const RunSeries&)> text;
};

Column number_column(std::string title, std::string (*shown)(double), Measure measure) {
  return {std::move(title), false, [shown, measure = std::move(measure)](const RunSeries& series) {
            return shown(spread_over(series, measure).median);
          }};
}

std::vector<Column> columns_for(const std::vector<RunSeries>& series) {
  const auto last = [](const RunRecord& run) -> const TracePoint& { return run.trace.back(); };
  std::vector<Column> columns = {
      {"method", true, [](const RunSeries& one) { return printable(one.name); }},
      {"outcome", true, outcome_text},
      {"rounds", false, rounds_text},
      number_column(
          "objective", [](double value) { return fmt::format("{:.10g}", value); },
          [](const RunRecord& run) { return run.objective; }),
      number_column("gap", scientific,
                    [=](const RunRecord& run) { return or_nan(last(run).objective_gap); }),
      number_column("rel.error", scientific,
                    [=](const RunRecord& run) { return or_nan(last(run).relative_error); }),
      number_column("to 1e-2", count, rounds_until(1e-2)),
      number_column("to 1e-4", count, rounds_until(1e-4)),
      number_column(
          "sent", human_bytes,
          [=](const RunRecord& run) { return static_cast<double>(last(run).cost.bytes_sent); }),
      number_column("run time", human_seconds,
                    [=](const RunRecord& run) { return last(run).seconds; })};
  if (all_have_simulated_time(series))
    columns.push_back(number_column("simulated", human_seconds, [=](const RunRecord& run) {
      return *last(run).simulated_seconds;
    }));
  if (std::ranges::any_of(series, [](const RunSeries& one) { return !one.tuned.empty(); }))
    columns.push_back({"tuned", true, [](const RunSeries& one) { return one.tuned; }});
  return columns;
}

/// Characters of a UTF-8 text.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Columns as wide as their widest entry, two blanks between them, none at the end of a line.
std::string aligned(const std::vector<Column>& columns,
                    const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], width_of(row[k]));
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const int width = static_cast<int>(widths[k]);
      line += (k == 0 ? "" : "  ") + (columns[k].left ? fmt::format("{:<{}}", row[k], width)
                                                      : fmt::format("{:>{}}", row[k], width));
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// The meaning of the short titles.
std::string legend(const std::vector<RunSeries>& series) {
  if (!all_have_reference(series)) return "";
  return "gap: objective minus optimum; rel.error: squared distance to the optimum, relative to "
         "the "
         "start;\nto 1e-2: rounds until rel.error is at most 1e-2\n";
}

std::string seeds_text(const std::vector<RunSeries>& series) {
  std::size_t most = 0;
  for (const RunSeries& one : series) most = std::max(most, one.runs.size());
  if (most < 2) return "";
  return fmt::format("Numbers are medians over {} seeds; rounds with lower and upper quartile.\n",
                     most);
}

}  // namespace

std::string comparison_table(const std::vector<RunSeries>& series) {
  const std::vector<Column> columns = columns_for(series);
  std::vector<std::vector<std::string>> rows(1);
  for (const Column& column : columns) rows[0].push_back(column.title);
  std::string reasons;
  for (const RunSeries& one : series) {
    rows.emplace_back();
    for (const Column& column : columns) rows.back().push_back(column.text(one));
    for (const std::string& why : one.runs[0].explanations)
      reasons += fmt::format("{:<14} {}\n", printable(one.name), why);
  }
  return aligned(columns, rows) + legend(series) + seeds_text(series) +
         (reasons.empty() ? "" : "why\n") + reasons;
}

}  // namespace grove
