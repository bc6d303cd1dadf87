#pragma once

#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "grove/runtime/peer/peer_agent.h"

namespace grove::peer {

/// A peer with one neighbour and a little past, and the checkpoint that it would leave.
struct SavedPeer {
  explicit SavedPeer(const char* penalty) {
    PeerConfig config;
    config.name = config.holder = "a";
    config.training.data = "synthetic:ijcnn-like,samples=30";
    config.training.l1 = config.training.l2 = 1e-3;
    for (Option& option : options_of(config))
      if (option.name == "penalty" && !option.set(penalty)) std::abort();
    auto loaded = load_problem(config);
    if (!loaded) std::abort();
    problem = std::move(*loaded);
    const auto a = fresh(), b = fresh();
    a->add("b");
    b->add("a");
    for (int round = 0; round < 4; ++round) {
      a->activate(0, 1);
      b->activate(0, 1);
      a->receive("b", b->message_to(0));
      b->receive("a", a->message_to(0));
    }
    checkpoint = a->checkpoint();
  }
  std::unique_ptr<PeerAgent> fresh() const {
    return std::make_unique<PeerAgent>(
        problem, "a", 1, PeerStart{Vector::Zero(problem.objective->dimension()), false});
  }

  PeerProblem problem;
  Checkpoint checkpoint;
};

/// Spoils the state of a checkpoint whose sum is right and restores it: refused, or fit to go on
/// with. The first byte chooses the form of the links, then three bytes at a time say where and
/// what to write; what is left over cuts the end off. Shared by the fuzzer and the tests.
inline void fuzz_restore(std::string_view bytes) {
  static const std::vector<SavedPeer> saved = [] {
    std::vector<SavedPeer> result;
    for (const char* penalty : {"0.003", "scalar", "diagonal", "low-rank:2", "full"})
      result.emplace_back(penalty);
    return result;
  }();
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(bytes[k]); };
  if (bytes.empty()) return;
  const SavedPeer& one = saved[byte(0) % saved.size()];
  Checkpoint spoiled = one.checkpoint;
  for (bytes.remove_prefix(1); bytes.size() >= 3; bytes.remove_prefix(3))
    spoiled.agent[(byte(0) + 256u * byte(1)) % spoiled.agent.size()] = bytes[2];
  if (!bytes.empty()) spoiled.agent.resize(spoiled.agent.size() - byte(0) % spoiled.agent.size());

  const auto peer = one.fresh();
  if (!peer->restore(spoiled)) return;
  if (!(peer->estimate().array().abs() <= largest_value).all()) std::abort();
  const auto neighbour = one.fresh();
  neighbour->add("a");
  for (int round = 0; round < 2; ++round) {
    neighbour->activate(0, 1);
    peer->receive("b", neighbour->message_to(0));
    peer->activate(0, 1);
    if (std::isnan(peer->residual())) std::abort();
  }
  (void)peer->checkpoint();
}

}  // namespace grove::peer
