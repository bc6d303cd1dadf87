#include "grove/peer/peer_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include "grove/peer/clock.h"
#include "grove/peer/process_settings.h"

namespace grove::peer {
namespace {

constexpr double max_wait_timeout_seconds = 1;
constexpr int convergence_heartbeats = 3;  ///< for which the residual must stay below the tolerance
/// A neighbour that is not connected for that many heartbeats, and at least a second, is silent.
constexpr double silent_heartbeats = 5, silent_seconds = 1;
constexpr double slow_round_trip = 0.5;  ///< seconds; below, messages set the pace
constexpr double max_round_trip = 10;    ///< that is waited for: a neighbour can falsify its own
constexpr double quiet_round_trips = 2;  ///< for which it must stay there, too
constexpr double expiry_reminder_seconds = 24 * 60 * 60;
constexpr double trim_seconds = 0.02;  ///< minimal time between releases of freed memory

double longest_round_trip(const std::vector<LinkStatus>& links) {
  double longest = 0;
  for (const LinkStatus& link : links)
    if (link.connected) longest = std::max(longest, link.round_trip_seconds);
  return std::min(longest, max_round_trip);
}

std::string event_text(const AgentEvent& event) {
  switch (event.kind) {
    case AgentEvent::Kind::raised_links:
      return fmt::format(
          "links_raised factor={:g}: the peer kept disagreeing with its neighbours while its steps "
          "were small",
          event.value);
    case AgentEvent::Kind::lowered_links:
      return fmt::format(
          "links_lowered factor={:.2g}: the peer and its neighbours kept moving together, in small "
          "steps",
          event.value);
    case AgentEvent::Kind::shortened_step:
      return fmt::format("step_shortened to={:g}", event.value);
    case AgentEvent::Kind::changed_tree:
      return fmt::format("tree_changed members={:g}", event.value);
    case AgentEvent::Kind::private_answer:
    case AgentEvent::Kind::began_sums:  // not of peers
    case AgentEvent::Kind::no_minimizer:
      break;
  }
  return "no_minimizer: the objective is flat while the coefficients grow";
}

/// Estimates of standardized columns beyond this are e^30 times the odds or the mean in a
/// deviation: the likelihood grows for ever along them.
constexpr double endless = 30;
/// The same where the sums have found that steps stay this long, relative, though nothing is left
/// to gain.
constexpr double long_step = 1e-3, large = 5;

std::optional<Error> endless_growth(const PeerConfig& config, const AgreedFit& fit, const Vector& x,
                                    double limit) {
  const Config& training = config.training;
  const Family& family = config.fit.family;
  const bool penalized = training.l1 > 0 || training.l2 > 0 || training.regularizer ||
                         std::isfinite(training.constraint.low) ||
                         std::isfinite(training.constraint.high);
  const Index features = fit.data.scaling.features(), blocks = fit.data.scaling.blocks;
  if (penalized || family.link() == "identity" || !family.is_likelihood() || features == 0 ||
      !(x.head(blocks * features).lpNorm<Eigen::Infinity>() > limit))
    return std::nullopt;
  std::vector<std::string> growing;
  const std::vector<std::string> names = fit.data.column_names();
  const double largest = x.head(blocks * features).lpNorm<Eigen::Infinity>();
  for (Index k = 0; k < features; ++k)
    for (Index block = 0; block < blocks; ++block)
      if (std::abs(x[block * features + k]) > 0.1 * largest &&
          (growing.empty() || growing.back() != names[static_cast<std::size_t>(k)]))
        growing.push_back(names[static_cast<std::size_t>(k)]);
  return Error{"formula",
               fmt::format("the data is separated: the likelihood grows for ever along {}, so that "
                           "these estimates are infinite; expected a penalty (l2 = 1e-3) or fewer "
                           "terms",
                           fmt::join(growing, ", "))};
}

}  // namespace

Result<PeerEnd> PeerLoop::run() {
  if (Status status = folder_.open(); !status) return status.error();
  checkpoint_ = folder_.find();
  if (Status status = open_ledger(); !status) return status.error();
  restore_links();
  links_.publish(own_heartbeat(started_));
  if (Status status = open_network(); !status) return status.error();
  if (const auto end = await_acceptances()) return *end;
  prepare_agent();
  beater_ = std::thread([this] { keep_beating(); });
  while (!outcome_) {
    const bool activates = wait_to_activate();
    const double now = monotonic_seconds();
    if (activates) activate(now);
    if (now >= next_heartbeat_) {
      heartbeat(now);
      if (weights_changed()) stop_requested_ = true;
    }
    if (const Status status = connections_.follow_certificates(now); !status) {
      hooks_.log->error("cannot listen again: {}", status.error().text());
      stop_requested_ = true;
    }
    if (audit_ && audit_->has_failed()) outcome_ = PeerOutcome::unaudited;
  }
  stop_beating();
  auto end = finish();
  if (fit_error_) return *fit_error_;
  return end;
}

/// Waits until every neighbour has sent something new, or the wait timeout, or the next heartbeat.
/// Links that are slow set the pace: activations are half a round trip apart, because more of them
/// would repeat the same step, and residual balancing would take that for a standstill.
bool PeerLoop::wait_to_activate() {
  const bool slow = round_trip_ >= slow_round_trip && !problem_.sums_over_tree();
  const double apart = slow ? round_trip_ / 2 : 0;
  const double earliest = last_activation_ + apart;
  const double latest = last_activation_ + std::max(apart, wait_timeout_);
  std::this_thread::sleep_until(time_point_at(std::min(next_heartbeat_, earliest)));
  const bool all_have_sent = links_.wait_for_all(std::min(next_heartbeat_, latest));
  const double now = monotonic_seconds();
  return now >= latest || (all_have_sent && now >= earliest);
}

/// A run that could not even begin is refused before anything is sent.
Status PeerLoop::open_ledger() {
  auto* method = std::get_if<PrivateNewtonOptions>(&problem_.method);
  if (method == nullptr) return success();
  const PrivacyChoice& promise = *config_.training.dp.meaning();
  auto opened = PrivacyLedger::open(config_.state, promise, checkpoint_.has_value());
  if (!opened) return opened.error();
  ledger_ = std::move(*opened);
  if (!checkpoint_ && !ledger_->allows(method->gradient_cost + method->curvature_cost))
    return Error{
        "dp", fmt::format("this site has spent epsilon {:.3g} at delta {:g} on its rows already "
                          "({}/privacy.json), which leaves nothing of epsilon {:g}; expected "
                          "more, if all members agree on that",
                          ledger_->spent_epsilon(), promise.delta, config_.state, promise.epsilon)};
  method->spend = [this](double mu_squared) { return ledger_->spend(mu_squared); };
  return success();
}

void PeerLoop::activate(double now) {
  const auto received =
      links_.take_iterates([this](const std::string& name, const Message& message) {
        if (!agent_->receive(name, message))
          links_.reject(name, {RejectReason::beyond_bound,
                               "pulls harder than feature-bound and max-scale allow any member"});
      });
  release_memory();
  // Without new messages, the peer activates ever more rarely.
  wait_timeout_ = received > 0 ? config_.wait_timeout_seconds
                               : std::min(2 * wait_timeout_, max_wait_timeout_seconds);
  const double began = monotonic_seconds();
  const std::uint64_t solves = agent_->solves();
  agent_->activate(links_.newest_received_from_self(), pace_.choice().steps);
  if (agent_->resets() > resets_)
    hooks_.log->warn("reset: the estimate of this peer was out of range");
  resets_ = agent_->resets();
  if (agent_->solves() > solves)
    pace_.observe(monotonic_seconds() - began, agent_->solves() - solves);
  announce_epoch(now);
  for (std::size_t slot = 0; slot < agent_->neighbours().size(); ++slot) {
    if (!links_.send(agent_->neighbours()[slot], agent_->message_to(slot))) agent_->not_sent(slot);
    agent_->release_message(slot);  // the link table has a copy
  }
  last_activation_ = now;
  release_memory();
  const double residual = agent_->residual();
  worst_residual_since_heartbeat_ = std::max(worst_residual_since_heartbeat_, residual);
  if (residual > config_.training.tolerance)
    below_tolerance_since_ = 0;
  else if (below_tolerance_since_ == 0)
    below_tolerance_since_ = agent_->activations();
  log_events();
}

/// Releases the memory of messages that were processed or sent.
void PeerLoop::release_memory() {
  const double now = monotonic_seconds();
  if (now < last_trim_ + trim_seconds) return;
  release_freed_memory();
  last_trim_ = now;
}

void PeerLoop::log_events() {
  const auto events = agent_->events();
  for (; events_logged_ < events.size(); ++events_logged_)
    hooks_.log->info("{} activations={}", event_text(events[events_logged_]),
                     agent_->activations());
}

/// Neighbours receive the signed epoch before the first iterate of that epoch. They return it to
/// this peer if it loses its state.
void PeerLoop::announce_epoch(double now) {
  const std::uint64_t epoch = epoch_of(agent_->sequence());
  if (epoch == published_epoch_) return;
  published_epoch_ = epoch;
  const std::lock_guard lock(members_mutex_);
  members_.set_epoch(static_cast<std::uint32_t>(epoch));
  links_.publish(own_heartbeat(now));
}

void PeerLoop::heartbeat(double now) {
  next_heartbeat_ = now + config_.heartbeat_seconds;
  const std::lock_guard lock(members_mutex_);
  connections_.cancel_overdue(now);
  round_trip_ = longest_round_trip(links_.statuses());
  merge_heartbeats(now);
  const auto before = members_.phase();
  if (leave_requested_) members_.leave();
  members_.set_certified(is_certified(now));
  members_.report(agent_->residual(), locally_converged(now), agent_->activations(), now);
  const auto phase = members_.phase();
  if (members_.agreed_anew()) note_agreement();
  follow_fit(now);
  choose_pace();
  follow_membership(now);
  follow_links(now);
  links_.set_estimate(agent_->estimate());
  // A peer that was ready to stop must know it after a restart: the others may have stopped.
  const bool decisive =
      members_.agreed_anew() || (phase != before && saved_phase(phase) != SavedPhase::working);
  if (now >= last_save_ + config_.checkpoint_seconds || decisive) save(now);
  links_.publish(own_heartbeat(now));
  last_beat_ = now;
  log_waiting(now);
  update_status(now);
  if (config_.stay && members_.agreed_anew()) write_agreement(now);
  if (now >= next_expiry_warning_) {
    next_expiry_warning_ = now + expiry_reminder_seconds;
    if (now > started_ + expiry_reminder_seconds) connections_.warn_of_expiry();
  }
  if (!outcome_) decide_end(now);
  if (!outcome_) check_members(now);
}

void PeerLoop::merge_heartbeats(double now) {
  for (const auto& heartbeat : links_.take_heartbeats()) {
    members_.merge(heartbeat, now);
    if (fit_) fit_->merge(heartbeat);
  }
}

v1::Heartbeat PeerLoop::own_heartbeat(double now) {
  if (fit_) members_.set_fit_held(fit_->held());
  v1::Heartbeat heartbeat = members_.heartbeat(now);
  if (fit_ && !members_.all_hold_fit(now)) fit_->add_to(heartbeat);
  return heartbeat;
}

/// The sums of the inference, at the answer of the run and over its members.
void PeerLoop::follow_fit(double now) {
  if (!fit_) return;
  if (fit_->changed()) {
    outcome_ = PeerOutcome::changed;
    return;
  }
  const auto certified = certificate();
  if (!certified || certified->relative_step > long_step)
    fit_error_ =
        endless_growth(config_, *problem_.fit, agent_->estimate(), certified ? large : endless);
  if (fit_error_) {
    outcome_ = PeerOutcome::changed;
    return;
  }
  if (members_.phase() == v1::Member::STOPPED && agreed_answer_.size() > 0)
    sum_inference(members_.run(), members_.live(now));
}

void PeerLoop::sum_inference(const std::string& run, const std::vector<std::string>& members) {
  ByteWriter about;
  about.put_bytes(run);
  about.put(agreed_answer_);
  if (about.bytes() == fit_about_) return;
  fit_about_ = about.bytes();
  fit_->begin_last_sum(fit_about_, members,
                       inference_numbers(config_.fit, problem_.fit->data.designs.front(),
                                         problem_.fit->data.model, agreed_answer_));
}

bool PeerLoop::may_end(double now) const {
  return members_.everyone_stopped(now) &&
         (!fit_ || (fit_->last_total() && members_.all_hold_fit(now)));
}

/// Sends heartbeats while the loop is in a long local step.
void PeerLoop::keep_beating() {
  std::unique_lock lock(members_mutex_);
  const auto interval = std::chrono::duration<double>(config_.heartbeat_seconds);
  while (!beater_ended_.wait_for(lock, interval, [&] { return stop_beating_; })) {
    const double now = monotonic_seconds();
    if (now < last_beat_ + 1.5 * config_.heartbeat_seconds) continue;
    merge_heartbeats(now);
    members_.beat();
    links_.publish(own_heartbeat(now));
  }
}

void PeerLoop::stop_beating() {
  {
    const std::lock_guard lock(members_mutex_);
    stop_beating_ = true;
  }
  beater_ended_.notify_all();
  if (beater_.joinable()) beater_.join();
}

/// Keeps the answer at which the network agreed to stop: later activations may disturb it.
void PeerLoop::note_agreement() {
  agreed_answer_ = agent_->answer();
  agreed_residual_ = agent_->residual();
  agreed_certificate_ = certificate();
  if (contributions_) {
    Vector gradient(agreed_answer_.size());
    ObjectiveScratch scratch;
    problem_.objective->evaluate(agreed_answer_, Batch::all(), &gradient, nullptr, scratch);
    contributions_->set_own(members_.run(), gradient);
  }
  hooks_.log->info("done residual={:.3g} activations={} run={} members={}", agreed_residual_,
                   agent_->activations(), members_.run(),
                   members_.live(monotonic_seconds()).size());
}

void PeerLoop::log_waiting(double now) {
  std::vector<AwaitedMember> awaited = members_.awaited(now);
  if (members_.phase() == v1::Member::WORKING) awaited = absent_only(std::move(awaited));
  waiting_ = waiting_text(awaited, config_.forget_seconds, now - started_);
  if (waiting_log_.is_due(waiting_, now)) hooks_.log->info("waiting for {}", waiting_);
}

/// A peer that works itself does not wait for others that work.
std::vector<AwaitedMember> PeerLoop::absent_only(std::vector<AwaitedMember> awaited) {
  std::erase_if(awaited, [](const AwaitedMember& one) { return one.working; });
  return awaited;
}

/// Neighbours wait for each other's messages, so a peer may work as long as its slowest
/// neighbour.
void PeerLoop::choose_pace() {
  members_.report_step(pace_.step_seconds());
  if (!problem_.measures_work) return;
  WorkPace::Neighbour slowest;
  for (const std::string& name : agent_->neighbours())
    if (const double step = members_.step_seconds(name); step > slowest.step_seconds)
      slowest = {name, step};
  pace_.choose(slowest);
}

/// True if the residual has stayed below the tolerance for several heartbeats, and the peer has
/// neighbours to agree with. Between two messages of slow links it is small at any point: it must
/// stay so while answers to the newest messages arrive.
bool PeerLoop::locally_converged(double now) {
  if (problem_.certifies() && !is_beyond_masks(now)) return is_certified(now);
  const bool below = worst_residual_since_heartbeat_ <= config_.training.tolerance &&
                     agent_->residual() <= config_.training.tolerance;
  worst_residual_since_heartbeat_ = 0;
  heartbeats_below_tolerance_ = below ? heartbeats_below_tolerance_ + 1 : 0;
  if (heartbeats_below_tolerance_ <= 1) below_tolerance_at_ = now;
  const bool alone = agent_->neighbours().empty() && config_.members > 1;
  return heartbeats_below_tolerance_ >= convergence_heartbeats &&
         now >= below_tolerance_at_ + quiet_round_trips * round_trip_ && !alone;
}

/// Of three members or more two are left, whom masks would hide nothing from each other: the links
/// go on as without a certificate.
bool PeerLoop::is_beyond_masks(double now) {
  if (!problem_.masks || !problem_.certified || members_.count(now) >= TreeSums::fewest_masked)
    return false;
  if (!std::exchange(said_uncertified_, true))
    hooks_.log->warn(
        "not certified: masks hide nothing between two members; stopping by local residuals");
  return true;
}

/// The certificate counts exactly the members that signed gossip says are live, with the data that
/// they announce now.
bool PeerLoop::is_certified(double now) const {
  const auto counted = agent_->counted_members();
  return !counted.empty() && members_.are_exactly(counted, agent_->counted_data(), now);
}

std::optional<AnswerCertificate> PeerLoop::certificate() const {
  const AnswerCertificate* found = agent_->certificate();
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

/// Tells the sums who can be reached and who has which key. A neighbour that has stopped may have
/// ended: it was counted, and nothing waits for it.
void PeerLoop::follow_links(double now) {
  if (problem_.masks)
    for (const v1::Member& member : members_.live_entries(now))
      problem_.masks->set_member(member.name(), member.data(), member.sum_key());
  const double grace = std::max(silent_seconds, silent_heartbeats * config_.heartbeat_seconds);
  for (const LinkStatus& link : links_.statuses()) {
    double& last = last_connected_.try_emplace(link.name, now).first->second;
    if (link.connected) last = now;
    agent_->set_live(link.name, now - last < grace || members_.has_stopped(link.name));
  }
}

void PeerLoop::follow_membership(double now) {
  for (const LinkStatus& link : links_.statuses()) {
    const bool gone = members_.is_gone(link.name, now);
    if (gone && agent_->has(link.name)) {
      agent_->drop(link.name);
      hooks_.log->warn("dropped peer={} reason=\"{}\"", link.name,
                       members_.has_left(link.name)
                           ? std::string("left")
                           : fmt::format("silent for {} s", config_.forget_seconds));
    } else if (!gone && link.connected && !agent_->has(link.name)) {
      agent_->add(link.name);
      hooks_.log->info("joined peer={}", link.name);
    }
  }
  const bool holds = members_.holder(now) == config_.name;
  if (holds && !agent_->holds_regularizer() && !problem_.regularizer.trivial())
    hooks_.log->info("holding the regularizer members={}", members_.count(now));
  agent_->set_regularizer_holder(holds, members_.count(now));
}

/// A network that has become too small must not go on.
void PeerLoop::check_members(double now) {
  if (!config_.disclosure.enforced() || members_.live(now).size() == 1) return;  // sends nothing
  violation_ = find_violation(config_.disclosure, members_.count(now));
  if (!violation_) return;
  hooks_.log->error("forbidden rule={} detail=\"{}\"", violation_->rule, violation_->detail);
  outcome_ = PeerOutcome::forbidden;
}

}  // namespace grove::peer
