// What choosing nothing is worth: rounds and bytes of --penalty auto against the best number of a
// grid found afterwards, to the same gap on the same problem. Rounds and bytes do not depend on the
// machine or its load. All cases take long, so parts can be run alone: see --help.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "grove/base/random.h"
#include "grove/train/run.h"
#include "support/table.h"

namespace {

using namespace grove;

constexpr double target = 1e-6, last_target = 1e-8;  // gap relative to the optimum
constexpr std::uint64_t grid_rounds = 600, own_rounds = 1500;

struct Case {
  std::string name;
  Config config;
};

Case make_case(const std::string& data, const std::string& partition, const std::string& graph,
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

/// A synthetic set in other units: weights scale by 1/scale, so l2 must by its square to ask for
/// the same model.
Case make_scaled(double scale, const std::string& graph) {
  Case result = make_case(fmt::format("synthetic:gaussian,condition=100,scale={}", scale), "even",
                          graph, 10, 2000);
  result.config.l2 = 1e-4 * scale * scale;
  return result;
}

Case make_huber(const std::string& graph, std::uint64_t agents) {
  Case result = make_case("abalone", "even", graph, agents, 0);
  result.name = "Huber, " + result.name;
  result.config.loss = HuberLoss{};
  return result;
}

/// Columns as people have them: an age, an income, a score, and an intercept; nothing regularized.
Case make_columns(const std::string& graph) {
  const auto file = std::filesystem::temp_directory_path() / "grove-columns.csv";
  KeyedRandom random({.seed = 1, .purpose = Purpose::synthetic});
  std::ofstream table(file);
  table << "age,income,score,label\n";
  for (int row = 0; row < 1000; ++row) {
    const double age = 40 + 12 * random.normal(), income = 30000 + 9000 * random.normal();
    const double score = random.normal();
    const double margin = (age - 40) / 12 - (income - 30000) / 9000 + score;
    const bool positive = random.uniform() < 1 / (1 + std::exp(-margin));
    table << age << ',' << income << ',' << score << ',' << positive << '\n';
  }
  Case result = make_case("columns", "even", graph, 10, 0);
  result.config.data = file.string();
  result.config.intercept = true;
  result.config.l2 = 0;
  return result;
}

/// Every set, way to share it, graph and size at least twice, with different partners.
std::vector<Case> all_cases() {
  const std::string random = "erdos-renyi:0.3", ring = "ring", star = "star",
                    near = "geometric:0.5";
  const std::string even = "even", skewed = "label-skew:0.1";
  std::vector<Case> cases;
  for (const auto& [data, samples] :
       {std::pair{"ijcnn1", 4000}, {"mushrooms", 4000}, {"a9a", 4000}, {"w8a", 4000}}) {
    const auto count = static_cast<std::uint64_t>(samples);
    cases.push_back(make_case(data, even, random, 10, count));
    cases.push_back(make_case(data, skewed, random, 10, count));
    cases.push_back(make_case(data, even, ring, 10, count));
    cases.push_back(make_case(data, skewed, near, 10, count));
    cases.push_back(make_case(data, skewed, star, 10, count));
  }
  cases.push_back(make_case("abalone", even, ring, 10, 0));
  cases.push_back(make_case("abalone", even, star, 10, 0));
  cases.push_back(make_case("abalone", even, random, 10, 0));
  for (const auto& [data, samples] : {std::pair{"ijcnn1", 10000},
                                      {"mushrooms", 8000},
                                      {"a9a", 10000},
                                      {"w8a", 10000},
                                      {"abalone", 0}})
    for (const char* graph : {"erdos-renyi:0.1", "geometric:0.2", "star", "ring"})
      cases.push_back(make_case(data, even, graph, 100, static_cast<std::uint64_t>(samples)));
  cases.push_back(make_case("ijcnn1", skewed, "erdos-renyi:0.1", 100, 10000));
  cases.push_back(make_huber(random, 10));
  cases.push_back(make_huber(ring, 10));
  cases.push_back(make_huber("erdos-renyi:0.1", 100));
  cases.push_back(make_columns(random));
  cases.push_back(make_columns(ring));
  for (const double scale : {1e-3, 1.0, 1e3}) cases.push_back(make_scaled(scale, random));
  cases.push_back(make_case("synthetic:gaussian,condition=1000000", even, near, 10, 2000));
  return cases;
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

/// 25 numbers from 1e-8 to 1e4, beginning with those near the mean Hessian diagonal: the sooner a
/// good one is known, the sooner the others can be given up.
std::vector<double> grid(const PreparedProblem& problem) {
  ObjectiveScratch scratch;
  Matrix hessian;
  problem.instance.mean->evaluate(problem.reference->x, Batch::all(), nullptr, &hessian, scratch);
  const double middle = std::log10(hessian.diagonal().mean());
  std::vector<double> exponents;
  for (int k = 0; k < 25; ++k) exponents.push_back(-8 + 0.5 * k);
  std::ranges::sort(exponents, {}, [&](double e) { return std::abs(e - middle); });
  std::vector<double> numbers;
  for (const double exponent : exponents) numbers.push_back(std::pow(10.0, exponent));
  return numbers;
}

/// The fewest rounds over the grid, and their bytes; nothing where no number gets there. More local
/// steps than two saved no rounds, more damping cost some (docs/measurements/link-weights.md).
Taken best_number(const PreparedProblem& problem, Config config) {
  Taken best;
  config.work = "2";
  config.prox = 0.0;
  for (const double number : grid(problem)) {
    config.penalty = number;
    const auto limit = best.rounds ? static_cast<std::uint64_t>(*best.rounds) - 1 : grid_rounds;
    const Taken now = taken(run_to(problem, config, target, limit), target);
    if (now.rounds) best = now;
  }
  return best;
}

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return values[values.size() / 2];
}

double worst(const std::vector<double>& values) {
  return values.empty() ? std::nan("") : std::ranges::max(values);
}

std::string shown(const std::optional<double>& value, double unit = 1) {
  return value ? fmt::format("{:.0f}", *value / unit) : "-";
}

struct Ratios {
  std::vector<double> rounds, bytes, participation;
  int missed = 0;  ///< cases that did not reach the last target
};

struct Settings {
  std::string only;
  std::uint64_t agents = 0;  ///< 0: any number
  std::uint64_t seed = 1;
  std::uint64_t grid_agents = 100;
  bool without_rest = false;
  std::string json;
};

void measure(Case one, const Settings& settings, Ratios& ratios) {
  one.config.seed = settings.seed;
  const auto problem = prepare(one.config);
  if (!problem || !problem->reference) {
    fmt::print("{:<46} skipped: {}\n", one.name, problem ? "no reference" : problem.error().text());
    return;
  }
  const RunRecord own = run_to(*problem, one.config, last_target, own_rounds);
  const Taken ours = taken(own, target), ours_last = taken(own, last_target);
  Taken rested, best;
  if (!settings.without_rest) {
    Config resting = one.config;
    resting.participation = "0.4";
    rested = taken(run_to(*problem, resting, target, own_rounds), target);
  }
  const bool searched = one.config.agents <= settings.grid_agents;
  if (searched) best = best_number(*problem, one.config);
  ratios.missed += !ours_last.rounds;
  fmt::print("{:<46} {:>6} {:>6} {:>8} {:>9} {:>9} {:>8}\n", one.name, shown(ours.rounds),
             shown(ours_last.rounds), searched ? shown(best.rounds) : "not run",
             shown(ours.bytes, 1e3), shown(best.bytes, 1e3), shown(rested.rounds));
  std::fflush(stdout);
  if (!ours.rounds) return;
  // Where no number of the grid gets there in 600 rounds, the ratio is at most the one to 600.
  if (searched) ratios.rounds.push_back(*ours.rounds / best.rounds.value_or(grid_rounds));
  if (best.bytes) ratios.bytes.push_back(*ours.bytes / *best.bytes);
  if (rested.rounds) ratios.participation.push_back(0.4 * *rested.rounds / *ours.rounds);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"--penalty auto against the best of 25 numbers"};
  app.add_option("--only", settings.only, "cases whose name contains this");
  app.add_option("--agents", settings.agents, "cases with this number of agents");
  app.add_option("--seed", settings.seed, "of shards, graphs and participation");
  app.add_option("--grid-agents", settings.grid_agents,
                 "look for the best number where there are at most this many agents (100)");
  app.add_flag("--without-rest", settings.without_rest, "do not run with participation 0.4");
  app.add_option("--json", settings.json, "also write the figures to this file");
  CLI11_PARSE(app, argc, argv);

  fmt::print("{:<46} {:>6} {:>6} {:>8} {:>9} {:>9} {:>8}\n", "rounds; kB", "1e-6", "1e-8",
             "best mu", "kB", "best mu", "p = 0.4");
  Ratios ratios;
  for (const Case& one : all_cases())
    if (one.name.find(settings.only) != std::string::npos &&
        (settings.agents == 0 || one.config.agents == settings.agents))
      measure(one, settings, ratios);
  return bench::report(
      "no tuning: --penalty auto over the best of 25 numbers, to a relative gap of 1e-6",
      {{"rounds, median case", median(ratios.rounds), "x", 0.5, false},
       {"rounds, worst case", worst(ratios.rounds), "x", 1.2, false},
       {"bytes, median case", median(ratios.bytes), "x", 0.7, false},
       {"bytes, worst case", worst(ratios.bytes), "x", 1.5, false},
       {"activations per agent, participation 0.4 over 1, median", median(ratios.participation),
        "x", 1.3, false},
       {"activations per agent, participation 0.4 over 1, worst", worst(ratios.participation), "x",
        1.3, false},
       {"cases that miss a gap of 1e-8", static_cast<double>(ratios.missed), ""}},
      argc, argv);
}
