#include "grove/record/table_summary_json.h"

#include <algorithm>

#include "grove/record/json_format.h"

namespace grove {
namespace {

using nlohmann::json;

constexpr std::size_t levels_in_messages = 6;

json levels_json(const LevelCounts& counts) {
  json result = json::object();
  for (const auto& [level, count] : counts) result[level] = count.rows;
  return result;
}

LevelCounts levels_from(const json& from, const std::string& site) {
  LevelCounts counts;
  for (const auto& [level, rows] : from.items())
    counts[level] = {.rows = rows.get<std::size_t>(), .sites = 1, .site = site};
  return counts;
}

TableSummary read_summary(const json& from, const std::string& site) {
  TableSummary summary;
  SiteSummary& own = summary.sites.emplace_back();
  own.name = site;
  from.at("rows").get_to(own.rows);
  from.at("dropped").get_to(own.dropped);
  from.at("missing").get_to(own.missing);
  summary.missing = own.missing;
  for (const auto& [column, kind] : from.at("kinds").items()) {
    ColumnKinds& kinds = summary.kinds[column];
    const auto name = kind.get<std::string>();
    if (name == "number") kinds.number_site = site;
    if (name == "text") kinds.text_site = site;
  }
  for (const auto& [variable, levels] : from.at("levels").items())
    summary.levels[variable] = levels_from(levels, site);
  from.at("response_is_text").get_to(summary.response_is_text);
  if (from.at("fractions").get<bool>()) {
    summary.response_levels = levels_from({{"0", 0}, {"0.5", 0}, {"1", 0}}, site);
    summary.response_low = 0;
    summary.response_high = 1;
  } else {
    summary.response_levels = levels_from(from.at("classes"), site);
    summary.response_low = from.at("out_of_unit").get<bool>() ? -1 : 0;
    summary.response_high = 1;
  }
  own.response_levels = sorted_levels(summary.response_levels);
  if (own.response_levels.size() > levels_in_messages)
    own.response_levels.resize(levels_in_messages);
  return summary;
}

}  // namespace

json to_json(const TableSummary& summary) {
  const SiteSummary& site = summary.sites.front();
  json kinds = json::object(), levels = json::object();
  for (const auto& [column, kind] : summary.kinds)
    kinds[column] =
        !kind.text_site.empty() ? "text" : (!kind.number_site.empty() ? "number" : "none");
  for (const auto& [variable, counts] : summary.levels) levels[variable] = levels_json(counts);
  const bool out_of_unit = summary.response_low < 0 || summary.response_high > 1;
  const bool fractions = summary.response == ResponseKind::two_classes &&
                         !summary.response_is_text && summary.response_levels.size() > 2 &&
                         !out_of_unit;
  return {{"site", site.name},
          {"rows", site.rows},
          {"dropped", site.dropped},
          {"missing", site.missing},
          {"kinds", kinds},
          {"levels", levels},
          {"classes", fractions ? json::object() : levels_json(summary.response_levels)},
          {"response_is_text", summary.response_is_text},
          {"fractions", fractions},
          {"out_of_unit", summary.response == ResponseKind::two_classes && out_of_unit}};
}

Result<TableSummary> table_summary_from_json(const json& from, const std::string& site) {
  try {  // nlohmann-json reports missing and mistyped fields by exception
    return read_summary(from, site);
  } catch (const json::exception& error) {
    return Error{site, "its summary of the table is damaged: " + plain_message(error)};
  }
}

}  // namespace grove
