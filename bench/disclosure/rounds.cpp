// What it costs in rounds that peers do not publish their whole Hessian: edge coupling in the
// simulator, rounds to a relative error of 1e-6, with the whole Hessian from the first weight on,
// with the rule of peers (the diagonal until two neighbours' weights are blended) and with the
// diagonal alone. Rounds do not depend on the machine. Arguments: data sets.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "grove/runtime/simulator.h"
#include "grove/setup/method_setup.h"
#include "grove/train/run.h"

namespace {

using namespace grove;

constexpr double target = 1e-6;
constexpr Round most_rounds = 2000;

Config config_of(const std::string& data, const std::string& graph, const std::string& partition) {
  Config config;
  config.data = data;
  config.graph = graph;
  config.partition = partition;
  config.agents = 10;
  config.l2 = 1e-3;
  config.link = LinkKind::edge;
  config.penalty = LinkWeightForm{LinkWeightShape::full};
  config.tolerance = 0;
  config.threads = 1;
  return config;
}

Round rounds_of(const Config& config, const Instance& instance, const Vector& optimum,
                PublishedHessian published) {
  MethodSetup setup = *set_up_method(config, instance);
  for (auto& options : setup.options) std::get<DruidOptions>(options).published_hessian = published;
  Simulator simulator(make_agents(instance, setup), instance.graph,
                      Schedule(1, setup.participation, setup.work_loads), {.threads = 1});
  const auto error = [&] {
    double sum = 0;
    for (const auto& agent : simulator.agents()) sum += (agent->estimate() - optimum).squaredNorm();
    return std::sqrt(sum / (static_cast<double>(instance.agents()) * optimum.squaredNorm()));
  };
  while (error() > target && simulator.round() < most_rounds) simulator.advance();
  return simulator.round();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> sets(arguments + 1, arguments + count);
  if (sets.empty()) sets.emplace_back("synthetic:ijcnn-like,samples=2000");
  std::vector<double> blended, diagonal;
  fmt::print("{:<58} {:>5} {:>8} {:>9}\n", "instance", "whole", "as peers", "diagonal");
  for (const std::string& data : sets)
    for (const std::string graph : {"path", "ring", "star", "complete", "erdos-renyi:0.3"})
      for (const std::string partition : {"even", "label-skew:0.1", "size-skew:0.5"})
        for (const std::uint64_t seed : {1u, 2u, 3u}) {
          Config config = config_of(data, graph, partition);
          config.seed = seed;
          const auto problem = prepare(config);
          if (!problem) {
            fmt::print(stderr, "{}\n", problem.error().text());
            return 2;
          }
          const auto rounds = [&](PublishedHessian published) {
            return static_cast<double>(
                rounds_of(config, problem->instance, problem->reference->x, published));
          };
          const double whole = rounds(PublishedHessian::full);
          const double some = rounds(PublishedHessian::blended);
          const double least = rounds(PublishedHessian::diagonal);
          blended.push_back(some / whole);
          diagonal.push_back(least / whole);
          fmt::print("{:<58} {:>5} {:>8} {:>9}\n",
                     fmt::format("{} {} {} seed {}", data.substr(data.rfind('/') + 1), graph,
                                 partition, seed),
                     whole, some, least);
        }
  fmt::print(
      "median ratio to whole: as peers {:.2f} (worst {:.2f}), diagonal {:.2f} (worst {:.2f})\n",
      median(blended), std::ranges::max(blended), median(diagonal), std::ranges::max(diagonal));
}
