#include "grove/peer/peer_status.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include <unistd.h>

#include "grove/record/certificate_json.h"

namespace grove::peer {
namespace {

using nlohmann::json;

json rejections_json(const std::array<std::uint64_t, reject_reason_count>& rejected) {
  json result = json::object();
  for (std::size_t kind = 0; kind < reject_reason_count; ++kind)
    if (rejected[kind] > 0)
      result[std::string(name_of(static_cast<RejectReason>(kind)))] = rejected[kind];
  return result;
}

/// JSON has no infinity, so a residual that is not yet known is null.
json number_or_null(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

}  // namespace

std::uint64_t total_bytes(const PeerStatus& status) {
  std::uint64_t bytes = 0;
  for (const LinkStatus& link : status.links)
    bytes += link.counts.bytes_sent + link.counts.bytes_received;
  return bytes;
}

std::size_t connected_count(const PeerStatus& status) {
  return static_cast<std::size_t>(std::ranges::count_if(status.links, &LinkStatus::connected));
}

std::uint64_t rejection_count(const PeerStatus& status) {
  const auto sum = [](const std::array<std::uint64_t, reject_reason_count>& rejected) {
    return std::accumulate(rejected.begin(), rejected.end(), std::uint64_t{0});
  };
  std::uint64_t count = sum(status.strangers_rejected);
  for (const LinkStatus& link : status.links) count += sum(link.counts.rejected);
  return count;
}

json to_json(const PeerStatus& status) {
  json links = json::array();
  for (const LinkStatus& link : status.links)
    links.push_back({{"name", link.name},
                     {"connected", link.connected},
                     {"round_trip_seconds", link.round_trip_seconds},
                     {"sessions", link.counts.sessions},
                     {"iterates_sent", link.counts.iterates_sent},
                     {"iterates_received", link.counts.iterates_received},
                     {"bytes_sent", link.counts.bytes_sent},
                     {"bytes_received", link.counts.bytes_received},
                     {"faults_injected", link.counts.faults_injected},
                     {"refused", rejections_json(link.counts.rejected)},
                     {"last_refusal", link.last_rejection}});
  return {
      {"format", "grove-peer-status/1"},
      {"name", status.name},
      {"process", ::getpid()},
      {"time",
       std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()},
      {"phase", status.phase},
      {"activations", status.activations},
      {"at_rest_since",
       status.below_tolerance_since > 0 ? json(status.below_tolerance_since) : json(nullptr)},
      {"residual", number_or_null(status.residual)},
      {"certificate", status.certificate ? to_json(*status.certificate) : json(nullptr)},
      {"network_residual", number_or_null(status.network_residual)},
      {"members", status.members},
      {"holder", status.holder},
      {"run", status.run},
      {"waiting_for", status.waiting_for},
      {"work", status.work},
      {"work_reason", status.work_reason},
      {"links_raised", status.links_raised},
      {"life", status.epoch},
      {"seconds", status.seconds},
      {"checkpoint_age", status.checkpoint_age < 0 ? json(nullptr) : json(status.checkpoint_age)},
      {"checkpoint_trouble", status.checkpoint_error},
      {"certificate_seconds", status.certificate_seconds},
      {"neighbours", status.links.size()},
      {"connected", connected_count(status)},
      {"bytes", total_bytes(status)},
      {"refused", rejection_count(status)},
      {"links", links},
      {"strangers_refused", rejections_json(status.strangers_rejected)}};
}

}  // namespace grove::peer
