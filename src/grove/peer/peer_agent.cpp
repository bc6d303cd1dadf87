#include "grove/peer/peer_agent.h"

#include <algorithm>
#include <limits>
#include <set>

#include "grove/peer/hub.h"

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

std::unique_ptr<DynamicAgent> make_open_agent(const PeerProblem& problem, AgentContext context,
                                              bool from_neighbours) {
  if (const auto* druid = std::get_if<DruidOptions>(&problem.method))
    return std::make_unique<DruidAgent>(*druid, std::move(context));
  CurvatureDruidOptions options = std::get<CurvatureDruidOptions>(problem.method);
  options.solve_alone = !from_neighbours;
  return std::make_unique<CurvatureDruidAgent>(options, std::move(context));
}

/// A right checksum proves what was written, not that it makes sense: with a number that nobody
/// takes up, or a link to nobody, a peer would go on in vain.
bool possible(const Checkpoint& checkpoint, const std::string& self) {
  std::set<std::string_view> names{self};
  for (const std::string& name : checkpoint.neighbours)
    if (!is_peer_name(name) || !names.insert(name).second) return false;
  return checkpoint.sequence <= largest_sequence / 2 &&
         std::ranges::all_of(checkpoint.heard,
                             [](std::uint64_t heard) { return heard <= largest_sequence; });
}

/// Vectors of work are not needed while words travel, and hardly any words while it works: together
/// they would be half of a large peer. Matrices stay: to get them anew would take time.
void release_vectors(Workspace& workspace) {
  for (Vector* buffer : {&workspace.pull, &workspace.point, &workspace.gradient, &workspace.trial,
                         &workspace.trial_gradient, &workspace.moved, &workspace.bend})
    buffer->resize(0);
  workspace.objective = {};
}

}  // namespace

PeerAgent::PeerAgent(const PeerProblem& problem, const std::string& name, std::uint64_t seed,
                     PeerStart start)
    : problem_(problem),
      name_(name),
      seed_(seed),
      agent_(make_open_agent(problem, context_of(problem, name, seed, std::move(start.x)),
                             start.from_neighbours)) {}

bool PeerAgent::restore(const Checkpoint& checkpoint) {
  if (!possible(checkpoint, name_)) return false;
  for (const std::string& name : checkpoint.neighbours) add(name);
  heard_ = checkpoint.heard;
  hold_regularizer(checkpoint.holds_regularizer, 1);
  ByteReader reader(checkpoint.agent);
  sequence_ = next_life(checkpoint.sequence);
  return agent_->load(reader) && reader.finished() && sane();
}

bool PeerAgent::sane() const { return (agent_->estimate().array().abs() <= largest_value).all(); }

Checkpoint PeerAgent::checkpoint() const {
  ByteWriter writer;
  agent_->save(writer);
  std::string state;
  state.reserve(writer.bytes().size() + checkpoint_front_bytes);
  state = writer.bytes();
  return {.fingerprint = problem_.fingerprint,
          .sequence = sequence_,
          .holds_regularizer = holds_regularizer(),
          .neighbours = names_,
          .heard = heard_,
          .agent = std::move(state)};
}

std::size_t PeerAgent::slot_of(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
}

bool PeerAgent::has(const std::string& name) const { return slot_of(name) < names_.size(); }

void PeerAgent::add(const std::string& name) {
  agent_->add_neighbour({.id = AgentId{agent_number(name)}});
  names_.push_back(name);
  heard_.push_back(0);
  heard_now_.push_back(0);
}

void PeerAgent::drop(const std::string& name) {
  const std::size_t slot = slot_of(name);
  const auto at = static_cast<std::ptrdiff_t>(slot);
  agent_->drop_neighbour(slot);
  names_.erase(names_.begin() + at);
  heard_.erase(heard_.begin() + at);
  heard_now_.erase(heard_now_.begin() + at);
}

void PeerAgent::hold_regularizer(bool holds, std::size_t members) {
  holds_ = holds;
  members_ = members;
  agent_->hold(holds, problem_.regularizer, members);
}

void PeerAgent::receive(const std::string& name, const Message& message) {
  const std::size_t slot = slot_of(name);
  if (slot == names_.size()) return;  // a link not yet, or no longer, taken up
  agent_->receive(slot, message);
  heard_[slot] = std::max(heard_[slot], message.sequence);
  heard_now_[slot] = 1;
}

void PeerAgent::activate(std::uint64_t heard_of_self, int steps) {
  const bool outrun = heard_of_self > sequence_;
  if (outrun) agent_->renumber();
  sequence_ = outrun ? next_life(heard_of_self) : sequence_ + 1;
  work(steps);
  if (sane()) return;
  start_anew();
  work(steps);
}

void PeerAgent::work(int steps) {
  agent_->activate({.round = sequence_, .local_steps = steps}, workspace_);
  agent_->end_round();
  release_vectors(workspace_);
  worked_ = true;
  scale_ = agent_->estimate().stableNorm();
}

void PeerAgent::start_anew() {
  const Vector zero = Vector::Zero(agent_->estimate().size());
  Vector start = zero;
  problem_.regularizer.prox(1, zero, start);
  agent_ = make_open_agent(problem_, context_of(problem_, name_, seed_, std::move(start)), false);
  for (const std::string& name : names_) agent_->add_neighbour({.id = AgentId{agent_number(name)}});
  hold_regularizer(holds_, members_);
  heard_now_.assign(names_.size(), 0);
  sequence_ = next_life(sequence_) + 1;
  ++fresh_starts_;
}

double PeerAgent::residual() const {
  const bool all_heard = std::ranges::all_of(heard_now_, [](char heard) { return heard == 1; });
  if (!all_heard || !worked_) return std::numeric_limits<double>::infinity();
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
