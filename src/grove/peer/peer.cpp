#include "grove/peer/peer.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include "grove/peer/audit.h"
#include "grove/peer/certificates.h"
#include "grove/peer/clock.h"
#include "grove/peer/connections.h"
#include "grove/peer/ending.h"
#include "grove/peer/members.h"
#include "grove/peer/metrics.h"
#include "grove/peer/peer_agent.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/peer_status.h"
#include "grove/peer/process_settings.h"
#include "grove/peer/signer.h"
#include "grove/peer/state_folder.h"
#include "grove/peer/waiting.h"
#include "grove/peer/work_pace.h"

namespace grove::peer {
namespace {

constexpr double max_wait_timeout_seconds = 1;
constexpr int convergence_heartbeats = 3;  ///< for which the residual must stay below the tolerance
constexpr double expiry_reminder_seconds = 24 * 60 * 60;
constexpr double trim_seconds = 0.02;  ///< minimal time between releases of freed memory

std::string phase_name(v1::Member::Phase phase) {
  constexpr std::array names{"working", "calm", "ready", "done", "left"};
  return names[static_cast<std::size_t>(phase)];
}

SavedPhase saved_phase(v1::Member::Phase phase) {
  if (phase == v1::Member::STOPPED) return SavedPhase::stopped;
  return phase == v1::Member::READY_TO_STOP ? SavedPhase::ready : SavedPhase::working;
}

LinkTableOptions link_table_options(const PeerConfig& config, const PeerProblem& problem,
                                    Signer* signer, AuditLog* audit) {
  return {.network = config.network,
          .self = config.name,
          .schema = problem.schema,
          .shape = problem.link_shape(),
          .float32 = config.float32,
          .accept_new = config.accept_new,
          .seed = config.training.seed,
          .fault_loss = config.fault_loss,
          .fault_delay_seconds = config.fault_delay_seconds,
          .signer = signer,
          .audit = audit};
}

MembersOptions members_options(const PeerConfig& config, const PeerProblem& problem,
                               Signer* signer) {
  std::vector<std::string> neighbours;
  for (const auto& neighbour : config.neighbours) neighbours.push_back(neighbour.name);
  std::random_device random;
  return {.self = config.name,
          .holder = config.holder,
          .expected = config.members,
          .forget_seconds = config.forget_seconds,
          .tolerance = config.training.tolerance,
          .problem = config.network + "\n" + to_text(problem.schema),
          .data = signer != nullptr ? signer->keyed(problem.data) : problem.data,
          .process = (std::uint64_t{random()} << 32) + random(),
          .neighbours = std::move(neighbours),
          .signer = signer};
}

class Peer {
 public:
  struct Security {
    TlsIdentity identity;
    std::unique_ptr<Signer> signer;   ///< null without TLS
    std::unique_ptr<AuditLog> audit;  ///< null if nothing is recorded
  };

  Peer(PeerConfig config, PeerProblem problem, Security security, const PeerHooks& hooks)
      : config_(std::move(config)),
        problem_(std::move(problem)),
        signer_(std::move(security.signer)),
        audit_(std::move(security.audit)),
        hooks_(hooks),
        started_(monotonic_seconds()),
        folder_(config_.state, {config_.network, config_.name, problem_.schema, problem_.data},
                hooks.log),
        links_(link_table_options(config_, problem_, signer_.get(), audit_.get()), hooks.log),
        members_(members_options(config_, problem_, signer_.get()), started_),
        connections_({config_, problem_.link_shape(), links_, signer_.get(), hooks.log},
                     std::move(security.identity),
                     {.status_json = [this] { return to_json(status()).dump(); },
                      .stop = [this] { stop_requested_ = true; },
                      .leave = [this] { leave_requested_ = true; }}) {
    status_.name = config_.name;
  }
  ~Peer() { stop_beating(); }

  Result<PeerEnd> run() {
    if (Status status = folder_.open(); !status) return status.error();
    checkpoint_ = folder_.find();
    restore_links();
    links_.publish(members_.heartbeat(started_));
    if (Status status = open_network(); !status) return status.error();
    prepare_agent();
    beater_ = std::thread([this] { keep_beating(); });
    while (!outcome_) {
      const bool all_have_sent =
          links_.wait_for_all(std::min(next_heartbeat_, last_activation_ + wait_timeout_));
      const double now = monotonic_seconds();
      if (all_have_sent || now >= last_activation_ + wait_timeout_) activate(now);
      if (now >= next_heartbeat_) heartbeat(now);
      if (const Status status = connections_.follow_certificates(now); !status) {
        hooks_.log->error("cannot listen again: {}", status.error().text());
        stop_requested_ = true;
      }
    }
    stop_beating();
    return finish();
  }

 private:
  Status open_network() {
    if (config_.insecure)
      hooks_.log->warn("insecure: no TLS; anyone on the network may read, join and forge");
    for (const auto& neighbour : config_.neighbours) links_.add_link(neighbour.name);
    if (Status status = connections_.open(); !status) return status;
    if (!config_.metrics.empty()) {
      auto metrics = Metrics::serve(config_.metrics, [this] { return status(); });
      if (!metrics) return metrics.error();
      metrics_ = std::move(*metrics);
    }
    hooks_.log->info("started name={} listen={} port={} neighbours={} tls={}", config_.name,
                     config_.listen, connections_.port(), config_.neighbours.size(),
                     !config_.insecure);
    connections_.warn_of_expiry();
    return success();
  }

  /// Must run before the first hello, because hellos contain the last sequence received.
  void restore_links() {
    if (!checkpoint_) return;
    for (std::size_t slot = 0; slot < checkpoint_->neighbours.size(); ++slot) {
      const std::string& name = checkpoint_->neighbours[slot];
      if (is_neighbour(name) || config_.accept_new)
        links_.add_link(name, checkpoint_->last_received[slot], checkpoint_->proofs[slot]);
    }
  }

  bool is_neighbour(const std::string& name) const {
    return std::ranges::find(config_.neighbours, name, &NeighbourAddress::name) !=
           config_.neighbours.end();
  }

  void prepare_agent() {
    const std::optional<Checkpoint> checkpoint = std::exchange(checkpoint_, std::nullopt);
    make_agent(start_point(checkpoint.has_value()));
    SavedPhase resumed = SavedPhase::working;
    if (checkpoint && !agent_->restore(*checkpoint)) {
      folder_.reject("does not fit this peer's data and neighbours");
      make_agent(start_point(false));
    } else if (checkpoint) {
      resumed = resume(*checkpoint);
    }
    if (resumed == SavedPhase::working) folder_.discard_model();
    ending_.emplace(EndingOptions{.linger_seconds = config_.linger_seconds,
                                  .forget_seconds = config_.forget_seconds,
                                  .members = config_.members,
                                  .resumed = resumed},
                    monotonic_seconds());
    links_.discard_estimates();
    // A link that peer.toml no longer lists is removed. With accept-new the neighbour may come
    // back.
    const std::vector<std::string> before = agent_->neighbours();
    for (const std::string& name : before)
      if (!is_neighbour(name)) {
        agent_->drop(name);
        hooks_.log->warn("dropped peer={} reason=\"no longer among the neighbours\"", name);
      }
    for (const auto& neighbour : config_.neighbours)
      if (!agent_->has(neighbour.name)) agent_->add(neighbour.name);
    for (std::size_t slot = 0; slot < agent_->neighbours().size(); ++slot)
      links_.add_link(agent_->neighbours()[slot], agent_->last_received()[slot]);
    agent_->set_regularizer_holder(config_.holder == config_.name,
                                   members_.count(monotonic_seconds()));
  }

  /// The phase counts only if the network has not grown since the checkpoint was written.
  SavedPhase resume(const Checkpoint& checkpoint) {
    hooks_.log->info("resumed activations={} neighbours={} run={}", agent_->activations(),
                     agent_->neighbours().size(), checkpoint.run);
    members_.set_epoch(static_cast<std::uint32_t>(epoch_of(agent_->sequence())));
    published_epoch_ = epoch_of(agent_->sequence());
    const bool complete =
        checkpoint.members.size() >= config_.members &&
        std::ranges::all_of(config_.neighbours, [&](const auto& neighbour) {
          return std::ranges::find(checkpoint.members, neighbour.name) != checkpoint.members.end();
        });
    if (checkpoint.phase == SavedPhase::working || !complete ||
        !(checkpoint.residual <= config_.training.tolerance))
      return SavedPhase::working;
    agreed_answer_ = agent_->answer();
    agreed_residual_ = checkpoint.residual;
    return checkpoint.phase;
  }

  void make_agent(PeerStart start) {
    agent_ = std::make_unique<PeerAgent>(problem_, config_.name, config_.training.seed,
                                         std::move(start));
  }

  /// A peer without a checkpoint starts at the mean of its neighbours' estimates, if they have any.
  PeerStart start_point(bool has_checkpoint) {
    const Index dimension = problem_.objective->dimension();
    Vector start = Vector::Zero(dimension);
    problem_.regularizer.prox(1, Vector::Zero(dimension), start);
    if (has_checkpoint) return {std::move(start)};
    const double until = monotonic_seconds() + config_.contact_seconds;
    while (monotonic_seconds() < until && !asked_to_stop() && !all_connected())
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto estimates = links_.estimates();
    if (estimates.empty()) return {std::move(start)};
    start.setZero();
    for (const auto& x : estimates)
      start +=
          Eigen::Map<const Vector>(x.data(), dimension) / static_cast<double>(estimates.size());
    hooks_.log->info("starting from the values of {} neighbours", estimates.size());
    return {std::move(start), true};
  }

  bool all_connected() const {
    return std::ranges::all_of(links_.statuses(), &LinkStatus::connected);
  }

  bool asked_to_stop() const { return stop_requested_ || hooks_.interrupted(); }

  void activate(double now) {
    const auto received =
        links_.take_iterates([this](const std::string& name, const Message& message) {
          agent_->receive(name, message);
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
      if (!links_.send(agent_->neighbours()[slot], agent_->message_to(slot)))
        agent_->not_sent(slot);
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
  void release_memory() {
    const double now = monotonic_seconds();
    if (now < last_trim_ + trim_seconds) return;
    release_freed_memory();
    last_trim_ = now;
  }

  void log_events() {
    const auto events = agent_->events();
    for (; events_logged_ < events.size(); ++events_logged_)
      hooks_.log->info(
          "links_raised factor={:g} activations={}: the peer kept disagreeing with its "
          "neighbours while its steps were small",
          events[events_logged_].value, agent_->activations());
  }

  /// Neighbours receive the signed epoch before the first iterate of that epoch. They return it to
  /// this peer if it loses its state.
  void announce_epoch(double now) {
    const std::uint64_t epoch = epoch_of(agent_->sequence());
    if (epoch == published_epoch_) return;
    published_epoch_ = epoch;
    const std::lock_guard lock(members_mutex_);
    members_.set_epoch(static_cast<std::uint32_t>(epoch));
    links_.publish(members_.heartbeat(now));
  }

  void heartbeat(double now) {
    next_heartbeat_ = now + config_.heartbeat_seconds;
    const std::lock_guard lock(members_mutex_);
    connections_.cancel_overdue(now);
    merge_heartbeats(now);
    const auto before = members_.phase();
    if (leave_requested_) members_.leave();
    members_.report(agent_->residual(), locally_converged(), agent_->activations(), now);
    const auto phase = members_.phase();
    if (phase != before && phase == v1::Member::STOPPED) note_agreement();
    choose_pace();
    follow_membership(now);
    links_.set_estimate(agent_->estimate());
    // A peer that was ready to stop must know it after a restart: the others may have stopped.
    const bool decisive = phase != before && saved_phase(phase) != SavedPhase::working;
    if (now >= last_save_ + config_.checkpoint_seconds || decisive) save(now);
    links_.publish(members_.heartbeat(now));
    last_beat_ = now;
    log_waiting(now);
    update_status(now);
    if (now >= next_expiry_warning_) {
      next_expiry_warning_ = now + expiry_reminder_seconds;
      if (now > started_ + expiry_reminder_seconds) connections_.warn_of_expiry();
    }
    decide_end(now);
    if (!outcome_) check_members(now);
  }

  void merge_heartbeats(double now) {
    for (const auto& heartbeat : links_.take_heartbeats()) members_.merge(heartbeat, now);
  }

  /// Sends heartbeats while the loop is in a long local step.
  void keep_beating() {
    std::unique_lock lock(members_mutex_);
    const auto interval = std::chrono::duration<double>(config_.heartbeat_seconds);
    while (!beater_ended_.wait_for(lock, interval, [&] { return stop_beating_; })) {
      const double now = monotonic_seconds();
      if (now < last_beat_ + 1.5 * config_.heartbeat_seconds) continue;
      merge_heartbeats(now);
      members_.beat();
      links_.publish(members_.heartbeat(now));
    }
  }

  void stop_beating() {
    {
      const std::lock_guard lock(members_mutex_);
      stop_beating_ = true;
    }
    beater_ended_.notify_all();
    if (beater_.joinable()) beater_.join();
  }

  /// Keeps the answer at which the network agreed to stop: later activations may disturb it.
  void note_agreement() {
    agreed_answer_ = agent_->answer();
    agreed_residual_ = agent_->residual();
    hooks_.log->info("done residual={:.3g} activations={} run={} members={}", agreed_residual_,
                     agent_->activations(), members_.run(),
                     members_.live(monotonic_seconds()).size());
  }

  void log_waiting(double now) {
    waiting_ = members_.phase() == v1::Member::WORKING && agent_->residual() > 0 &&
                       std::isfinite(agent_->residual())
                   ? waiting_text(absent_only(members_.awaited(now)), config_.forget_seconds,
                                  now - started_)
                   : waiting_text(members_.awaited(now), config_.forget_seconds, now - started_);
    if (waiting_log_.is_due(waiting_, now)) hooks_.log->info("waiting for {}", waiting_);
  }

  /// A peer that works itself does not wait for others that work.
  static std::vector<AwaitedMember> absent_only(std::vector<AwaitedMember> awaited) {
    std::erase_if(awaited, [](const AwaitedMember& one) { return one.working; });
    return awaited;
  }

  /// Neighbours wait for each other's messages, so a peer may work as long as its slowest
  /// neighbour.
  void choose_pace() {
    members_.report_step(pace_.step_seconds());
    if (!problem_.measures_work) return;
    WorkPace::Neighbour slowest;
    for (const std::string& name : agent_->neighbours())
      if (const double step = members_.step_seconds(name); step > slowest.step_seconds)
        slowest = {name, step};
    pace_.choose(slowest);
  }

  /// True if the residual has stayed below the tolerance for several heartbeats, and the peer has
  /// neighbours to agree with.
  bool locally_converged() {
    const bool below = worst_residual_since_heartbeat_ <= config_.training.tolerance &&
                       agent_->residual() <= config_.training.tolerance;
    worst_residual_since_heartbeat_ = 0;
    heartbeats_below_tolerance_ = below ? heartbeats_below_tolerance_ + 1 : 0;
    const bool alone = agent_->neighbours().empty() && config_.members > 1;
    return heartbeats_below_tolerance_ >= convergence_heartbeats && !alone;
  }

  void follow_membership(double now) {
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

  void save(double now) {
    Checkpoint checkpoint = agent_->checkpoint();
    checkpoint.phase = saved_phase(members_.phase());
    checkpoint.run = members_.run();
    checkpoint.members = members_.live(now);
    checkpoint.residual = agent_->residual();
    for (std::size_t slot = 0; slot < checkpoint.neighbours.size(); ++slot)
      checkpoint.proofs[slot] = links_.proof_of(checkpoint.neighbours[slot]);
    if (folder_.save(std::move(checkpoint))) saved_at_ = now;
    last_save_ = now;
  }

  /// The neighbours say that another process with this peer's name is connected.
  bool refused_as_duplicate() const {
    return std::ranges::any_of(links_.statuses(), &LinkStatus::refused_as_duplicate);
  }

  /// A network that has become too small must not go on.
  void check_members(double now) {
    if (!config_.disclosure.enforced() || members_.live(now).size() == 1) return;  // sends nothing
    violation_ = find_violation(config_.disclosure, members_.count(now));
    if (!violation_) return;
    hooks_.log->error("forbidden rule={} detail=\"{}\"", violation_->rule, violation_->detail);
    outcome_ = PeerOutcome::forbidden;
  }

  void decide_end(double now) {
    outcome_ =
        ending_->decide({.now = now,
                         .asked_to_stop = asked_to_stop(),
                         .duplicate = members_.is_duplicate(),
                         .refused_as_duplicate = refused_as_duplicate(),
                         .phase = members_.phase(),
                         .everyone_stopped = members_.everyone_stopped(now),
                         .complete = members_.missing(now).empty() && members_.unseen(now) == 0,
                         .alone = members_.live(now).size() == 1,
                         .last_unfinished = members_.last_unfinished(now)});
  }

  Result<PeerEnd> finish() {
    const double now = monotonic_seconds();
    PeerEnd end{*outcome_, members_.missing(now), members_.unseen(now)};
    if (violation_) {
      end.rule = violation_->rule;
      end.detail = violation_->detail;
    }
    const bool agreed =
        end.outcome == PeerOutcome::converged || end.outcome == PeerOutcome::converged_without;
    // The answer of the agreement, unless the newest one is as good.
    const bool newest = !agreed || agent_->residual() <= config_.training.tolerance;
    const Vector answer = newest ? agent_->answer() : agreed_answer_;
    if (newest && end.outcome != PeerOutcome::duplicate) save(now);
    update_status(now);
    metrics_.reset();
    links_.close();
    connections_.close();
    if (!newest) status_.residual = agreed_residual_;
    hooks_.log->info("ended outcome={} activations={} residual={:.3g}{}", name_of(end.outcome),
                     agent_->activations(), status_.residual,
                     agreed || end.outcome == PeerOutcome::peer_lost
                         ? fmt::format(" without=\"{}\"", missing_text(end))
                         : "");
    write_results(end, answer);
    return end;
  }

  void write_results(PeerEnd& end, const Vector& answer) {
    nlohmann::json summary = to_json(status_);
    summary["outcome"] = name_of(end.outcome);
    summary["without"] = end.without;
    summary["unseen"] = end.unseen;
    Status status =
        has_model(end.outcome) ? folder_.write_model(config_, problem_, answer) : success();
    if (status) status = folder_.write_summary(summary);
    if (status) return;
    hooks_.log->error("no model: {}", status.error().text());
    end.outcome = PeerOutcome::unsaved;
  }

  void update_status(double now) {
    PeerStatus current{.name = config_.name,
                       .phase = phase_name(members_.phase()),
                       .activations = agent_->activations(),
                       .below_tolerance_since = below_tolerance_since_,
                       .residual = agent_->residual(),
                       .network_residual = members_.worst_residual(now),
                       .members = members_.count(now),
                       .holder = members_.holder(now),
                       .run = members_.run(),
                       .waiting_for = waiting_,
                       .work = pace_.choice().steps,
                       .work_reason = pace_.choice().reason,
                       .links_raised = agent_->events().empty() ? 1 : agent_->events().back().value,
                       .epoch = epoch_of(agent_->sequence()),
                       .seconds = now - started_,
                       .checkpoint_age = saved_at_ < 0 ? -1 : now - saved_at_,
                       .checkpoint_error = folder_.error(),
                       .certificate_seconds = connections_.certificate_seconds(),
                       .links = links_.statuses(),
                       .strangers_rejected = links_.strangers_rejected()};
    const std::lock_guard lock(status_mutex_);
    status_ = std::move(current);
  }

  PeerStatus status() const {
    const std::lock_guard lock(status_mutex_);
    return status_;
  }

  PeerConfig config_;
  PeerProblem problem_;
  std::unique_ptr<Signer> signer_;
  std::unique_ptr<AuditLog> audit_;
  const PeerHooks& hooks_;
  double started_;
  StateFolder folder_;
  LinkTable links_;
  std::mutex members_mutex_;
  Members members_;
  std::unique_ptr<PeerAgent> agent_;
  std::optional<Ending> ending_;
  std::optional<PeerOutcome> outcome_;
  std::optional<DisclosureViolation> violation_;
  std::atomic<bool> stop_requested_ = false, leave_requested_ = false;
  mutable std::mutex status_mutex_;
  PeerStatus status_;

  std::optional<Checkpoint> checkpoint_;  ///< found at the start; the agent takes it
  WorkPace pace_{problem_.work};
  double wait_timeout_ = config_.wait_timeout_seconds;
  double last_activation_ = 0, last_trim_ = 0, next_heartbeat_ = 0, last_save_ = started_,
         saved_at_ = -1;
  double worst_residual_since_heartbeat_ = 0;
  int heartbeats_below_tolerance_ = 0;
  int resets_ = 0;  ///< of the agent; those already logged
  std::uint64_t below_tolerance_since_ = 0;
  std::uint64_t published_epoch_ = 0;
  std::size_t events_logged_ = 0;
  Vector agreed_answer_;  ///< at the last agreement to stop
  double agreed_residual_ = std::numeric_limits<double>::infinity();
  std::string waiting_;
  WaitingLog waiting_log_;

  double next_expiry_warning_ = 0;
  double last_beat_ = 0;       ///< of the loop
  bool stop_beating_ = false;  ///< both guarded by the mutex of the members
  std::condition_variable beater_ended_;
  std::thread beater_;

  // Last, because their threads use the members above.
  Connections connections_;
  std::unique_ptr<Metrics> metrics_;
};

}  // namespace

std::string missing_text(const PeerEnd& end) {
  std::string text = fmt::format("{}", fmt::join(end.without, ", "));
  if (end.unseen == 0) return text;
  return text + fmt::format("{}{} that nobody has seen", text.empty() ? "" : " and ", end.unseen);
}

Result<PeerEnd> run_peer(PeerConfig config, const PeerHooks& hooks) {
  auto problem = load_problem(config);
  if (!problem) return problem.error();
  if (problem->forbidden) {
    hooks.log->error("forbidden rule={} detail=\"{}\"; nothing was sent", problem->forbidden->rule,
                     problem->forbidden->detail);
    return PeerEnd{.outcome = PeerOutcome::forbidden,
                   .rule = problem->forbidden->rule,
                   .detail = problem->forbidden->detail};
  }
  if (!config.disclosure.enforced())
    hooks.log->warn("disclosure = off: no rule of this site limits what its messages reveal");
  std::unique_ptr<AuditLog> audit;
  if (!config.audit.empty()) {
    auto opened = AuditLog::open(config.audit);
    if (!opened) return opened.error();
    audit = std::move(*opened);
  }
  TlsIdentity identity;
  std::unique_ptr<Signer> signer;
  if (!config.insecure) {
    auto loaded = load_identity({config.ca, config.certificate, config.key});
    if (!loaded) return loaded.error();
    identity = std::move(*loaded);
    if (Status status =
            check_identity({identity.certificate, identity.key}, identity.ca, config.name);
        !status)
      return status.error();
    signer = std::make_unique<Signer>(identity, config.network);
  }
  return Peer(std::move(config), std::move(*problem),
              {std::move(identity), std::move(signer), std::move(audit)}, hooks)
      .run();
}

Result<PeerEnd> run_peer(const std::filesystem::path& config_file, const PeerHooks& hooks) {
  auto config = read_peer_config(config_file);
  if (!config) return config.error();
  auto end = run_peer(std::move(*config), hooks);
  if (!end) return Error{config_file.string(), end.error().text()};
  return end;
}

}  // namespace grove::peer
