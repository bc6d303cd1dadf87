#include "grove/peer/peer_agent.h"

#include <algorithm>
#include <limits>
#include <set>

#include "grove/peer/link_table.h"

namespace grove::peer {
namespace {

Regularizer no_regularizer(const PeerProblem& problem) { return {.regularized = problem.features}; }

AgentContext context_of(const PeerProblem& problem, const std::string& name, std::uint64_t seed,
                        Vector start) {
  return {
      .id = AgentId{agent_number(name)},
      .seed = seed,
      .objective = problem.objective,
      .regularizer = problem.shares_regularizer() ? problem.regularizer : no_regularizer(problem),
      .start = std::move(start)};
}

std::unique_ptr<DynamicAgent> make_dynamic_agent(const PeerProblem& problem, AgentContext context,
                                                 bool from_neighbours) {
  if (const auto* tree = std::get_if<TreeNewtonOptions>(&problem.method))
    return std::make_unique<TreeNewtonAgent>(*tree, std::move(context));
  if (const auto* noisy = std::get_if<PrivateNewtonOptions>(&problem.method))
    return std::make_unique<PrivateNewtonAgent>(*noisy, std::move(context));
  auto options = std::get<DruidOptions>(problem.method);
  options.solve_alone = !from_neighbours;
  AgentContext of_sums = context;
  of_sums.regularizer = problem.regularizer;
  auto druid = make_druid_agent(options, std::move(context));
  if (!problem.certified) return druid;
  return std::make_unique<CertifiedAgent>(*problem.certified, std::move(of_sums), std::move(druid));
}

/// A correct checksum does not prove that the contents are valid. Neighbours would reject invalid
/// sequence numbers, and a link with an invalid name would never connect.
bool is_valid(const Checkpoint& checkpoint, const std::string& self) {
  std::set<std::string_view> names{self};
  for (const std::string& name : checkpoint.neighbours)
    if (!is_peer_name(name) || !names.insert(name).second) return false;
  return checkpoint.sequence <= max_sequence / 2 &&
         std::ranges::all_of(checkpoint.last_received,
                             [](std::uint64_t sequence) { return sequence <= max_sequence; });
}

/// Frees the vectors of the workspace between activations. Together with the messages in transit
/// they would be half of a large peer's memory. Matrices stay allocated, because allocating them
/// again takes time.
void release_vectors(Workspace& workspace) {
  for (Vector* buffer :
       {&workspace.coupling_gradient, &workspace.point, &workspace.gradient, &workspace.trial,
        &workspace.trial_gradient, &workspace.displacement, &workspace.product})
    buffer->resize(0);
  workspace.objective = {};
}

}  // namespace

PeerAgent::PeerAgent(const PeerProblem& problem, const std::string& name, std::uint64_t seed,
                     PeerStart start)
    : problem_(problem),
      name_(name),
      seed_(seed),
      agent_(make_dynamic_agent(problem, context_of(problem, name, seed, std::move(start.x)),
                                start.from_neighbours)) {}

bool PeerAgent::restore(const Checkpoint& checkpoint) {
  if (!is_valid(checkpoint, name_)) return false;
  for (const std::string& name : checkpoint.neighbours) add(name);
  last_received_ = checkpoint.last_received;
  set_regularizer_holder(checkpoint.holds_regularizer, 1);
  ByteReader reader(checkpoint.agent);
  sequence_ = next_epoch(checkpoint.sequence);
  return agent_->load(reader) && reader.finished() && in_range();
}

bool PeerAgent::in_range() const { return (agent_->estimate().array().abs() <= max_value).all(); }

Checkpoint PeerAgent::checkpoint() const {
  ByteWriter writer;
  agent_->save(writer);
  std::string state;
  state.reserve(writer.bytes().size() + checkpoint_header_bytes);
  state = writer.bytes();
  return {.owner = {},
          .run = {},
          .members = {},
          .sequence = sequence_,
          .holds_regularizer = holds_regularizer(),
          .neighbours = names_,
          .last_received = last_received_,
          .proofs = std::vector<std::string>(names_.size()),
          .agent = std::move(state)};
}

std::size_t PeerAgent::slot_of(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

bool PeerAgent::has(const std::string& name) const { return slot_of(name) < names_.size(); }

void PeerAgent::add(const std::string& name) {
  agent_->add_neighbour({.id = AgentId{agent_number(name)}});
  names_.push_back(name);
  last_received_.push_back(0);
  received_this_epoch_.push_back(0);
}

void PeerAgent::drop(const std::string& name) {
  const std::size_t slot = slot_of(name);
  const auto at = static_cast<std::ptrdiff_t>(slot);
  agent_->drop_neighbour(slot);
  names_.erase(names_.begin() + at);
  last_received_.erase(last_received_.begin() + at);
  received_this_epoch_.erase(received_this_epoch_.begin() + at);
}

void PeerAgent::set_regularizer_holder(bool holds, std::size_t members) {
  holds_ = holds;
  members_ = members;
  agent_->set_regularizer_holder(holds, problem_.regularizer, members);
  limit_influence();
}

void PeerAgent::limit_influence() {
  if (problem_.influence) agent_->limit_coupling_gradients(problem_.influence->link(members_));
}

bool PeerAgent::receive(const std::string& name, const Message& message) {
  const std::size_t slot = slot_of(name);
  if (slot == names_.size()) return true;  // the agent has no such link, or no longer
  const std::uint64_t limited = agent_->coupling_gradients_limited();
  agent_->receive(slot, message);
  last_received_[slot] = std::max(last_received_[slot], message.sequence);
  received_this_epoch_[slot] = 1;
  return agent_->coupling_gradients_limited() == limited;
}

void PeerAgent::activate(std::uint64_t received_from_self, int steps) {
  const bool rolled_back = received_from_self > sequence_;
  if (rolled_back) agent_->start_new_epoch();
  sequence_ = rolled_back ? next_epoch(received_from_self) : sequence_ + 1;
  run_local_steps(steps);
  if (in_range()) return;
  reset();
  run_local_steps(steps);
}

void PeerAgent::run_local_steps(int steps) {
  agent_->activate({.round = sequence_, .local_steps = steps}, workspace_);
  agent_->end_round();
  release_vectors(workspace_);
  activated_ = true;
  scale_ = agent_->estimate().stableNorm();
}

void PeerAgent::reset() {
  agent_ = make_dynamic_agent(problem_, context_of(problem_, name_, seed_, problem_.start_point()),
                              false);
  for (const std::string& name : names_) agent_->add_neighbour({.id = AgentId{agent_number(name)}});
  set_regularizer_holder(holds_, members_);
  received_this_epoch_.assign(names_.size(), 0);
  sequence_ = next_epoch(sequence_) + 1;
  ++resets_;
}

bool PeerAgent::has_received_from_all() const {
  return activated_ &&
         std::ranges::all_of(received_this_epoch_, [](char received) { return received == 1; });
}

std::span<const AgentId> PeerAgent::counted_members() const {
  return has_received_from_all() ? agent_->counted_members() : std::span<const AgentId>();
}

void PeerAgent::set_live(const std::string& name, bool live) {
  if (has(name)) agent_->set_live(slot_of(name), live);
}

double PeerAgent::residual() const {
  if (!has_received_from_all()) return std::numeric_limits<double>::infinity();
  if (problem_.sums_over_tree())
    return counted_members().empty() ? std::numeric_limits<double>::infinity()
           : problem_.is_private()   ? 0
                                     : certificate()->relative_step;
  double largest = std::max(agent_->last_step(), agent_->disagreement());
  if (const Vector* theta = agent_->regularized_estimate())
    largest = std::max(largest, (*theta - agent_->estimate()).stableNorm());
  const double result = scale_ > 0 ? largest / scale_ : largest;
  return std::isfinite(result) ? result : std::numeric_limits<double>::infinity();
}

const Vector& PeerAgent::answer() const {
  const Vector* theta = agent_->regularized_estimate();
  return theta != nullptr ? *theta : agent_->estimate();
}

}  // namespace grove::peer
