#include "grove/view/runs.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "grove/base/file.h"
#include "grove/network/topology.h"
#include "grove/record/json_format.h"
#include "grove/record/record.h"

namespace grove {
namespace {

using nlohmann::json;

std::string unique_name(const std::string& wanted, const json& runs) {
  const auto taken = [&](const std::string& name) {
    return std::ranges::any_of(runs, [&](const json& run) { return run.at("name") == name; });
  };
  std::string name = wanted;
  for (int number = 2; taken(name); ++number) name = fmt::format("{} ({})", wanted, number);
  return name;
}

/// The links of a graph that is a function of options and seed; files may have changed.
void restore_links(const RunRecord& record, json& to) {
  const json& config = record.config;
  if (!config.contains("graph") || !config.contains("seed")) return;
  const auto text = config.at("graph").get<std::string>();
  if (std::filesystem::exists(text)) return;
  const auto graph =
      make_graph(GraphSpec(text), record.problem.agents, config.at("seed").get<std::uint64_t>());
  if (!graph || graph->edges().size() != record.problem.edges) return;
  const auto edges = graph->edges();
  to["agent_trace"] = to_json(AgentTrace{.edges = {edges.begin(), edges.end()}});
}

Status add_one(const std::string& name, json record, json& runs) {
  const auto read = record_from_json(record);
  if (!read) return read.error();
  record.erase("estimates");
  if (!read->agent_trace) restore_links(*read, record);
  json& all = runs.at("runs");
  const std::string shown = unique_name(name, all);
  all.push_back({{"name", shown}, {"record", std::move(record)}});
  return success();
}

}  // namespace

json no_runs() { return {{"format", "grove-view/1"}, {"runs", json::array()}}; }

Status add_runs(const std::string& name, json record, json& runs) {
  if (!has_format(record, "grove-compare/1")) return add_one(name, std::move(record), runs);
  try {  // nlohmann-json reports missing and mistyped fields by exception
    for (json& entry : record.at("runs"))
      if (Status status = add_one(entry.at("method"), std::move(entry.at("record")), runs); !status)
        return status;
  } catch (const json::exception& error) {
    return Error{"comparison", plain_message(error)};
  }
  return success();
}

Status add_run_file(const std::string& path, json& runs) {
  const auto text = read_file(path);
  if (!text) return text.error();
  json record = json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (record.is_discarded())
    return Error{path, "is not JSON; expected a record of grove train, fit or compare"};
  const Status added =
      add_runs(std::filesystem::path(path).stem().string(), std::move(record), runs);
  return added ? success() : Error{path, added.error().text()};
}

}  // namespace grove
