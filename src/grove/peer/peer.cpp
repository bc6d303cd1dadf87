#include "grove/peer/peer.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>

#include <spdlog/logger.h>

#include "grove/peer/certificates.h"
#include "grove/peer/clock.h"
#include "grove/peer/dialer.h"
#include "grove/peer/members.h"
#include "grove/peer/metrics.h"
#include "grove/peer/peer_agent.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/peer_status.h"
#include "grove/peer/process_settings.h"
#include "grove/peer/server.h"
#include "grove/peer/state_folder.h"
#include "grove/peer/work_pace.h"

namespace grove::peer {
namespace {

constexpr double max_wait_timeout_seconds = 1;
constexpr int convergence_heartbeats = 3;  ///< for which the residual must stay below the tolerance
constexpr int goodbye_heartbeats = 3;
constexpr double trim_seconds = 0.02;  ///< minimal time between releases of freed memory

std::string phase_name(v1::Member::Phase phase) {
  constexpr std::array names{"working", "calm", "ready", "done"};
  return names[static_cast<std::size_t>(phase)];
}

LinkTableOptions link_table_options(const PeerConfig& config, const PeerProblem& problem) {
  return {.network = config.network,
          .self = config.name,
          .fingerprint = problem.fingerprint,
          .shape = problem.link_shape(),
          .float32 = config.float32,
          .accept_new = config.accept_new,
          .seed = config.training.seed,
          .fault_loss = config.fault_loss,
          .fault_delay_seconds = config.fault_delay_seconds};
}

class Peer {
 public:
  Peer(PeerConfig config, PeerProblem problem, const PeerHooks& hooks)
      : config_(std::move(config)),
        problem_(std::move(problem)),
        hooks_(hooks),
        started_(monotonic_seconds()),
        folder_(config_.state, problem_.fingerprint, hooks.log),
        links_(link_table_options(config_, problem_), hooks.log),
        members_({.self = config_.name,
                  .holder = config_.holder,
                  .expected = config_.members,
                  .forget_seconds = config_.forget_seconds},
                 started_) {
    status_.name = config_.name;
  }

  Result<PeerOutcome> run() {
    if (Status status = folder_.open(); !status) return status.error();
    checkpoint_ = folder_.find();
    restore_links();
    if (Status status = open_network(); !status) return status.error();
    prepare_agent();
    while (!finished_) {
      const bool all_have_sent =
          links_.wait_for_all(std::min(next_heartbeat_, last_activation_ + wait_timeout_));
      const double now = monotonic_seconds();
      if (all_have_sent || now >= last_activation_ + wait_timeout_) activate(now);
      if (now >= next_heartbeat_) heartbeat(now);
    }
    return finish();
  }

 private:
  Status open_network() {
    TlsIdentity identity;
    if (!config_.insecure) {
      auto loaded = load_identity({config_.ca, config_.certificate, config_.key});
      if (!loaded) return loaded.error();
      identity = std::move(*loaded);
      if (Status status =
              check_identity({identity.certificate, identity.key}, identity.ca, config_.name);
          !status)
        return status.error();
    } else {
      hooks_.log->warn("insecure: no TLS; anyone on the network may read, join and forge");
    }
    const LinkShape shape = problem_.link_shape();
    for (const auto& neighbour : config_.neighbours) links_.add_link(neighbour.name);
    auto server = Server::start({.listen = config_.listen,
                                 .identity = identity,
                                 .shape = shape,
                                 .neighbours = config_.members + config_.neighbours.size()},
                                links_,
                                {.status_json = [this] { return to_json(status()).dump(); },
                                 .stop = [this] { stop_requested_ = true; }});
    if (!server) return server.error();
    server_ = std::move(*server);
    // One end of each link dials: the peer whose name comes first, or the newcomer.
    for (const auto& neighbour : config_.neighbours)
      if (config_.join || config_.name < neighbour.name)
        dialers_.push_back(
            std::make_unique<Dialer>(neighbour, identity, shape, links_, hooks_.log));
    if (!config_.metrics.empty()) {
      auto metrics = Metrics::serve(config_.metrics, [this] { return status(); });
      if (!metrics) return metrics.error();
      metrics_ = std::move(*metrics);
    }
    hooks_.log->info("started name={} listen={} port={} neighbours={} tls={}", config_.name,
                     config_.listen, server_->port(), config_.neighbours.size(), !config_.insecure);
    return success();
  }

  /// Must run before the first hello, because hellos contain the last sequence received.
  void restore_links() {
    if (!checkpoint_) return;
    for (std::size_t slot = 0; slot < checkpoint_->neighbours.size(); ++slot) {
      const std::string& name = checkpoint_->neighbours[slot];
      if (is_accepted(name)) links_.add_link(name, checkpoint_->last_received[slot]);
    }
  }

  /// A peer that peer.toml no longer lists is a stranger, which only accept-new admits.
  bool is_accepted(const std::string& name) const {
    return config_.accept_new ||
           std::ranges::find(config_.neighbours, name, &NeighbourAddress::name) !=
               config_.neighbours.end();
  }

  void prepare_agent() {
    const std::optional<Checkpoint> checkpoint = std::exchange(checkpoint_, std::nullopt);
    make_agent(start_point(checkpoint.has_value()));
    if (checkpoint && !agent_->restore(*checkpoint)) {
      folder_.reject("does not fit this peer's data and neighbours");
      make_agent(start_point(false));
    } else if (checkpoint) {
      if (checkpoint->stopped) members_.set_stopped();
      hooks_.log->info("resumed activations={} neighbours={}", agent_->activations(),
                       agent_->neighbours().size());
    }
    links_.discard_estimates();
    const std::vector<std::string> before = agent_->neighbours();
    for (const std::string& name : before)
      if (!is_accepted(name)) {
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

  void heartbeat(double now) {
    next_heartbeat_ = now + config_.heartbeat_seconds;
    server_->cancel_overdue(now);
    for (const auto& dialer : dialers_) dialer->cancel_overdue(now);
    for (const auto& heartbeat : links_.take_heartbeats()) members_.merge(heartbeat, now);
    members_.report(agent_->residual(), locally_converged(), agent_->activations(), now);
    choose_pace();
    follow_membership(now);
    links_.set_estimate(agent_->estimate());
    links_.publish(members_.heartbeat(now));
    const bool stopped = members_.phase() == v1::Member::STOPPED;
    if (now >= last_save_ + config_.checkpoint_seconds || (stopped && stopped_since_ < 0))
      save(now);
    update_status(now);
    decide_end(now, stopped);
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
        hooks_.log->warn("dropped peer={} reason=\"silent for {} s\"", link.name,
                         config_.forget_seconds);
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
    checkpoint.stopped = members_.phase() == v1::Member::STOPPED;
    if (folder_.save(std::move(checkpoint))) saved_at_ = now;
    last_save_ = now;
  }

  /// A stopped peer stays until everybody has stopped, because the others still need its messages.
  void decide_end(double now, bool stopped) {
    if (asked_to_stop()) finished_ = true;
    if (!stopped) return;
    if (stopped_since_ < 0) {
      stopped_since_ = now;
      hooks_.log->info("done residual={:.3g} activations={}", agent_->residual(),
                       agent_->activations());
    }
    if (members_.everyone_stopped(now)) ++goodbyes_;
    if (goodbyes_ >= goodbye_heartbeats || now - stopped_since_ > config_.linger_seconds)
      finished_ = true;
  }

  Result<PeerOutcome> finish() {
    const bool converged = members_.phase() == v1::Member::STOPPED;
    save(monotonic_seconds());
    update_status(monotonic_seconds());
    metrics_.reset();
    links_.close();
    dialers_.clear();
    server_->shut_down();
    hooks_.log->info("ended outcome={} activations={} residual={:.3g}",
                     converged ? "converged" : "stopped", agent_->activations(),
                     agent_->residual());
    if (Status status = folder_.write_results(config_, problem_, agent_->answer(), status_.phase,
                                              to_json(status_));
        !status) {
      hooks_.log->error("no model: {}", status.error().text());
      return PeerOutcome::unsaved;
    }
    return converged ? PeerOutcome::converged : PeerOutcome::stopped;
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
                       .work = pace_.choice().steps,
                       .work_reason = pace_.choice().reason,
                       .links_raised = agent_->events().empty() ? 1 : agent_->events().back().value,
                       .epoch = epoch_of(agent_->sequence()),
                       .seconds = now - started_,
                       .checkpoint_age = saved_at_ < 0 ? -1 : now - saved_at_,
                       .checkpoint_error = folder_.error(),
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
  const PeerHooks& hooks_;
  double started_;
  StateFolder folder_;
  LinkTable links_;
  Members members_;
  std::unique_ptr<PeerAgent> agent_;
  std::atomic<bool> stop_requested_ = false;
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
  std::size_t events_logged_ = 0;
  double stopped_since_ = -1;
  int goodbyes_ = 0;
  bool finished_ = false;

  // Last, because their threads use the members above.
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<Dialer>> dialers_;
  std::unique_ptr<Metrics> metrics_;
};

}  // namespace

Result<PeerOutcome> run_peer(PeerConfig config, const PeerHooks& hooks) {
  auto problem = load_problem(config);
  if (!problem) return problem.error();
  return Peer(std::move(config), std::move(*problem), hooks).run();
}

Result<PeerOutcome> run_peer(const std::filesystem::path& config_file, const PeerHooks& hooks) {
  auto config = read_peer_config(config_file);
  if (!config) return config.error();
  auto outcome = run_peer(std::move(*config), hooks);
  if (!outcome) return Error{config_file.string(), outcome.error().text()};
  return outcome;
}

}  // namespace grove::peer
