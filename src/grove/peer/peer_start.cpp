// The start of a peer: its state, its connections and its agent.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include <spdlog/logger.h>

#include "grove/peer/clock.h"
#include "grove/peer/peer_loop.h"

namespace grove::peer {
namespace {

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

std::optional<Contributions> make_contributions(const PeerConfig& config,
                                                const PeerProblem& problem, Signer* signer) {
  if (!config.contributions) return std::nullopt;
  return Contributions(*signer, config.name, problem.objective->dimension());
}

std::string announced_data(const PeerProblem& problem, Signer* signer) {
  return signer != nullptr ? signer->keyed(problem.data) : problem.data;
}

MembersOptions members_options(const PeerConfig& config, const PeerProblem& problem, Signer* signer,
                               Contributions* contributions) {
  std::vector<std::string> neighbours;
  for (const auto& neighbour : config.neighbours) neighbours.push_back(neighbour.name);
  return {.self = config.name,
          .holder = config.holder,
          .expected = config.members,
          .forget_seconds = config.forget_seconds,
          .tolerance = config.training.tolerance,
          .problem = config.network + "\n" + to_text(problem.schema),
          .data = announced_data(problem, signer),
          .process = process_number(),
          .neighbours = std::move(neighbours),
          .signer = signer,
          .sum_key = problem.masks ? problem.masks->public_key() : std::string(),
          .contributions = contributions,
          .acceptances = config.acceptances.get(),
          .twin_seconds = std::max(1.0, 5 * config.heartbeat_seconds)};
}

/// Whether the file can be read, as training will read it.
Status check_data_of(PeerConfig config) {
  if (fits_formula(config)) {
    const auto table = read_table(config.training.data, config.fit.table);
    return table ? success() : Status(table.error());
  }
  const auto problem = load_problem(config);
  return problem ? success() : Status(problem.error());
}

}  // namespace

PeerLoop::PeerLoop(PeerConfig config, PeerProblem problem, Security security,
                   const PeerHooks& hooks, std::shared_ptr<FitGossip> gossip)
    : config_(std::move(config)),
      problem_(std::move(problem)),
      signer_(std::move(security.signer)),
      audit_(std::move(security.audit)),
      hooks_(hooks),
      started_(monotonic_seconds()),
      folder_(config_.state, {config_.network, config_.name, problem_.schema, problem_.data},
              hooks.log),
      links_(link_table_options(config_, problem_, signer_.get(), audit_.get()), hooks.log),
      contributions_(make_contributions(config_, problem_, signer_.get())),
      members_(members_options(config_, problem_, signer_.get(),
                               contributions_ ? &*contributions_ : nullptr),
               started_),
      fit_(std::move(gossip)),
      connections_({config_, problem_.link_shape(), links_, signer_.get(), hooks.log},
                   std::move(security.identity),
                   {.status_json = [this] { return to_json(status()).dump(); },
                    .stop = [this] { stop_requested_ = true; },
                    .leave = [this] { leave_requested_ = true; },
                    .retrain = [this] { return request_retraining(); }}) {
  status_.name = config_.name;
  problem_.prepare_sums(announced_data(problem_, signer_.get()));
}

Status PeerLoop::open_network() {
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
  for (const std::string& note : problem_.notes) hooks_.log->info("{}", note);
  connections_.warn_of_expiry();
  return success();
}

/// Must run before the first hello, because hellos contain the last sequence received.
void PeerLoop::restore_links() {
  if (!checkpoint_) return;
  for (std::size_t slot = 0; slot < checkpoint_->neighbours.size(); ++slot) {
    const std::string& name = checkpoint_->neighbours[slot];
    if (is_neighbour(name) || config_.accept_new)
      links_.add_link(name, checkpoint_->last_received[slot], checkpoint_->proofs[slot]);
  }
}

bool PeerLoop::is_neighbour(const std::string& name) const {
  return std::ranges::find(config_.neighbours, name, &NeighbourAddress::name) !=
         config_.neighbours.end();
}

void PeerLoop::prepare_agent() {
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
                                .stay = config_.stay,
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
SavedPhase PeerLoop::resume(const Checkpoint& checkpoint) {
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
  agreed_certificate_ = certificate();
  if (fit_) sum_inference(checkpoint.run, checkpoint.members);
  return checkpoint.phase;
}

void PeerLoop::make_agent(PeerStart start) {
  agent_ =
      std::make_unique<PeerAgent>(problem_, config_.name, config_.training.seed, std::move(start));
}

/// A peer without a checkpoint starts at the mean of its neighbours' estimates, if they have any.
PeerStart PeerLoop::start_point(bool has_checkpoint) {
  const Index dimension = problem_.objective->dimension();
  Vector start = problem_.start_point();
  if (has_checkpoint) return {std::move(start)};
  const double until = monotonic_seconds() + config_.contact_seconds;
  while (monotonic_seconds() < until && !asked_to_stop() && !all_connected())
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto estimates = links_.estimates();
  if (estimates.empty()) return {std::move(start)};
  start.setZero();
  for (const auto& x : estimates)
    start += Eigen::Map<const Vector>(x.data(), dimension) / static_cast<double>(estimates.size());
  hooks_.log->info("starting from the values of {} neighbours", estimates.size());
  return {std::move(start), true};
}

bool PeerLoop::all_connected() const {
  return std::ranges::all_of(links_.statuses(), &LinkStatus::connected);
}

bool PeerLoop::asked_to_stop() const { return stop_requested_ || hooks_.interrupted(); }

/// The peer goes on as before where the new configuration is none.
Status PeerLoop::request_retraining() {
  if (!hooks_.reload) return Error{"retrain", "this peer has no files to read again"};
  auto next = hooks_.reload();
  if (!next) return next.error();
  if (Status status = check_data_of(**next); !status) return status;
  const std::lock_guard lock(status_mutex_);
  next_ = std::move(*next);
  stop_requested_ = true;
  return success();
}

}  // namespace grove::peer
