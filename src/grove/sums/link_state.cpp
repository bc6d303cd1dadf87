#include "grove/sums/link_state.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "grove/sums/hash.h"
#include "grove/sums/spanning_tree.h"

namespace grove {
namespace {

constexpr std::size_t fixed_words = 4;
constexpr std::uint32_t half_word = 16;
constexpr std::uint32_t most_patience = 1u << 20;
constexpr std::uint32_t most_slowness = 16;
constexpr std::uint32_t slowness_bits = 5;  ///< of the word that it shares with the data
constexpr std::uint32_t slowness_mask = (1u << slowness_bits) - 1;

std::uint64_t entry_hash(AgentId member, const LinkStateEntry& entry) {
  WordHash hash;
  hash.add(member.value);
  hash.add(entry.version);
  hash.add(entry.slowness);
  hash.add(entry.data);
  for (const auto* names : {&entry.live, &entry.silent}) {
    hash.add(names->size());
    for (const AgentId name : *names) hash.add(name.value);
  }
  return hash.value();
}

/// A member that was rolled back may publish a version twice. Everybody keeps the same one of the
/// two; if it is not the member's present one, the member hears of it and publishes a later one.
bool is_newer(AgentId member, const LinkStateEntry& entry, const LinkStateEntry& kept) {
  return entry.version > kept.version ||
         (entry.version == kept.version && entry_hash(member, entry) > entry_hash(member, kept));
}

bool sorted_without_repeats(const std::vector<AgentId>& names) {
  return std::ranges::adjacent_find(names, std::greater_equal{}) == names.end();
}

bool lists(const std::vector<AgentId>& names, AgentId name) {
  return std::ranges::binary_search(names, name);
}

/// Digest of the members, their data and their links.
std::uint64_t graph_hash(const std::vector<AgentId>& members, const LinkStateTable& table,
                         const MemberGraph& graph) {
  WordHash hash;
  for (std::size_t k = 0; k < members.size(); ++k) {
    hash.add(members[k].value);
    hash.add(table.at(members[k]).data);
    hash.add(graph.slowness[k]);
    hash.add(graph.neighbours[k]);
  }
  return hash.value() | 1;  // 0 means no tree
}

}  // namespace

void append_entry(AgentId member, const LinkStateEntry& entry, std::vector<std::uint32_t>& words) {
  words.push_back(member.value);
  words.push_back(entry.version);
  words.push_back(entry.data << slowness_bits | entry.slowness);
  words.push_back(static_cast<std::uint32_t>(entry.live.size() << half_word | entry.silent.size()));
  for (const auto* names : {&entry.live, &entry.silent})
    for (const AgentId name : *names) words.push_back(name.value);
}

std::optional<LinkStateTable> read_entries(std::span<const std::uint32_t> words) {
  LinkStateTable table;
  while (!words.empty()) {
    if (words.size() < fixed_words) return std::nullopt;
    const AgentId member{words[0]};
    LinkStateEntry entry{.version = words[1],
                         .slowness = words[2] & slowness_mask,
                         .data = words[2] >> slowness_bits};
    const std::size_t live = words[3] >> half_word, silent = words[3] & ((1u << half_word) - 1);
    words = words.subspan(fixed_words);
    if (words.size() < live + silent || entry.slowness > most_slowness) return std::nullopt;
    for (std::size_t k = 0; k < live + silent; ++k)
      (k < live ? entry.live : entry.silent).push_back(AgentId{words[k]});
    if (!sorted_without_repeats(entry.live) || !sorted_without_repeats(entry.silent))
      return std::nullopt;
    words = words.subspan(live + silent);
    table[member] = std::move(entry);
  }
  return table;
}

LinkState::LinkState(AgentId self, std::span<const AgentId> neighbours, LinkStateOptions options)
    : self_(self), options_(options) {
  options_.data = options.data & (~std::uint32_t{0} >> slowness_bits);
  for (const AgentId neighbour : neighbours)
    links_.push_back({.neighbour = neighbour, .patience = options_.patience, .known = {}});
  publish();
}

void LinkState::add_neighbour(AgentId neighbour) {
  links_.push_back({.neighbour = neighbour, .patience = options_.patience, .known = {}});
  publish();
}

void LinkState::drop_neighbour(std::size_t slot) {
  links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(slot));
  publish();
}

void LinkState::age() {
  bool changed = measure_pace();
  for (Link& link : links_) {
    ++link.silence;
    if (link.silent || link.silence <= link.patience) continue;
    link.silent = true;
    changed = true;
  }
  if (changed) publish();
}

void LinkState::received_from(std::size_t slot) {
  Link& link = links_[slot];
  link.silence = 0;
  ++link.arrivals;
  if (!link.silent) return;
  link.silent = false;
  if (link.patience < most_patience) link.patience *= 2;
  publish();
}

void LinkState::set_live(std::size_t slot, bool live) {
  if (links_[slot].silent == !live) return;
  links_[slot].silent = !live;
  publish();
}

void LinkState::not_sent(std::size_t slot) {
  if (links_[slot].silence > 0) --links_[slot].silence;
}

/// Counts the messages that arrive for every own activation: an agent that receives several works
/// more slowly than its neighbours. A change of pace makes another tree, so that changes are rare.
bool LinkState::measure_pace() {
  constexpr double smoothing = 0.25, slow = 4;
  double arrivals = 0, live = 0;
  for (Link& link : links_) {
    if (!link.silent) {
      arrivals += link.arrivals;
      live += 1;
    }
    link.arrivals = 0;
  }
  if (activations_++ > 0 && live > 0) load_ += smoothing * (arrivals / live - load_);
  const auto level =
      load_ < slow ? 0u : std::min(most_slowness, static_cast<std::uint32_t>(std::log2(load_)));
  const bool differs = level > slowness_ || level + 1 < slowness_;
  if (!differs || activations_ < pace_fixed_until_) return false;
  slowness_ = level;
  pace_fixed_until_ = activations_ + pace_wait_;
  pace_wait_ *= 2;
  return true;
}

void LinkState::publish() {
  LinkStateEntry entry{
      .version = table_[self_].version + 1, .slowness = slowness_, .data = options_.data};
  for (const Link& link : links_)
    (link.silent ? entry.silent : entry.live).push_back(link.neighbour);
  std::ranges::sort(entry.live);
  std::ranges::sort(entry.silent);
  set_entry(self_, std::move(entry));
}

void LinkState::set_entry(AgentId member, LinkStateEntry entry) {
  LinkStateEntry& kept = table_[member];
  if (kept.version > 0) digest_ -= entry_hash(member, kept);
  kept = std::move(entry);
  digest_ += entry_hash(member, kept);
  outdated_ = true;
}

void LinkState::merge(std::span<const std::uint32_t> entries, std::size_t slot) {
  auto received = read_entries(entries);
  if (!received) return;
  for (auto& [member, entry] : *received) {
    std::uint32_t& known = links_[slot].known[member];
    known = std::max(known, entry.version);
    const auto kept = table_.find(member);
    if (member == self_) {
      // Someone knows a later state of this agent than it does: it was rolled back.
      LinkStateEntry& own = kept->second;
      if (entry.version < own.version || entry == own) continue;
      set_entry(self_, {.version = entry.version,
                        .slowness = own.slowness,
                        .data = own.data,
                        .live = own.live,
                        .silent = own.silent});
      publish();
    } else if (entry.version > 0 &&
               (kept == table_.end() || is_newer(member, entry, kept->second))) {
      set_entry(member, std::move(entry));
    }
  }
}

std::vector<std::uint32_t> LinkState::entries_for(std::size_t slot, bool whole) {
  std::vector<std::uint32_t> words;
  auto& known = links_[slot].known;
  for (const auto& [member, entry] : table_) {
    std::uint32_t& version = known[member];
    if (!whole && version >= entry.version) continue;
    append_entry(member, entry, words);
    version = entry.version;
  }
  return words;
}

void LinkState::refresh() {
  if (!outdated_) return;
  plan_ = derive();
  outdated_ = false;
}

std::vector<AgentId> LinkState::linked(AgentId member, bool with_silent) const {
  const auto end_of = [&](AgentId from, AgentId to) {
    const auto found = table_.find(from);
    if (found == table_.end()) return false;
    return lists(found->second.live, to) || (with_silent && lists(found->second.silent, to));
  };
  std::vector<AgentId> all;
  const LinkStateEntry& entry = table_.at(member);
  for (const auto* names : {&entry.live, &entry.silent})
    for (const AgentId name : *names)
      if (name != member && end_of(member, name) && end_of(name, member)) all.push_back(name);
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<AgentId> LinkState::component(bool with_silent) const {
  std::vector<AgentId> found{self_};
  std::map<AgentId, bool> seen{{self_, true}};
  for (std::size_t k = 0; k < found.size(); ++k)
    for (const AgentId next : linked(found[k], with_silent))
      if (!std::exchange(seen[next], true)) found.push_back(next);
  std::ranges::sort(found);
  return found;
}

/// The tree itself is only worked out of a complete table: before, it would change with every
/// message, and nobody would use it.
TreePlan LinkState::derive() const {
  TreePlan plan{.members = component(false)};
  const auto has_entry = [&](AgentId name) { return table_.contains(name); };
  plan.complete = std::ranges::all_of(plan.members, [&](AgentId member) {
    return std::ranges::all_of(table_.at(member).live, has_entry);
  });
  if (!plan.complete) return plan;
  plan.full =
      component(true) == plan.members && std::ranges::all_of(plan.members, [&](AgentId member) {
        return std::ranges::all_of(table_.at(member).silent, has_entry);
      });
  const auto position = [&](AgentId name) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(plan.members, name) -
                                      plan.members.begin());
  };
  MemberGraph graph;
  for (const AgentId member : plan.members) {
    graph.slowness.push_back(table_.at(member).slowness);
    auto& neighbours = graph.neighbours.emplace_back();
    for (const AgentId next : linked(member, false)) neighbours.push_back(position(next));
    plan.member_digest += hash_of(member.value);
    plan.data.push_back(table_.at(member).data);
  }
  const SpanningTree tree = plan_tree(graph);
  plan.id = graph_hash(plan.members, table_, graph);
  plan.root = plan.members[tree.root];
  plan.depth = tree.depth;
  const std::uint32_t self = position(self_);
  if (tree.parent[self] != SpanningTree::none) plan.parent = plan.members[tree.parent[self]];
  for (std::uint32_t k = 0; k < plan.members.size(); ++k)
    if (tree.parent[k] == self) plan.children.push_back(plan.members[k]);
  return plan;
}

void LinkState::save(ByteWriter& writer) const {
  for (const Link& link : links_) {
    writer.put(link.neighbour);
    writer.put(link.silence);
    writer.put(link.patience);
    writer.put(link.arrivals);
    writer.put(link.silent);
    writer.put(link.known.size());
    for (const auto& [member, version] : link.known) {
      writer.put(member);
      writer.put(version);
    }
  }
  std::vector<std::uint32_t> words;
  for (const auto& [member, entry] : table_) append_entry(member, entry, words);
  writer.put_bytes({reinterpret_cast<const char*>(words.data()), words.size() * sizeof(words[0])});
  writer.put(load_);
  writer.put(activations_);
  writer.put(pace_fixed_until_);
  writer.put(pace_wait_);
  writer.put(slowness_);
}

void LinkState::load(ByteReader& reader) {
  for (Link& link : links_) {
    AgentId neighbour;
    reader.get(neighbour);
    if (neighbour != link.neighbour) return reader.fail();
    reader.get(link.silence);
    reader.get(link.patience);
    reader.get(link.arrivals);
    reader.get(link.silent);
    std::size_t known = 0;
    reader.get(known);
    link.known.clear();
    for (std::size_t k = 0; k < known && reader.ok(); ++k) {
      AgentId member;
      reader.get(member);
      reader.get(link.known[member]);
    }
  }
  const std::string_view bytes = reader.get_bytes();
  std::vector<std::uint32_t> words(bytes.size() / sizeof(std::uint32_t));
  if (bytes.size() % sizeof(std::uint32_t) != 0) return reader.fail();
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  auto table = read_entries(words);
  if (!table || !table->contains(self_)) return reader.fail();
  table_.clear();
  digest_ = 0;
  for (auto& [member, entry] : *table) set_entry(member, std::move(entry));
  reader.get(load_);
  reader.get(activations_);
  reader.get(pace_fixed_until_);
  reader.get(pace_wait_);
  reader.get(slowness_);
  slowness_ = std::min(slowness_, most_slowness);
  if (reader.ok() && table_[self_].data != options_.data) publish();
  plan_ = {};
  outdated_ = true;
}

}  // namespace grove
