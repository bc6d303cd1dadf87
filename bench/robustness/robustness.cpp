// Claims against an independent optimum: random tables as people have them, default options. Prints
// false claims, how many runs converge within 500 rounds, and how many diverge. Counts do not
// depend on the machine or its load. See --help for parts of it.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "robustness/instances.h"

namespace {

using namespace grove;

constexpr double claim = 1e-6;    ///< relative gap that `converged` stands for
constexpr double floor_ = 1e-13;  ///< of the objective at the start: an optimum of 0 can be reached

struct Counts {
  int runs = 0, converged = 0, diverged = 0, false_claims = 0, refused = 0, weak_oracle = 0;
  int wrong_references = 0, without_minimizer = 0, infima = 0, unresolved = 0;
  double rounds = 0;
};

struct Settings {
  std::uint64_t first = 1, count = 2000;
  bool verbose = false, trace = false;
  bool tree_newton = false;
};

Result<RunRecord> train(const robustness::Instance& instance, bool tree_newton,
                        const std::string& partition) {
  const oracle::Task& task = instance.task;
  std::ofstream file(partition);
  for (const std::uint32_t agent : instance.agents) file << agent << '\n';
  file.close();
  const auto problem = Problem::from_samples(DenseView{.values = task.values.data(),
                                                       .rows = static_cast<Index>(task.rows),
                                                       .columns = static_cast<Index>(task.columns)},
                                             task.targets);
  if (!problem) return problem.error();
  Options options = instance.options;
  options.partition = partition;
  if (tree_newton) {
    options.method = Method::tree_newton;
    options.penalty = Options().penalty;
  }
  return run(*problem, options);
}

/// How far the optimum moves when every cell moves by one unit in its last place, the seed of which
/// way. Where this is the gap, the gap is the fit of rounding errors: a column that is the rounded
/// sum of others has them as a direction of its own.
long double movement_by_rounding(const oracle::Task& task, long double optimum) {
  constexpr int draws = 4;
  long double largest = 0;
  std::mt19937_64 random(1);
  for (int draw = 0; draw < draws; ++draw) {
    oracle::Task moved = task;
    for (double& value : moved.values)
      if (value != 0) value = std::nextafter(value, random() % 2 == 0 ? -INFINITY : INFINITY);
    largest = std::max(largest, std::abs(oracle::solve(moved).objective - optimum));
  }
  return largest;
}

void judge(std::uint64_t seed, const Settings& settings, const std::string& partition,
           Counts& counts) {
  const robustness::Instance instance = robustness::draw(seed);
  const auto record = train(instance, settings.tree_newton, partition);
  ++counts.runs;
  if (!record) {
    ++counts.refused;
    fmt::print("{:6d} refused: {} | {}\n", seed, record.error().text(), instance.name);
    return;
  }
  const oracle::Optimum optimum = oracle::solve(instance.task);
  if (settings.trace)
    for (const TracePoint& point : record->trace)
      fmt::print(
          "{:4d} gap {:.3e} consensus {:.3e} damped {} bytes {}\n", point.round,
          static_cast<double>((point.objective - optimum.objective) / std::abs(optimum.objective)),
          point.consensus_error, point.cost.damped_steps, point.cost.bytes_sent);
  if (settings.trace)
    for (const RunEvent& event : record->events)
      fmt::print("{} agent {}: {} {}\n", event.round, event.agent, event.what, event.why);
  std::vector<double> x(record->solution.begin(), record->solution.end());
  const long double start = oracle::objective(instance.task, std::vector<double>(x.size(), 0.0));
  const long double scale = std::abs(optimum.objective);
  const long double floor = floor_ * std::abs(start);
  const long double gap = oracle::objective(instance.task, x) - optimum.objective;
  const bool converged = record->outcome.status == RunStatus::converged;
  const bool diverged = record->outcome.status == RunStatus::diverged;
  const bool none = record->outcome.detail.find("no minimizer") != std::string::npos;
  if (none && !converged && optimum.objective <= 1e-9L * start) {
    ++counts.without_minimizer;
    return;
  }
  // Certified to be near an infimum that no point takes: the optimum of the oracle.
  const bool infimum = none && converged;
  counts.infima += infimum;
  bool wrong = (none && !converged) || (converged && !(gap <= claim * scale + floor));
  const bool unresolved =
      wrong && !none && movement_by_rounding(instance.task, optimum.objective) >= gap / 4;
  if (unresolved) wrong = false;
  counts.unresolved += unresolved;
  const bool weak = gap < -1e-9L * scale - floor;
  bool wrong_reference = false;
  if (record->reference)
    wrong_reference =
        std::abs(record->reference->objective - optimum.objective) > 1e-8L * scale + floor;
  counts.wrong_references += wrong_reference;
  counts.converged += converged;
  counts.diverged += diverged;
  counts.false_claims += wrong;
  counts.weak_oracle += weak;
  if (converged) counts.rounds += std::log(static_cast<double>(record->outcome.rounds) + 1);
  if (wrong || weak || unresolved || infimum || wrong_reference || (settings.verbose && !converged))
    fmt::print("{:6d} {}{}{}{}{} gap {:.1e}, bound {:.1e} after {} rounds, optimum {:.6g}{} | {}\n",
               seed, wrong ? "FALSE CLAIM " : "",
               unresolved ? "ROUNDING OF CELLS "
               : infimum  ? "INFIMUM "
                          : "",
               diverged ? "DIVERGED " : "", weak ? "WEAK ORACLE " : "",
               wrong_reference ? "WRONG REFERENCE" : "",
               static_cast<double>(gap / std::max(scale, floor)),
               record->outcome.gap_bound.value_or(INFINITY), record->outcome.rounds,
               static_cast<double>(optimum.objective),
               record->reference ? fmt::format(" (reference {:.6g})", record->reference->objective)
                                 : " (no reference)",
               instance.name);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  bool strict = false;
  CLI::App app{"False claims, convergence and divergence on random tables."};
  app.add_option("--first", settings.first, "first seed (1)");
  app.add_option("--count", settings.count, "how many instances (2000)");
  app.add_flag("--tree-newton", settings.tree_newton, "by Newton steps on sums over a tree");
  app.add_flag("--verbose", settings.verbose, "a line for every run that did not converge");
  app.add_flag("--trace", settings.trace, "every measured round of every run");
  app.add_flag("--check", strict,
               "exit 1 unless there are no false claims, none diverged and 98 % converged");
  CLI11_PARSE(app, argc, argv);
  const auto partition = std::filesystem::temp_directory_path() /
                         fmt::format("grove_robustness_{}_{}.txt", getpid(), settings.first);
  Counts counts;
  for (std::uint64_t k = 0; k < settings.count; ++k)
    judge(settings.first + k, settings, partition.string(), counts);
  std::filesystem::remove(partition);
  const int with_minimizer = counts.runs - counts.without_minimizer;
  fmt::print(
      "{} instances: {} false claims, {} without a minimizer and said so, {} of the others "
      "converged within 500 rounds ({:.2f} %), {} diverged, {} "
      "refused, {} wrong references, {} weak oracles, {} gaps within the rounding of cells, "
      "{} near an infimum that no model takes, geometric mean of rounds {:.1f}\n",
      counts.runs, counts.false_claims, counts.without_minimizer, counts.converged,
      100.0 * counts.converged / with_minimizer, counts.diverged, counts.refused,
      counts.wrong_references, counts.weak_oracle, counts.unresolved, counts.infima,
      std::exp(counts.rounds / std::max(1, counts.converged)) - 1);
  const bool good = counts.false_claims == 0 && counts.diverged == 0 && counts.refused == 0 &&
                    counts.weak_oracle == 0 && counts.converged >= 0.98 * with_minimizer;
  return strict && !good ? 1 : 0;
}
