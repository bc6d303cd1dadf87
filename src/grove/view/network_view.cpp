#include "grove/view/network_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace grove {
namespace {

using nlohmann::json;

double number_or(const json& value, double other) {
  return value.is_number() ? value.get<double>() : other;
}

}  // namespace

NetworkView::NetworkView(LiveRuns& runs, const std::string& network) : runs_(runs) {
  runs_.begin(network, {{"config", {{"data", network}}},
                        {"agents", json::array()},
                        {"outcome", {{"detail", "waiting for the first answers"}}},
                        {"trace", json::array()}});
}

std::size_t NetworkView::index_of(const std::string& name) {
  const auto [at, is_new] = indices_.try_emplace(name, peers_.size());
  if (is_new) {
    peers_.push_back({.residual = std::nan("")});
    peers_.back().shown = {{"name", name}, {"phase", "unknown"}};
  }
  return at->second;
}

void NetworkView::read(const PeerAnswer& answer, double seconds) {
  const std::size_t at = index_of(answer.name);
  peers_[at].asked = true;
  peers_[at].active = false;
  if (!answer.status.is_object()) return;
  try {  // nlohmann-json reports missing and mistyped fields by exception
    const json& status = answer.status;
    Peer read{.active = true, .asked = true};
    read.heard_at = seconds;
    read.residual = number_or(status.at("residual"), std::nan(""));
    read.activations = std::max(0.0, status.at("activations").get<double>());
    read.shown = {{"name", answer.name},
                  {"phase", status.value("outcome", status.at("phase").get<std::string>())},
                  {"work", status.at("work").get<int>()},
                  {"degree", status.at("neighbours").get<int>()},
                  {"activations", status.at("activations")},
                  {"bytes", status.at("bytes").get<double>()},
                  {"refused", status.at("refused").get<double>()},
                  {"waiting_for", status.value("waiting_for", "")},
                  {"trouble", status.value("checkpoint_trouble", "")}};
    for (const json& link : status.at("links")) {
      const std::size_t other = index_of(link.at("name").get<std::string>());
      if (other == at) continue;
      read.links.emplace_back(other, Link{.bytes = link.at("bytes_sent").get<double>() +
                                                   link.at("bytes_received").get<double>(),
                                          .connected = link.at("connected").get<bool>()});
    }
    peers_[at] = std::move(read);
  } catch (const json::exception&) {
    peers_[at].active = false;
  }
}

/// Neighbours that were not asked themselves are there while a peer is connected to them.
void NetworkView::hear_of_neighbours() {
  for (Peer& peer : peers_)
    if (!peer.asked) peer.active = false;
  for (const Peer& peer : peers_)
    for (const auto& [other, link] : peer.links) {
      if (peers_[other].asked) continue;
      if (peer.active && link.connected) peers_[other].active = true;
      peers_[other].shown["phase"] = peers_[other].active ? "connected" : "unknown";
    }
}

json NetworkView::explanations(double seconds) const {
  json lines = json::array();
  for (const Peer& peer : peers_) {
    const auto name = peer.shown.at("name").get<std::string>();
    if (peer.asked && !peer.active)
      lines.push_back(peer.heard_at > 0 ? fmt::format("{} has been silent for {:.0f} s.", name,
                                                      seconds - peer.heard_at)
                                        : fmt::format("{} has not answered yet.", name));
    if (!peer.active) continue;
    if (const std::string whom = peer.shown.value("waiting_for", ""); !whom.empty())
      lines.push_back(fmt::format("{} waits for {}.", name, whom));
    if (const std::string trouble = peer.shown.value("trouble", ""); !trouble.empty())
      lines.push_back(fmt::format("{} cannot write its checkpoint: {}.", name, trouble));
    if (const double refused = peer.shown.value("refused", 0.0); refused > 0)
      lines.push_back(fmt::format("{} has refused {:.0f} messages.", name, refused));
  }
  return lines;
}

void NetworkView::show(const std::vector<PeerAnswer>& answers, double seconds) {
  if (began_ < 0) began_ = seconds;
  for (const PeerAnswer& answer : answers) read(answer, seconds);
  hear_of_neighbours();
  std::map<std::pair<std::size_t, std::size_t>, Link> links;
  for (std::size_t k = 0; k < peers_.size(); ++k)
    for (const auto& [other, link] : peers_[k].links) {
      Link& both = links[std::minmax(k, other)];
      both.bytes = std::max(both.bytes, link.bytes);
      if (peers_[k].active) both.connected = both.connected && link.connected;
      if (!peers_[k].active && peers_[k].asked) both.connected = false;
    }
  double largest = 0, bytes = 0;
  std::size_t silent = 0;
  AgentTrace trace{.frames = {AgentFrame{}}};
  AgentFrame& frame = trace.frames[0];
  json agents = json::array(), edges = json::array();
  for (const Peer& peer : peers_) {
    if (peer.active && std::isfinite(peer.residual)) largest = std::max(largest, peer.residual);
    if (peer.activations < 1e15)
      last_round_ = std::max(last_round_, static_cast<std::uint64_t>(peer.activations));
    silent += !peer.active;
    frame.distance.push_back(peer.residual);
    frame.active.push_back(peer.active);
    agents.push_back(peer.shown);
  }
  for (const auto& [ends, link] : links) {
    edges.push_back({ends.first, ends.second});
    trace.traffic.push_back(
        {static_cast<std::uint64_t>(std::clamp(link.bytes, 0.0, 1e18)), link.connected ? 0u : 1u});
    bytes += link.bytes;
  }
  frame.round = last_round_;
  runs_.patch(
      {{"agents", agents},
       {"explanations", explanations(seconds)},
       {"outcome",
        {{"detail", fmt::format("{} of {} peers answer", peers_.size() - silent, peers_.size())}}},
       {"agent_trace",
        {{"edges", edges},
         {"frames", json::array()},
         {"from_optimum", false},
         {"measure", "residual"},
         {"dashed", "not connected"}}}});
  runs_.show_agents(trace, /*always=*/true);
  json row = {{"round", last_round_}, {"bytes_sent", bytes}, {"seconds", seconds - began_}};
  if (largest > 0) row["residual"] = largest;
  if (!has_rows_ || last_round_ > shown_round_) runs_.add_row(row);
  has_rows_ = true;
  shown_round_ = last_round_;
}

void NetworkView::end(const std::string& detail) {
  runs_.patch({{"outcome", {{"detail", detail}}}});
  runs_.end();
}

}  // namespace grove
