// The part of a peer's loop that is about the study that it computes.
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include "grove/peer/clock.h"
#include "grove/peer/peer_loop.h"
#include "grove/peer/study/acceptances.h"

namespace grove::peer {

/// Until every member has accepted the study, peers exchange heartbeats with their acceptances, and
/// nothing that was computed from data. Returns an end if the peer must not go on.
std::optional<PeerEnd> PeerLoop::await_acceptances() {
  if (!config_.acceptances) return std::nullopt;
  for (auto missing = config_.acceptances->waiting(); !missing.empty();
       missing = config_.acceptances->waiting()) {
    const double now = monotonic_seconds();
    waiting_ = fmt::format("the acceptance of {}", fmt::join(missing, ", "));
    if (waiting_log_.is_due(waiting_, now)) hooks_.log->info("waiting for {}", waiting_);
    if (const auto outcome = exchange_acceptances(now)) return again_if_asked({*outcome});
    std::this_thread::sleep_for(std::chrono::duration<double>(config_.heartbeat_seconds));
  }
  hooks_.log->info("all members have accepted study=\"{}\"", config_.acceptances->study_id());
  if (weights_changed()) return PeerEnd{.outcome = PeerOutcome::stopped, .again = true};
  return std::nullopt;
}

std::optional<PeerOutcome> PeerLoop::exchange_acceptances(double now) {
  {
    const std::lock_guard lock(members_mutex_);
    connections_.cancel_overdue(now);
    merge_heartbeats(now);
    if (leave_requested_) members_.leave();
    members_.beat();
    links_.publish(members_.heartbeat(now));
  }
  const std::lock_guard lock(status_mutex_);
  status_.phase = "waiting";
  status_.waiting_for = waiting_;
  status_.members = config_.members;
  status_.holder = config_.holder;
  status_.seconds = now - started_;
  status_.certificate_seconds = connections_.certificate_seconds();
  status_.links = links_.statuses();
  if (members_.is_duplicate()) return PeerOutcome::duplicate;
  if (leave_requested_) return PeerOutcome::left;
  return asked_to_stop() ? std::optional(PeerOutcome::stopped) : std::nullopt;
}

/// The members' rows decide on the weights; a site that has accepted again may have others.
bool PeerLoop::weights_changed() const {
  return config_.acceptances && config_.training.weighting == Weighting::sample &&
         config_.acceptances->scale() != config_.scale;
}

}  // namespace grove::peer
