#include "grove/peer/peer.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <thread>

#include "grove/peer/certificates.h"
#include "grove/peer/clock.h"
#include "grove/peer/dialer.h"
#include "grove/peer/members.h"
#include "grove/peer/metrics.h"
#include "grove/peer/peer_agent.h"
#include "grove/peer/peer_status.h"
#include "grove/peer/process_settings.h"
#include "grove/peer/server.h"
#include "grove/peer/state_folder.h"
#include "grove/peer/work_pace.h"

namespace grove::peer {
namespace {

constexpr double longest_patience_seconds = 1;
constexpr int calm_beats = 3;  ///< heartbeats a residual must stay below the tolerance
constexpr int farewell_beats = 3;
constexpr double trim_seconds = 0.02;  ///< at least, between returns of freed memory

std::string phase_name(v1::Member::Phase phase) {
  constexpr std::array names{"working", "calm", "ready", "done"};
  return names[static_cast<std::size_t>(phase)];
}

HubTerms terms_of(const PeerConfig& config, const PeerProblem& problem) {
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
        began_(monotonic_seconds()),
        folder_(config_.state, problem_.fingerprint, hooks.log),
        hub_(terms_of(config_, problem_), hooks.log),
        members_({.self = config_.name,
                  .holder = config_.holder,
                  .expected = config_.members,
                  .forget_seconds = config_.forget_seconds},
                 began_) {
    status_.name = config_.name;
  }

  Result<PeerOutcome> run() {
    if (Status status = folder_.open(); !status) return status.error();
    checkpoint_ = folder_.find();
    know_neighbours();
    if (Status status = open_network(); !status) return status.error();
    prepare_agent();
    while (!over_) {
      const bool all_spoke = hub_.wait_for_all(std::min(next_beat_, last_work_ + patience_));
      const double now = monotonic_seconds();
      if (all_spoke || now >= last_work_ + patience_) work(now);
      if (now >= next_beat_) beat(now);
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
    for (const auto& neighbour : config_.neighbours) hub_.add_link(neighbour.name);
    auto server = Server::start({.listen = config_.listen,
                                 .identity = identity,
                                 .shape = shape,
                                 .neighbours = config_.members + config_.neighbours.size()},
                                hub_,
                                {.status_json = [this] { return to_json(status()).dump(); },
                                 .stop = [this] { told_to_stop_ = true; }});
    if (!server) return server.error();
    server_ = std::move(*server);
    // One end of each link dials: the one whose name comes first, or the newcomer.
    for (const auto& neighbour : config_.neighbours)
      if (config_.join || config_.name < neighbour.name)
        dialers_.push_back(std::make_unique<Dialer>(neighbour, identity, shape, hub_, hooks_.log));
    if (!config_.metrics.empty()) {
      auto metrics = Metrics::serve(config_.metrics, [this] { return status(); });
      if (!metrics) return metrics.error();
      metrics_ = std::move(*metrics);
    }
    hooks_.log->info("started name={} listen={} port={} neighbours={} tls={}", config_.name,
                     config_.listen, server_->port(), config_.neighbours.size(), !config_.insecure);
    return success();
  }

  /// Before anybody is spoken to: hellos tell how far each neighbour was heard.
  void know_neighbours() {
    if (!checkpoint_) return;
    for (std::size_t slot = 0; slot < checkpoint_->neighbours.size(); ++slot) {
      const std::string& name = checkpoint_->neighbours[slot];
      if (wanted(name)) hub_.add_link(name, checkpoint_->heard[slot]);
    }
  }

  /// A name that peer.toml no longer has is a stranger, unless strangers are welcome.
  bool wanted(const std::string& name) const {
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
      if (checkpoint->done) members_.set_done();
      hooks_.log->info("resumed activations={} neighbours={}", agent_->activations(),
                       agent_->neighbours().size());
    }
    hub_.forget_estimates();
    const std::vector<std::string> before = agent_->neighbours();
    for (const std::string& name : before)
      if (!wanted(name)) {
        agent_->drop(name);
        hooks_.log->warn("dropped peer={} reason=\"no longer among the neighbours\"", name);
      }
    for (const auto& neighbour : config_.neighbours)
      if (!agent_->has(neighbour.name)) agent_->add(neighbour.name);
    for (std::size_t slot = 0; slot < agent_->neighbours().size(); ++slot)
      hub_.add_link(agent_->neighbours()[slot], agent_->heard()[slot]);
    agent_->hold_regularizer(config_.holder == config_.name, members_.count(monotonic_seconds()));
  }

  void make_agent(PeerStart start) {
    agent_ = std::make_unique<PeerAgent>(problem_, config_.name, config_.training.seed,
                                         std::move(start));
  }

  /// A peer without a past starts where its neighbours are, if they have been working.
  PeerStart start_point(bool has_past) {
    const Index dimension = problem_.objective->dimension();
    Vector start = Vector::Zero(dimension);
    problem_.regularizer.prox(1, Vector::Zero(dimension), start);
    if (has_past) return {std::move(start)};
    const double until = monotonic_seconds() + config_.contact_seconds;
    while (monotonic_seconds() < until && !asked_to_stop() && !all_connected())
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const auto told = hub_.estimates();
    if (told.empty()) return {std::move(start)};
    start.setZero();
    for (const auto& x : told)
      start += Eigen::Map<const Vector>(x.data(), dimension) / static_cast<double>(told.size());
    hooks_.log->info("starting from the values of {} neighbours", told.size());
    return {std::move(start), true};
  }

  bool all_connected() const { return std::ranges::all_of(hub_.links(), &LinkStatus::connected); }

  bool asked_to_stop() const { return told_to_stop_ || hooks_.interrupted(); }

  void work(double now) {
    const auto news = hub_.take_iterates([this](const std::string& name, const Message& message) {
      agent_->receive(name, message);
    });
    give_back_memory();
    // Alone with nothing new, work ever less often.
    patience_ =
        news > 0 ? config_.patience_seconds : std::min(2 * patience_, longest_patience_seconds);
    const double began = monotonic_seconds();
    const std::uint64_t solves = agent_->solves();
    agent_->activate(hub_.newest_heard_of_self(), pace_.choice().steps);
    if (agent_->fresh_starts() > fresh_starts_)
      hooks_.log->warn("started anew: the numbers of this peer had left all reason");
    fresh_starts_ = agent_->fresh_starts();
    if (agent_->solves() > solves)
      pace_.observe(monotonic_seconds() - began, agent_->solves() - solves);
    for (std::size_t slot = 0; slot < agent_->neighbours().size(); ++slot) {
      if (!hub_.say(agent_->neighbours()[slot], agent_->message_to(slot))) agent_->not_sent(slot);
      agent_->forget_message(slot);  // the hub has its own
    }
    last_work_ = now;
    give_back_memory();
    const double residual = agent_->residual();
    worst_since_beat_ = std::max(worst_since_beat_, residual);
    if (residual > config_.training.tolerance)
      at_rest_since_ = 0;
    else if (at_rest_since_ == 0)
      at_rest_since_ = agent_->activations();
    tell_of_events();
  }

  /// Of words that were taken up or sent.
  void give_back_memory() {
    const double now = monotonic_seconds();
    if (now < last_trim_ + trim_seconds) return;
    return_freed_memory();
    last_trim_ = now;
  }

  void tell_of_events() {
    const auto events = agent_->events();
    for (; events_told_ < events.size(); ++events_told_)
      hooks_.log->info(
          "links_raised factor={:g} activations={}: it kept disagreeing with its neighbours while "
          "it hardly moved",
          events[events_told_].value, agent_->activations());
  }

  void beat(double now) {
    next_beat_ = now + config_.heartbeat_seconds;
    server_->cut_overdue(now);
    for (const auto& dialer : dialers_) dialer->cut_overdue(now);
    for (const auto& heartbeat : hub_.take_heartbeats()) members_.merge(heartbeat, now);
    members_.report(agent_->residual(), calm(), agent_->activations(), now);
    choose_pace();
    follow_membership(now);
    hub_.set_estimate(agent_->estimate());
    hub_.say_to_all(members_.heartbeat(now));
    const bool done = members_.phase() == v1::Member::DONE;
    if (now >= last_save_ + config_.checkpoint_seconds || (done && done_since_ < 0)) save(now);
    update_status(now);
    decide_end(now, done);
  }

  /// Neighbours wait for each other's news: a peer may work as long as its slowest neighbour does.
  void choose_pace() {
    members_.report_step(pace_.step_seconds());
    if (!problem_.measures_work) return;
    WorkPace::Neighbour slowest;
    for (const std::string& name : agent_->neighbours())
      if (const double step = members_.step_seconds(name); step > slowest.step_seconds)
        slowest = {name, step};
    pace_.choose(slowest);
  }

  /// The residual has stayed below the tolerance for some beats, with someone to agree with.
  bool calm() {
    const bool below = worst_since_beat_ <= config_.training.tolerance &&
                       agent_->residual() <= config_.training.tolerance;
    worst_since_beat_ = 0;
    calm_beats_ = below ? calm_beats_ + 1 : 0;
    const bool alone = agent_->neighbours().empty() && config_.members > 1;
    return calm_beats_ >= calm_beats && !alone;
  }

  void follow_membership(double now) {
    for (const LinkStatus& link : hub_.links()) {
      const bool gone = members_.gone(link.name, now);
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
    agent_->hold_regularizer(holds, members_.count(now));
  }

  void save(double now) {
    Checkpoint checkpoint = agent_->checkpoint();
    checkpoint.done = members_.phase() == v1::Member::DONE;
    if (folder_.save(std::move(checkpoint))) saved_at_ = now;
    last_save_ = now;
  }

  /// Done: stays until everybody is, so that the last ones are not left alone.
  void decide_end(double now, bool done) {
    if (asked_to_stop()) over_ = true;
    if (!done) return;
    if (done_since_ < 0) {
      done_since_ = now;
      hooks_.log->info("done residual={:.3g} activations={}", agent_->residual(),
                       agent_->activations());
    }
    if (members_.everyone_done(now)) ++farewells_;
    if (farewells_ >= farewell_beats || now - done_since_ > config_.linger_seconds) over_ = true;
  }

  Result<PeerOutcome> finish() {
    const bool converged = members_.phase() == v1::Member::DONE;
    save(monotonic_seconds());
    update_status(monotonic_seconds());
    metrics_.reset();
    hub_.close();
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
    PeerStatus fresh{.name = config_.name,
                     .phase = phase_name(members_.phase()),
                     .activations = agent_->activations(),
                     .at_rest_since = at_rest_since_,
                     .residual = agent_->residual(),
                     .network_residual = members_.worst_residual(now),
                     .members = members_.count(now),
                     .holder = members_.holder(now),
                     .work = pace_.choice().steps,
                     .work_reason = pace_.choice().reason,
                     .links_raised = agent_->events().empty() ? 1 : agent_->events().back().value,
                     .life = life_of(agent_->sequence()),
                     .seconds = now - began_,
                     .checkpoint_age = saved_at_ < 0 ? -1 : now - saved_at_,
                     .checkpoint_trouble = folder_.trouble(),
                     .links = hub_.links(),
                     .strangers_refused = hub_.strangers_refused()};
    const std::lock_guard lock(status_mutex_);
    status_ = std::move(fresh);
  }

  PeerStatus status() const {
    const std::lock_guard lock(status_mutex_);
    return status_;
  }

  PeerConfig config_;
  PeerProblem problem_;
  const PeerHooks& hooks_;
  double began_;
  StateFolder folder_;
  Hub hub_;
  Members members_;
  std::unique_ptr<PeerAgent> agent_;
  std::atomic<bool> told_to_stop_ = false;
  mutable std::mutex status_mutex_;
  PeerStatus status_;

  std::optional<Checkpoint> checkpoint_;  ///< found at the start, until the agent has it
  WorkPace pace_{problem_.work};
  double patience_ = config_.patience_seconds;
  double last_work_ = 0, last_trim_ = 0, next_beat_ = 0, last_save_ = began_, saved_at_ = -1;
  double worst_since_beat_ = 0;
  int calm_beats_ = 0;
  int fresh_starts_ = 0;  ///< of the agent, as far as logged
  std::uint64_t at_rest_since_ = 0;
  std::size_t events_told_ = 0;
  double done_since_ = -1;
  int farewells_ = 0;
  bool over_ = false;

  // Last: they call into the members above from their own threads.
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

}  // namespace grove::peer
