// What choosing nothing is worth: rounds and bytes of --penalty auto against the best number of a
// grid found afterwards, to the same gap on the same problem. With --all the whole list of cases.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "grove/base/file.h"
#include "grove/run/run.h"
#include "support/table.h"

namespace {

using namespace grove;

constexpr double target = 1e-6, last_target = 1e-8;  // gap relative to the optimum
constexpr int grid_points = 25;                      // from 1e-8 to 1e4
constexpr std::uint64_t grid_rounds = 600, own_rounds = 1500;

struct Case {
  std::string name;
  Config config;
};

Case make_case(std::string data, const std::string& partition, const std::string& graph,
               std::uint64_t agents, std::uint64_t samples) {
  Case result{fmt::format("{} {} {} n={}", data, partition, graph, agents), {}};
  Config& config = result.config;
  const char* folder = std::getenv("GROVE_DATA_DIR");
  if (data == "abalone") config.loss = SquaredLoss{};
  config.data = data.starts_with("synthetic:")
                    ? data
                    : fmt::format("{}/{}.bz2", folder ? folder : "../shared/data", data);
  config.partition = partition;
  config.graph = graph;
  config.agents = agents;
  config.samples = samples;
  config.l2 = 1e-4;
  config.tolerance = 0;
  return result;
}

std::vector<Case> cases(bool all) {
  const std::string random = "erdos-renyi:0.3", skewed = "label-skew:0.1";
  std::vector<Case> result{make_case("ijcnn1", "even", random, 10, 4000),
                           make_case("ijcnn1", skewed, "ring", 10, 4000),
                           make_case("ijcnn1", "even", "geometric:0.3", 100, 10000),
                           make_case("mushrooms", "even", "star", 10, 2000),
                           make_case("a9a", "even", random, 10, 3000),
                           make_case("abalone", "even", "ring", 10, 0)};
  if (!all) return result;
  for (const char* data : {"ijcnn1", "a9a", "w8a", "mushrooms"})
    for (const std::string& partition : {std::string("even"), skewed})
      for (const std::string& graph :
           {std::string("ring"), random, std::string("star"), std::string("geometric:0.5")})
        result.push_back(make_case(data, partition, graph, 10, 4000));
  for (const char* graph : {"ring", "star", "erdos-renyi:0.1", "geometric:0.3"})
    result.push_back(make_case("ijcnn1", "even", graph, 100, 20000));
  return result;
}

/// What it took to bring the gap below the level for the first time.
struct Taken {
  std::optional<double> rounds, bytes;
};

Taken taken(const RunRecord& record, double level) {
  for (const TracePoint& point : record.trace)
    if (point.objective_gap &&
        std::abs(*point.objective_gap) <= level * std::abs(record.reference->objective))
      return {static_cast<double>(point.round), static_cast<double>(point.cost.bytes_sent)};
  return {};
}

RunRecord run_to(const PreparedProblem& problem, Config config, double level,
                 std::uint64_t rounds) {
  config.rounds = rounds;
  bool there = false;
  RunHooks hooks;
  hooks.measured = [&](const TracePoint& point) {
    there = std::abs(*point.objective_gap) <= level * std::abs(problem.reference->objective);
  };
  hooks.interrupted = [&] { return there; };
  return *run_prepared(config, problem, hooks);
}

/// The fewest rounds, and the fewest bytes, over the grid; nothing where no number gets there.
Taken best_number(const PreparedProblem& problem, Config config) {
  Taken best;
  config.work = "5";
  for (int k = 0; k < grid_points; ++k) {
    config.penalty = std::pow(10.0, -8 + 0.5 * k);
    const auto limit = best.rounds ? static_cast<std::uint64_t>(*best.rounds) : grid_rounds;
    const Taken now = taken(run_to(problem, config, target, limit), target);
    if (!now.rounds) continue;
    best.rounds = std::min(*now.rounds, best.rounds.value_or(*now.rounds));
    best.bytes = std::min(*now.bytes, best.bytes.value_or(*now.bytes));
  }
  return best;
}

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string shown(const std::optional<double>& value) {
  return value ? fmt::format("{:.0f}", *value) : "-";
}

struct Ratios {
  std::vector<double> rounds, bytes, participation;
  int missed = 0;  ///< cases that did not reach the last target
};

void measure(const Case& one, Ratios& ratios) {
  const auto problem = prepare(one.config);
  if (!problem || !problem->reference) {
    fmt::print("{:<48} skipped: {}\n", one.name, problem ? "no reference" : problem.error().text());
    return;
  }
  const RunRecord own = run_to(*problem, one.config, last_target, own_rounds);
  Config resting = one.config;
  resting.participation = "0.4";
  const Taken rested = taken(run_to(*problem, resting, target, own_rounds), target);
  const Taken ours = taken(own, target), ours_last = taken(own, last_target);
  const Taken best = best_number(*problem, one.config);
  ratios.missed += !ours_last.rounds;
  fmt::print("{:<48} {:>6} {:>6} {:>6} {:>9} {:>9} {:>8}\n", one.name, shown(ours.rounds),
             shown(ours_last.rounds), best.rounds ? shown(best.rounds) : ">600",
             shown(ours.bytes ? std::optional(*ours.bytes / 1e3) : std::nullopt),
             shown(best.bytes ? std::optional(*best.bytes / 1e3) : std::nullopt),
             shown(rested.rounds));
  std::fflush(stdout);
  if (!ours.rounds) return;
  // Where no number of the grid gets there in 600 rounds, the ratio is at most the one to 600.
  ratios.rounds.push_back(*ours.rounds / best.rounds.value_or(grid_rounds));
  if (best.bytes) ratios.bytes.push_back(*ours.bytes / *best.bytes);
  if (rested.rounds) ratios.participation.push_back(0.4 * *rested.rounds / *ours.rounds);
}

}  // namespace

int main(int argc, char** argv) {
  const bool all = std::any_of(argv, argv + argc,
                               [](const char* word) { return std::strcmp(word, "--all") == 0; });
  fmt::print("{:<48} {:>6} {:>6} {:>6} {:>9} {:>9} {:>8}\n", "rounds; kB", "1e-6", "1e-8",
             "best mu", "kB", "best mu", "p = 0.4");
  Ratios ratios;
  for (const Case& one : cases(all)) measure(one, ratios);
  const auto worst = [](const std::vector<double>& values) {
    return values.empty() ? std::nan("") : std::ranges::max(values);
  };
  return bench::report(
      "no tuning: --penalty auto over the best of 25 numbers, to a relative gap of 1e-6",
      {{"rounds, median case", median(ratios.rounds), "x", 0.5, false},
       {"rounds, worst case", worst(ratios.rounds), "x", 1.2, false},
       {"bytes, median case", median(ratios.bytes), "x", 0.7, false},
       {"bytes, worst case", worst(ratios.bytes), "x", 1.5, false},
       {"activations per agent, participation 0.4 over 1, worst", worst(ratios.participation), "x",
        1.3, false},
       {"cases that miss a gap of 1e-8", static_cast<double>(ratios.missed), ""}},
      argc, argv);
}
