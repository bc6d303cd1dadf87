#include "grove/peer/ending.h"

#include <algorithm>
#include <array>

namespace grove::peer {
namespace {

/// Heartbeats sent before the end, and the round trips that they are given, so that the others
/// receive one: what is under way when the connection closes is lost.
constexpr int goodbye_heartbeats = 3;
constexpr double goodbye_round_trips = 2;

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

bool Ending::has_said_goodbye(const EndingFacts& facts) {
  if (goodbyes_++ == 0) first_goodbye_ = facts.now;
  const double needed = goodbye_round_trips * facts.round_trip;
  return goodbyes_ >= goodbye_heartbeats &&
         facts.now - first_goodbye_ >= std::min(needed, options_.linger_seconds);
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
    return has_said_goodbye(facts) ? std::optional(PeerOutcome::left) : std::nullopt;
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
  const bool said_goodbye = facts.everyone_stopped && has_said_goodbye(facts);
  const double last_needed = std::max(stopped_since_, facts.last_unfinished);
  if (said_goodbye || facts.now - last_needed > options_.linger_seconds ||
      facts.now - stopped_since_ > std::max(options_.linger_seconds, options_.forget_seconds))
    return outcome;
  return std::nullopt;
}

}  // namespace grove::peer
