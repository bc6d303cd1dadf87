// Ten peers over TLS in one process: seconds until all have the answer, of tree-newton and of
// druid-vl with and without certificates, in turn. The machine and its load matter to seconds,
// hardly to ratios.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/null_sink.h>

#include "grove/peer/clock.h"
#include "grove/peer/layout.h"
#include "grove/peer/peer.h"
#include "grove/peer/peer_config.h"
#include "support/table.h"

namespace {

using namespace grove;

constexpr std::size_t agents = 10;
constexpr int repetitions = 3;
constexpr double goal = 0.5;

struct Variant {
  const char* name;
  Method method;
  SumsKind sums;
  peer::Certify certify;
};
const Variant variants[] = {
    {"tree-newton, masked", Method::tree_newton, SumsKind::masked, peer::Certify::automatic},
    {"tree-newton, open", Method::tree_newton, SumsKind::open, peer::Certify::automatic},
    {"druid-vl, certify masked", Method::druid_vl, SumsKind::open, peer::Certify::masked},
    {"druid-vl, certify open", Method::druid_vl, SumsKind::open, peer::Certify::open},
    {"druid-vl, certify off", Method::druid_vl, SumsKind::open, peer::Certify::off}};

/// From the start of the first peer to the end of the last one; 0 where one did not converge.
double seconds_of(const Variant& variant, const std::string& graph,
                  const std::filesystem::path& folder) {
  std::filesystem::remove_all(folder);
  const char* data = std::getenv("GROVE_DATA_DIR");
  Config training;
  training.data = fmt::format("{}/ijcnn1.bz2", data ? data : "../shared/data");
  training.samples = 4000;
  training.agents = agents;
  training.graph = graph;
  training.l2 = 1e-3;
  training.method = variant.method;
  training.sums = variant.sums;
  training.tolerance = 1e-8;
  const auto layout = peer::make_layout({.training = training, .out = folder.string()});
  if (!layout) {
    fmt::print("{}\n", layout.error().text());
    std::exit(1);
  }
  const peer::PeerHooks hooks{.log = std::make_shared<spdlog::logger>(
                                  "quiet", std::make_shared<spdlog::sinks::null_sink_mt>())};
  std::vector<peer::PeerConfig> configs;
  for (const auto& one : layout->peers) {
    auto config = peer::read_peer_config(one.folder / "peer.toml");
    if (!config) {
      fmt::print("{}\n", config.error().text());
      std::exit(1);
    }
    config->certify = variant.certify;
    configs.push_back(std::move(*config));
  }
  std::vector<char> converged(agents, 0);
  std::vector<std::thread> threads;
  const double began = peer::monotonic_seconds();
  for (std::size_t k = 0; k < agents; ++k)
    threads.emplace_back([&, k] {
      const auto end = peer::run_peer(configs[k], hooks);
      converged[k] = end && end->outcome == peer::PeerOutcome::converged;
    });
  for (std::thread& thread : threads) thread.join();
  const double seconds = peer::monotonic_seconds() - began;
  return std::ranges::all_of(converged, [](char one) { return one == 1; }) ? seconds : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("grove-bench-certified-{}", std::random_device()());
  std::vector<bench::Row> rows;
  for (const std::string graph : {"erdos-renyi:0.3", "path"}) {
    std::map<std::string, std::vector<double>> taken;
    for (int repetition = 0; repetition < repetitions; ++repetition)
      for (const Variant& variant : variants) {
        const double seconds = seconds_of(variant, graph, folder);
        fmt::print("{} {}: {:.2f} s{}\n", graph, variant.name, seconds,
                   seconds == 0 ? ", not converged" : "");
        std::fflush(stdout);
        taken[variant.name].push_back(seconds);
      }
    std::map<std::string, double> medians;
    for (auto& [name, seconds] : taken) {
      std::ranges::sort(seconds);
      medians[name] = seconds[seconds.size() / 2];
      rows.push_back({fmt::format("{}: {}", graph, name), medians[name], "s"});
    }
    rows.push_back({graph + ": tree-newton, masked / druid-vl, certify masked",
                    medians["tree-newton, masked"] / medians["druid-vl, certify masked"], "x", goal,
                    false});
    rows.push_back({graph + ": druid-vl, certify masked / off",
                    medians["druid-vl, certify masked"] / medians["druid-vl, certify off"], "x"});
  }
  std::filesystem::remove_all(folder);
  return bench::report("time to the answer of ten peers over TLS", rows, argc, argv);
}
