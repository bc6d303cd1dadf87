#include "support/tree_network.h"

#include <algorithm>
#include <cassert>

namespace grove::testing_support {

TreeNetwork::TreeNetwork(TreeProblem problem, const TreeNewtonOptions& options, TreeFaults faults,
                         const std::set<std::uint32_t>& absent)
    : problem_(std::move(problem)),
      options_(options),
      faults_(std::move(faults)),
      random_(RandomKey{.seed = faults_.seed, .purpose = Purpose::message_loss}) {
  const auto count = static_cast<std::uint32_t>(problem_.parts.size());
  if (faults_.participation.empty()) faults_.participation.assign(count, 1);
  if (problem_.start.size() == 0)
    problem_.start = Vector::Zero(problem_.parts.front()->dimension());
  for (std::uint32_t i = 0; i < count; ++i) {
    if (absent.contains(i)) continue;
    Member& member = members_[i];
    for (const auto& [a, b] : problem_.edges)
      if (const std::uint32_t other = a == i ? b : a; (a == i || b == i) && !absent.contains(other))
        member.neighbours.push_back(other);
    std::ranges::sort(member.neighbours);
    member.agent = make(i, member.neighbours);
  }
}

std::unique_ptr<TreeNewtonAgent> TreeNetwork::make(
    std::uint32_t agent, const std::vector<std::uint32_t>& neighbours) const {
  AgentContext context{.id = AgentId{agent},
                       .neighbours = {},
                       .objective = problem_.parts[agent],
                       .regularizer = {.l1 = problem_.l1, .regularized = problem_.start.size()},
                       .network_size = problem_.parts.size(),
                       .start = problem_.start};
  for (const std::uint32_t neighbour : neighbours)
    context.neighbours.push_back({AgentId{neighbour}});
  TreeNewtonOptions options = options_;
  if (problem_.masked) options.masks = simulated_masks(1, context.id);
  return std::make_unique<TreeNewtonAgent>(options, std::move(context));
}

void TreeNetwork::advance() {
  ++round_;
  keep_checkpoints();
  std::vector<std::uint32_t> active;
  for (auto& [id, member] : members_) {
    if (down_.contains(id) || draw() >= faults_.participation[id]) continue;
    member.agent->activate({.round = round_, .local_steps = 1}, workspace_);
    active.push_back(id);
  }
  for (const std::uint32_t id : active) send_from(id);
  deliver();
}

void TreeNetwork::send_from(std::uint32_t agent) {
  const Member& member = members_.at(agent);
  for (std::size_t slot = 0; slot < member.neighbours.size(); ++slot) {
    const std::uint32_t to = member.neighbours[slot];
    const Message message = member.agent->message_to(slot);
    bytes_ += message.payload_bytes();
    if (problem_.sent) problem_.sent(agent, message);
    if (cut_.contains(std::minmax(agent, to))) continue;
    const int copies = draw() < faults_.duplicates ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      if (draw() < faults_.loss) continue;
      const std::uint64_t late = faults_.delay == 0 ? 0 : random_.below(faults_.delay + 1);
      letters_[round_ + late].push_back({agent, to, StoredMessage(message)});
    }
  }
}

void TreeNetwork::deliver() {
  auto due = letters_.find(round_);
  if (due == letters_.end()) return;
  std::vector<Letter> letters = std::move(due->second);
  letters_.erase(due);
  if (faults_.delay > 0)
    for (std::size_t k = letters.size(); k > 1; --k)
      std::swap(letters[k - 1], letters[random_.below(k)]);
  for (const Letter& letter : letters) {
    const auto to = members_.find(letter.to);
    if (to == members_.end() || down_.contains(letter.to)) continue;
    const auto& neighbours = to->second.neighbours;
    const auto slot = std::ranges::find(neighbours, letter.from);
    if (slot == neighbours.end()) continue;
    to->second.agent->receive(static_cast<std::size_t>(slot - neighbours.begin()),
                              letter.message.view());
  }
}

void TreeNetwork::keep_checkpoints() {
  constexpr std::uint64_t every = 7, oldest = 60;
  if (round_ % every != 0) return;
  for (auto& [id, member] : members_) {
    ByteWriter writer;
    member.agent->save(writer);
    member.checkpoints[round_] = {member.neighbours, writer.bytes()};
    while (member.checkpoints.begin()->first + oldest < round_)
      member.checkpoints.erase(member.checkpoints.begin());
  }
}

bool TreeNetwork::finished() const {
  const WaveId wave = members_.begin()->second.agent->sums().wave().id;
  return down_.empty() && std::ranges::all_of(members_, [&](const auto& entry) {
           const TreeNewtonAgent& agent = *entry.second.agent;
           return agent.finished() && agent.sums().wave().id == wave;
         });
}

std::vector<const TreeNewtonAgent*> TreeNetwork::agents() const {
  std::vector<const TreeNewtonAgent*> all;
  for (const auto& [id, member] : members_) all.push_back(member.agent.get());
  return all;
}

std::vector<std::uint32_t> TreeNetwork::present() const {
  std::vector<std::uint32_t> all;
  for (const auto& [id, member] : members_) all.push_back(id);
  return all;
}

void TreeNetwork::lose_state(std::uint32_t agent) {
  const auto found = members_.find(agent);
  if (found == members_.end()) return;
  found->second.agent = make(agent, found->second.neighbours);
}

void TreeNetwork::roll_back(std::uint32_t agent) {
  const auto found = members_.find(agent);
  if (found == members_.end()) return;
  Member& member = found->second;
  if (member.checkpoints.empty()) return lose_state(agent);
  const auto& [neighbours, state] = member.checkpoints.begin()->second;
  member.agent = make(agent, neighbours);
  ByteReader reader(state);
  [[maybe_unused]] const Status loaded = member.agent->load(reader);
  assert(loaded && reader.finished());
  // The neighbours of today.
  std::vector<std::uint32_t> slots = neighbours;
  for (std::size_t slot = slots.size(); slot-- > 0;)
    if (std::ranges::find(member.neighbours, slots[slot]) == member.neighbours.end()) {
      member.agent->drop_neighbour(slot);
      slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(slot));
    }
  for (const std::uint32_t neighbour : member.neighbours)
    if (std::ranges::find(slots, neighbour) == slots.end()) {
      member.agent->add_neighbour({AgentId{neighbour}});
      slots.push_back(neighbour);
    }
  member.neighbours = slots;
  member.agent->start_new_epoch();
}

void TreeNetwork::leave(std::uint32_t agent) {
  members_.erase(agent);
  down_.erase(agent);
}

void TreeNetwork::forget(std::uint32_t agent) {
  for (auto& [id, member] : members_) {
    const auto slot = std::ranges::find(member.neighbours, agent);
    if (slot == member.neighbours.end()) continue;
    member.agent->drop_neighbour(static_cast<std::size_t>(slot - member.neighbours.begin()));
    member.neighbours.erase(slot);
  }
}

void TreeNetwork::join(std::uint32_t agent) {
  Member& joined = members_[agent];
  for (const auto& [a, b] : problem_.edges) {
    if (a != agent && b != agent) continue;
    const std::uint32_t other = a == agent ? b : a;
    const auto there = members_.find(other);
    if (there == members_.end()) continue;
    joined.neighbours.push_back(other);
    there->second.agent->add_neighbour({AgentId{agent}});
    there->second.neighbours.push_back(agent);
  }
  joined.agent = make(agent, joined.neighbours);
}

}  // namespace grove::testing_support
