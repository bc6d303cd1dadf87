#include "grove/peer/fit_agreement.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include "grove/peer/clock.h"
#include "grove/peer/peer_status.h"
#include "grove/peer/study/acceptances.h"
#include "grove/peer/wire.h"
#include "grove/record/table_summary_json.h"
#include "grove/sums/exact_numbers.h"
#include "grove/train/fit.h"
#include "grove/train/fit_options.h"

namespace grove::peer {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();
/// How long a peer that cannot go on tells the others why.
constexpr double farewell_seconds = 5;
constexpr auto look_every = std::chrono::milliseconds(10);
constexpr const char* refusal_key = "refusal";

LinkTableOptions link_table_options(const FitAgreement::Parts& parts) {
  const PeerConfig& config = parts.config;
  LinkShape shape;
  shape.fits = true;
  return {.network = config.network,
          .self = config.name,
          .schema = fit_schema(config),
          .shape = shape,
          .accept_new = config.accept_new,
          .seed = config.training.seed,
          .signer = parts.signer,
          .audit = parts.audit};
}

LinkShape gossip_shape() {
  LinkShape shape;
  shape.fits = true;
  return shape;
}

std::string missing_text(const std::vector<std::string>& missing) {
  return fmt::format("has no column {}, which the formula or its options have",
                     fmt::join(missing, ", "));
}

/// What others may read of an error: no cell of the table, and no name of a file.
std::string refusal_text(const FitOptions& fit, const Table& table, const Error& error) {
  const auto missing = missing_columns(fit, table);
  if (!missing.empty()) return missing_text(missing);
  return error.where.starts_with(table.source) ? "its table does not fit the formula; see its log"
                                               : error.text();
}

/// Half of a heartbeat is left for what the tables are like and for signatures.
std::size_t most_fit_numbers(std::size_t members) {
  return max_fit_bytes / 2 / members / ExactNumbers::bytes_per_number;
}

std::string status_text(const PeerConfig& config) {
  PeerStatus status{.name = config.name, .phase = "agreeing"};
  status.residual = status.network_residual = forever;
  return to_json(status).dump();
}

}  // namespace

std::vector<std::string> missing_columns(const FitOptions& fit, const Table& table) {
  std::vector<std::string> names = fit.columns, missing;
  if (const auto syntax = parse_syntax(fit.formula)) collect_columns(*syntax, names);
  for (const std::string& role : {fit.roles.weights, fit.roles.offset})
    if (!role.empty()) names.push_back(role);
  for (const std::string& name : names)
    if (table.find(name) == nullptr) missing.push_back(name);
  return missing;
}

Schema fit_schema(const PeerConfig& config) {
  FitOptions fit = config.fit;
  Schema schema{{"method-of", "fit"}};
  if (config.acceptances) schema.push_back({"study", config.acceptances->study_id()});
  for (const Option& option : options_of(fit)) {
    const auto value = option.get();
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    schema.push_back({option.name == "columns" ? "columns-of-formula" : option.name, text});
  }
  return schema;
}

MembersOptions FitAgreement::members_options() const {
  const PeerConfig& config = parts_.config;
  std::vector<std::string> neighbours;
  for (const auto& neighbour : config.neighbours) neighbours.push_back(neighbour.name);
  return {.self = config.name,
          .holder = config.holder,
          .expected = config.members,
          .forget_seconds = config.forget_seconds,
          .problem = config.network + "\n" + to_text(fit_schema(config)),
          .process = process_number(),
          .neighbours = std::move(neighbours),
          .signer = parts_.signer,
          .acceptances = config.acceptances.get(),
          .twin_seconds = std::max(1.0, 5 * config.heartbeat_seconds)};
}

FitAgreement::FitAgreement(Parts parts)
    : parts_(parts),
      links_(link_table_options(parts), parts.hooks.log),
      members_(members_options(), monotonic_seconds()),
      started_(monotonic_seconds()),
      most_numbers_(most_fit_numbers(parts.config.members)),
      connections_({parts.config, gossip_shape(), links_, parts.signer, parts.hooks.log},
                   parts.identity,
                   {.status_json = [this] { return status_text(parts_.config); },
                    .stop = [this] { stop_requested_ = true; },
                    .leave = [this] { stop_requested_ = true; }}) {}

Result<std::optional<AgreedFit>> FitAgreement::run(const Table& table) {
  const PeerConfig& config = parts_.config;
  for (const auto& neighbour : config.neighbours) links_.add_link(neighbour.name);
  links_.publish(members_.heartbeat(started_));
  if (Status status = connections_.open(); !status) return status.error();
  parts_.hooks.log->info("agreeing on the columns of \"{}\" with {} members", config.fit.formula,
                         config.members);
  if (!await_acceptances()) return std::optional<AgreedFit>();
  for (;;) {
    stale_ = overflowed_ = false;
    numbers_ = 0;
    parts_.gossip.restart();
    const auto missing = missing_columns(config.fit, table);
    auto data = missing.empty() ? make_fit_data(config.fit, config.training, {table}, exchange())
                                : Result<FitData>(Error{table.source, missing_text(missing)});
    std::optional<AgreedFit> agreed;
    if (data) agreed = AgreedFit{.data = *data, .null = null_fit(*data)};
    if (agreed && fits())
      numbers_ += static_cast<std::size_t>(
          inference_numbers(config.fit, data->designs.front(), data->model, start_of(*data))
              .size());
    if (stopped_) return std::optional<AgreedFit>();
    if (stale_) continue;  // a member has come, or has another table
    if (data && !overflowed_ && fits()) return agreed;
    if (summary_.empty())  // the others have not heard anything yet
      parts_.gossip.set_summary(
          nlohmann::json{{refusal_key, refusal_text(config.fit, table, data.error())}}.dump());
    let_others_know();
    if (!fits())
      return Error{"formula",
                   fmt::format("{} members sum {} numbers each, the squares of its coefficients "
                               "among them; at most {} fit into a message. Use fewer columns or "
                               "levels",
                               config.members, numbers_, most_numbers_)};
    if (overflowed_) return Error{"formula", "a sum over the sites is infinite, or beyond 1e57"};
    return data.error();
  }
}

/// Nothing of the table is sent before all members have accepted the study, if there is one. False
/// if the peer was asked to stop.
bool FitAgreement::await_acceptances() {
  const auto& acceptances = parts_.config.acceptances;
  while (!stopped_ && acceptances && !acceptances->waiting().empty()) {
    stale_ = false;
    const double now = monotonic_seconds();
    const std::string text =
        fmt::format("the acceptance of {}", fmt::join(acceptances->waiting(), ", "));
    if (waiting_log_.is_due(text, now)) parts_.hooks.log->info("waiting for {}", text);
    pump_until([&] { return acceptances->waiting().empty(); },
               now + parts_.config.heartbeat_seconds);
  }
  return !stopped_;
}

FitExchange FitAgreement::exchange() {
  return {.unite = [this](std::vector<TableSummary> own) { return unite(own); },
          .sum = [this](const std::vector<Vector>& own) { return sum(own); }};
}

Result<std::vector<TableSummary>> FitAgreement::unite(const std::vector<TableSummary>& own) {
  nlohmann::json json = to_json(own.front());
  json.erase("site");  // the name of a file
  const std::string summary = json.dump();
  if (summary != summary_) parts_.gossip.set_summary(summary_ = summary);
  FitGossip& gossip = parts_.gossip;
  if (!pump_until([&] { return gossip.summaries().has_value(); }, forever))
    return Error{"peer", "asked to stop"};
  const auto summaries = *gossip.summaries();
  std::vector<TableSummary> all;
  for (const auto& [name, text] : summaries) {
    const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains(refusal_key) && json[refusal_key].is_string())
      return Error{name, "refuses: " + printable(json[refusal_key].get<std::string>())};
    auto one = table_summary_from_json(json, name);
    if (!one) return one.error();
    all.push_back(std::move(*one));
  }
  return all;
}

Vector FitAgreement::sum(const std::vector<Vector>& own) {
  const Vector unknown = Vector::Constant(own.front().size(), std::nan(""));
  if (stopped_ || stale_ || overflowed_ || !fits()) return unknown;
  numbers_ += static_cast<std::size_t>(own.front().size());
  if (!fits()) return unknown;
  FitGossip& gossip = parts_.gossip;
  const std::size_t sum = gossip.begin_sum(own.front());
  if (!pump_until([&] { return gossip.total(sum).has_value(); }, forever)) return unknown;
  const Vector total = *gossip.total(sum);
  overflowed_ = !total.allFinite();
  return total;
}

/// Exchanges heartbeats until done. False if the peer was asked to stop, or must begin anew, or the
/// time is over.
template <class Done>
bool FitAgreement::pump_until(const Done& done, double until) {
  while (!done()) {
    const double now = monotonic_seconds();
    stopped_ = stopped_ || stop_requested_ || parts_.hooks.interrupted();
    stale_ = stale_ || parts_.gossip.changed();
    if (stopped_ || (stale_ && until == forever) || now > until) return false;
    for (const v1::Heartbeat& heartbeat : links_.take_heartbeats()) {
      members_.merge(heartbeat, now);
      parts_.gossip.merge(heartbeat);
    }
    if (now >= next_beat_ || published_ != parts_.gossip.held()) beat(now);
    std::this_thread::sleep_for(look_every);
  }
  return true;
}

void FitAgreement::beat(double now) {
  next_beat_ = now + parts_.config.heartbeat_seconds;
  published_ = parts_.gossip.held();
  connections_.cancel_overdue(now);
  members_.set_fit_held(parts_.gossip.held());
  members_.report(forever, false, 0, now);
  v1::Heartbeat heartbeat = members_.heartbeat(now);
  if (!members_.all_hold_fit(now)) parts_.gossip.add_to(heartbeat);
  links_.publish(heartbeat);
  if (parts_.config.acceptances && !parts_.config.acceptances->waiting().empty()) return;
  const std::string waiting =
      waiting_text(members_.awaited(now), parts_.config.forget_seconds, now - started_);
  if (waiting_log_.is_due(waiting, now)) parts_.hooks.log->info("waiting for {}", waiting);
}

/// Those that run now learn why this peer does not go on.
void FitAgreement::let_others_know() {
  pump_until([&] { return members_.all_hold_fit(monotonic_seconds()); },
             monotonic_seconds() + farewell_seconds);
}

}  // namespace grove::peer
