#pragma once

#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "grove/peer/checkpoint_fuzz.h"
#include "grove/peer/peer_agent.h"
#include "grove/peer/wire.h"

namespace grove::peer {

/// A peer with one neighbour after some rounds, and its checkpoint.
struct SavedPeer {
  explicit SavedPeer(const char* penalty, const char* method = "druid-vl") {
    PeerConfig config;
    config.name = config.holder = "a";
    config.training.data = "synthetic:ijcnn-like,samples=30";
    config.training.l1 = config.training.l2 = 1e-3;
    for (Option& option : options_of(config)) {
      if (option.name == "penalty" && !option.set(penalty)) std::abort();
      if (option.name == "method" && !option.set(method)) std::abort();
    }
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

/// Changes the content of a checkpoint and corrects the checksum. Each three bytes of `edits` are a
/// position and a new value; a remaining byte is the length to cut off.
inline std::string corrupted_file(const std::string& file, std::string_view edits) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(edits[k]); };
  std::string content(*open_checkpoint(CheckpointKind::peer, file));
  for (; edits.size() >= 3; edits.remove_prefix(3))
    content[(byte(0) + 256u * byte(1)) % content.size()] = edits[2];
  if (!edits.empty()) content.resize(content.size() - byte(0) % content.size());
  return file_with(content);
}

/// Aborts unless the state that other peers see is valid.
inline void require_usable(const PeerAgent& peer) {
  if (!(peer.estimate().array().abs() <= max_value).all()) std::abort();
  if (peer.sequence() > max_sequence) std::abort();
  const std::set<std::string> names(peer.neighbours().begin(), peer.neighbours().end());
  if (names.size() != peer.last_received().size() || names.contains("a")) std::abort();
  for (const std::string& name : names)
    if (!is_peer_name(name)) std::abort();
  for (const std::uint64_t sequence : peer.last_received())
    if (sequence > max_sequence) std::abort();
}

/// Aborts unless a corrupted checkpoint is rejected or usable. The first byte chooses the form of
/// the link weights, and the others are the edits. Returns whether the checkpoint was restored. The
/// fuzzer and the tests use it.
inline bool fuzz_restore(std::string_view bytes) {
  static const std::vector<SavedPeer> saved = [] {
    std::vector<SavedPeer> result;
    for (const char* penalty : {"0.003", "scalar", "diagonal", "low-rank:2", "full"})
      result.emplace_back(penalty);
    result.emplace_back("auto", "tree-newton");
    return result;
  }();
  if (bytes.empty()) return false;
  const SavedPeer& one = saved[static_cast<unsigned char>(bytes[0]) % saved.size()];
  const auto corrupted = decode(corrupted_file(encode(one.checkpoint), bytes.substr(1)));
  if (!corrupted) return false;

  const auto peer = one.fresh();
  if (!peer->restore(*corrupted)) return false;
  require_usable(*peer);
  const auto neighbour = one.fresh();
  neighbour->add("a");
  for (int round = 0; round < 2; ++round) {
    neighbour->activate(0, 1);
    peer->receive("b", neighbour->message_to(0));
    peer->activate(0, 1);
    if (std::isnan(peer->residual())) std::abort();
  }
  (void)peer->checkpoint();
  return true;
}

}  // namespace grove::peer
