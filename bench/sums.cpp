// tree-newton beside druid-vl: rounds and bytes to a relative error of 1e-8 (the record's, a ratio
// of sums of squares) on the same graph and shards; then fault storms and hard instances. Neither
// rounds nor bytes depend on the machine or its load. See --help for parts.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "grove/train/run.h"
#include "support/fault_storm.h"
#include "support/table.h"

namespace {

using namespace grove;

constexpr double target = 1e-8;
constexpr std::uint64_t most_rounds = 3000;

struct Case {
  std::string name;
  Config config;
};

struct Set {
  const char* data;
  std::uint64_t samples;
};
constexpr Set sets[] = {{"ijcnn1", 4000}, {"abalone", 0}, {"a9a", 8000}, {"w8a", 8000}};

Case make_case(const Set& set, const std::string& partition, const std::string& graph,
               std::uint64_t agents, double l1) {
  Case result{fmt::format("{} {} {} n={} l1={}", set.data, partition, graph, agents, l1), {}};
  Config& config = result.config;
  const char* folder = std::getenv("GROVE_DATA_DIR");
  config.data = fmt::format("{}/{}.bz2", folder ? folder : "../shared/data", set.data);
  if (result.name.starts_with("abalone")) config.loss = SquaredLoss{};
  config.method = Method::tree_newton;
  config.partition = partition;
  config.graph = graph;
  config.agents = agents;
  config.samples = set.samples;
  config.l1 = l1;
  config.l2 = 1e-3;
  config.tolerance = 0;
  return result;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Set& set : sets)
    for (const std::uint64_t agents : {10u, 30u})
      for (const std::string graph :
           {agents == 10 ? "erdos-renyi:0.3" : "erdos-renyi:0.15", "star", "path", "ring"})
        for (const char* partition : {"even", "label-skew:0.1"})
          for (const double l1 : {0.0, 1e-3}) {
            // Targets that are numbers have no classes to skew; sizes are skewed instead.
            const bool skewed = std::string_view(partition) != "even";
            const bool numbers = std::string_view(set.data) == "abalone";
            cases.push_back(
                make_case(set, skewed && numbers ? "size-skew:0.5" : partition, graph, agents, l1));
          }
  return cases;
}

/// Partial participation, lost and late messages; druid-vl with edge links where it needs them.
std::vector<Case> fault_cases() {
  std::vector<Case> cases;
  for (const Set& set : {sets[0], sets[1], sets[2]})
    for (const char* graph : {"erdos-renyi:0.3", "path", "ring"}) {
      const auto add = [&](const std::string& name, const auto& change) {
        Case made = make_case(set, "even", graph, 10, 0);
        made.name += " " + name;
        change(made.config);
        cases.push_back(std::move(made));
      };
      add("participation 0.4", [](Config& config) { config.participation = "0.4"; });
      add("participation 0.1", [](Config& config) { config.participation = "0.1"; });
      add("loss 0.3", [](Config& config) { config.loss_rate = 0.3; });
      add("delay 10", [](Config& config) { config.delay = 10; });
    }
  return cases;
}

struct Taken {
  std::optional<double> rounds, bytes;
};

Taken run_to_target(const PreparedProblem& problem, Config config, Method method) {
  config.method = method;
  config.rounds = most_rounds;
  if (method == Method::druid_vl && (config.loss_rate > 0 || config.delay > 0))
    config.link = LinkKind::edge;
  Taken taken;
  RunHooks hooks;
  hooks.measured = [&](const TracePoint& point) {
    if (!taken.rounds && point.relative_error && *point.relative_error <= target)
      taken = {static_cast<double>(point.round), static_cast<double>(point.cost.bytes_sent)};
  };
  hooks.interrupted = [&] { return taken.rounds.has_value(); };
  const auto record = run_prepared(config, problem, hooks);
  if (!record) fmt::print("  {}: {}\n", method.name(), record.error().text());
  return taken;
}

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string shown(const std::optional<double>& value, double unit) {
  return value ? fmt::format("{:.0f}", *value / unit) : "-";
}

/// Ratios of tree-newton to druid-vl.
struct Ratios {
  std::vector<double> rounds, bytes;
  std::size_t fewer_rounds = 0, missed = 0;
};

Ratios compare(const std::vector<Case>& cases, const std::string& only) {
  Ratios ratios;
  fmt::print("{:<58} {:>13} {:>15} {:>7} {:>6}\n", "case", "tree-newton", "druid-vl", "rounds",
             "bytes");
  for (const Case& each : cases) {
    if (each.name.find(only) == std::string::npos) continue;
    const auto problem = prepare(each.config);
    if (!problem) {
      fmt::print("{}: {}\n", each.name, problem.error().text());
      continue;
    }
    const Taken tree = run_to_target(*problem, each.config, Method::tree_newton);
    const Taken links = run_to_target(*problem, each.config, Method::druid_vl);
    if (!tree.rounds) ++ratios.missed;
    // A rival that did not get there in all rounds took at least those.
    const double rounds = tree.rounds.value_or(most_rounds) / links.rounds.value_or(most_rounds);
    ratios.rounds.push_back(rounds);
    ratios.fewer_rounds += rounds < 1;
    if (tree.bytes && links.bytes) ratios.bytes.push_back(*tree.bytes / *links.bytes);
    fmt::print("{:<58} {:>5} {:>5}kB {:>6} {:>6}kB {:>7.2f} {:>6.2f}\n", each.name,
               shown(tree.rounds, 1), shown(tree.bytes, 1e3), shown(links.rounds, 1),
               shown(links.bytes, 1e3), rounds,
               tree.bytes && links.bytes ? *tree.bytes / *links.bytes : std::nan(""));
    std::fflush(stdout);
  }
  return ratios;
}

void run_storms(std::uint64_t wanted, std::uint64_t seed, HessianWaves hessians, bool masked,
                std::vector<bench::Row>& rows) {
  using namespace testing_support;
  std::uint64_t played = 0, failed = 0;
  std::vector<double> rounds;
  for (; played < wanted; ++seed) {
    const auto outcome = fault_storm(seed, hessians, masked);
    if (!outcome) continue;
    ++played;
    rounds.push_back(static_cast<double>(outcome->rounds));
    if (outcome->exact && outcome->refused_totals == 0) continue;
    ++failed;
    fmt::print("storm {}: {} rounds, squared error {:.1e}, {}\n", seed, outcome->rounds,
               outcome->squared_error, outcome->description);
  }
  fmt::print("{} storms up to seed {}: {} failed, median {} rounds, most {}\n", played, seed - 1,
             failed, median(rounds), *std::ranges::max_element(rounds));
  rows.push_back(
      {"fault storms that did not end exactly", static_cast<double>(failed), "", 0.5, false});
}

void run_hard(std::uint64_t wanted, std::uint64_t seed, std::vector<bench::Row>& rows) {
  using namespace testing_support;
  struct Kind {
    int cases = 0, solved = 0;
    std::vector<double> waves;
  };
  std::map<std::string, Kind> kinds;
  std::uint64_t failed = 0;
  for (std::uint64_t end = seed + wanted; seed < end; ++seed) {
    const HardOutcome outcome =
        hard_instance(seed, {.tolerance = 1e-8, .intro = seed / 8 % 2 == 1});
    const bool solved = outcome.finished && outcome.gap < 1e-9;
    Kind& kind = kinds[outcome.kind];
    ++kind.cases;
    kind.solved += solved;
    kind.waves.push_back(static_cast<double>(outcome.waves));
    if (solved) continue;
    ++failed;
    fmt::print("hard instance {}: {}, gap {:.1e}, {}\n", seed, outcome.kind, outcome.gap,
               outcome.finished ? "finished" : "not finished");
  }
  for (const auto& [name, kind] : kinds)
    fmt::print("{:<36} {} of {} within 1e-9, waves: median {}, most {}\n", name, kind.solved,
               kind.cases, median(kind.waves), *std::ranges::max_element(kind.waves));
  rows.push_back(
      {"hard instances that were not solved", static_cast<double>(failed), "", 0.5, false});
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("tree-newton beside druid-vl, fault storms and hard instances");
  std::uint64_t storms = 0, hard = 0, seed = 100'000;
  bool cases = false, faults = false, lazy = false, masked = false;
  std::string only, json;
  app.add_flag("--cases", cases, "rounds and bytes of every case");
  app.add_flag("--faults", faults, "the same with participation, loss and delay");
  app.add_option("--only", only, "cases whose name contains this");
  app.add_option("--storms", storms, "number of fault storms");
  app.add_flag("--lazy", lazy, "storms with old Hessians");
  app.add_flag("--masked", masked, "storms with masked sums");
  app.add_option("--hard", hard, "number of hard instances");
  app.add_option("--seed", seed, "first seed of storms and hard instances");
  app.add_option("--json", json, "writes the table there, too");
  CLI11_PARSE(app, argc, argv);
  std::vector<bench::Row> rows;
  if (cases) {
    const Ratios ratios = compare(all_cases(), only);
    rows.push_back(
        {"median rounds, tree-newton / druid-vl", median(ratios.rounds), "x", 0.6, false});
    rows.push_back({"median bytes, tree-newton / druid-vl", median(ratios.bytes), "x", 0.5, false});
    rows.push_back({"cases", static_cast<double>(ratios.rounds.size()), ""});
    rows.push_back({"cases with fewer rounds", static_cast<double>(ratios.fewer_rounds), ""});
    rows.push_back(
        {"cases that tree-newton missed", static_cast<double>(ratios.missed), "", 0.5, false});
  }
  if (faults) {
    const Ratios ratios = compare(fault_cases(), only);
    rows.push_back(
        {"share of faulty cases with fewer rounds",
         static_cast<double>(ratios.fewer_rounds) / static_cast<double>(ratios.rounds.size()), "",
         0.9});
    rows.push_back({"median rounds under faults", median(ratios.rounds), "x"});
    rows.push_back({"median bytes under faults", median(ratios.bytes), "x"});
  }
  if (storms > 0)
    run_storms(storms, seed, lazy ? HessianWaves::lazy : HessianWaves::eager, masked, rows);
  if (hard > 0) run_hard(hard, seed, rows);
  return bench::report("sums over a tree", rows, argc, argv);
}
