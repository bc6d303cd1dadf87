// What differential privacy costs: tree-newton with --dp at ten agents beside the same network
// without, on the whole of public data sets. Medians over five seeds of noise and shards; the table
// does not depend on the machine.
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "grove/data/dataset.h"
#include "grove/train/run.h"

namespace {

using namespace grove;

constexpr std::uint64_t seeds = 5;

struct Set {
  const char* data;
  std::uint64_t samples;  ///< 0: all
  double bound;           ///< near the length of the longest rows
};
constexpr Set sets[] = {{"ijcnn1", 0, 2}, {"ijcnn1", 5000, 2}, {"a9a", 0, 3.75}};

std::string file_of(const Set& set) {
  const char* folder = std::getenv("GROVE_DATA_DIR");
  return fmt::format("{}/{}.bz2", folder ? folder : "../shared/data", set.data);
}

Config private_config(const Set& set, const std::string& promise, std::uint64_t seed) {
  Config config;
  config.data = file_of(set);
  config.samples = set.samples;
  config.agents = 10;
  config.graph = "erdos-renyi:0.3";
  config.method = Method::tree_newton;
  config.sums = SumsKind::masked;
  config.weighting = Weighting::sample;
  config.intercept = true;
  config.l2 = 1e-3;
  config.dp = promise;
  config.rounds = 1000;
  config.measure_every = 0;
  config.keep_estimates = true;
  config.seed = seed;
  return config;
}

/// Share of all rows of the file, none of them shortened, on the right side.
double accuracy(const Samples& samples, const Vector& model) {
  Index right = 0;
  for (Index row = 0; row < samples.count(); ++row) {
    double margin = model[samples.dimension()];
    for_each_nonzero(samples, row,
                     [&](Index column, double value) { margin += model[column] * value; });
    right += (margin > 0) == (samples.targets[row] > 0.5);
  }
  return static_cast<double>(right) / static_cast<double>(samples.count());
}

struct Outcome {
  double gap = 0;  ///< (F - F*) / F*, F over shortened rows
  double accuracy = 0;
};

std::optional<Outcome> play(const Set& set, const std::string& promise, std::uint64_t seed,
                            const Samples& samples) {
  const auto record = run(private_config(set, promise, seed));
  if (!record) {
    fmt::print("{}\n", record.error().text());
    return std::nullopt;
  }
  const TracePoint& last = record->trace.back();
  const double gap = last.objective_gap.value_or(-1);
  return Outcome{gap / (last.objective - gap), accuracy(samples, record->estimates.front())};
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

bool print_row(const Set& set, const std::string& name, const std::string& promise,
               const Samples& samples) {
  std::vector<double> gaps, accuracies;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto outcome = play(set, promise, seed, samples);
    if (!outcome) return false;
    gaps.push_back(outcome->gap);
    accuracies.push_back(outcome->accuracy);
  }
  fmt::print("| {} | {} | {} | {:.1e} | {:.0f} % |\n", set.data,
             set.samples > 0 ? fmt::format("{}", set.samples) : fmt::format("{}", samples.count()),
             name, median(gaps), 100 * median(accuracies));
  std::fflush(stdout);
  return true;
}

}  // namespace

int main() {
  fmt::print("| data | rows | epsilon | relative gap | accuracy |\n|---|---|---|---|---|\n");
  for (const Set& set : sets) {
    const auto loaded = load_dataset(file_of(set), TargetKind::two_classes, 1, {});
    if (!loaded) {
      fmt::print("{}\n", loaded.error().text());
      return 1;
    }
    if (!print_row(set, "none", "", loaded->samples)) return 1;
    for (const char* epsilon : {"10", "3", "1", "0.3", "0.1"})
      if (!print_row(set, epsilon,
                     fmt::format("epsilon={},delta=1e-6,bound={}", epsilon, set.bound),
                     loaded->samples))
        return 1;
  }
  return 0;
}
