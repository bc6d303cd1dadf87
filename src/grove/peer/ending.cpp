#include "grove/peer/ending.h"

#include <algorithm>
#include <array>

namespace grove::peer {
namespace {

constexpr int goodbye_heartbeats = 3;  ///< sent before the end, so that the others receive one

}  // namespace

std::string_view name_of(PeerOutcome outcome) {
  constexpr std::array<std::string_view, 10> names{
      "converged", "converged_without", "peer_lost", "stopped",   "left",
      "duplicate", "unsaved",           "unaudited", "forbidden", "changed"};
  return names[static_cast<std::size_t>(outcome)];
}

bool has_model(PeerOutcome outcome) {
  return outcome == PeerOutcome::converged || outcome == PeerOutcome::converged_without ||
         outcome == PeerOutcome::stopped;
}

/// A peer that was restarted after the others had ended has the network's answer in its checkpoint.
std::optional<PeerOutcome> Ending::decide_alone(const EndingFacts& facts) const {
  const double waited = facts.now - started_;
  if (!had_company_ && waited >= options_.linger_seconds) {
    if (options_.resumed == SavedPhase::stopped) return PeerOutcome::converged;
    if (options_.resumed == SavedPhase::ready) return PeerOutcome::converged_without;
  }
  if (waited >= options_.forget_seconds) return PeerOutcome::peer_lost;
  return std::nullopt;
}

/// The peer had stopped when all members were ready to, and was disturbed afterwards. The others
/// did not notice, and ended. The answer of the agreement stays the answer of the run. What the
/// others said last does not matter: on slow links it is older than their end.
bool Ending::left_with_the_answer(const EndingFacts& facts) const {
  return !agreed_run_.empty() && agreed_run_ == facts.run &&
         facts.now - facts.last_heard > options_.linger_seconds;
}

std::optional<PeerOutcome> Ending::decide(const EndingFacts& facts) {
  if (facts.duplicate) return PeerOutcome::duplicate;
  if (facts.asked_to_stop) return PeerOutcome::stopped;
  if (facts.phase == v1::Member::LEFT) {
    if (++goodbyes_ >= goodbye_heartbeats) return PeerOutcome::left;
    return std::nullopt;
  }
  if (options_.stay) return std::nullopt;
  had_company_ |= !facts.alone;
  if (facts.alone && options_.members > 1) return decide_alone(facts);
  const auto outcome = facts.complete ? PeerOutcome::converged : PeerOutcome::converged_without;
  if (facts.phase != v1::Member::STOPPED) {
    stopped_since_ = -1;
    goodbyes_ = 0;
    return left_with_the_answer(facts) ? std::optional(outcome) : std::nullopt;
  }
  agreed_run_ = facts.run;
  if (stopped_since_ < 0) stopped_since_ = facts.now;
  if (facts.everyone_stopped) ++goodbyes_;
  const double last_needed = std::max(stopped_since_, facts.last_unfinished);
  if (goodbyes_ >= goodbye_heartbeats || facts.now - last_needed > options_.linger_seconds ||
      facts.now - stopped_since_ > std::max(options_.linger_seconds, options_.forget_seconds))
    return outcome;
  return std::nullopt;
}

}  // namespace grove::peer
