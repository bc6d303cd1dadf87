#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "grove/base/bytes.h"
#include "grove/base/types.h"

namespace grove {

/// What one member publishes about its own links. A link exists where both ends list each other.
struct LinkStateEntry {
  std::uint32_t version = 0;
  std::uint32_t slowness = 0;   ///< logarithm of how much slower than its neighbours it works
  std::uint32_t data = 0;       ///< identifies what it sums over; below 2^27
  std::vector<AgentId> live;    ///< neighbours from which messages arrive, sorted
  std::vector<AgentId> silent;  ///< neighbours from which none have for long, sorted

  bool operator==(const LinkStateEntry&) const = default;
};

using LinkStateTable = std::map<AgentId, LinkStateEntry>;

/// Entries as messages carry them, as words of 32 bits one after the other: member, version,
/// data and slowness in one word, the numbers of live and silent neighbours in two halves of one
/// word, their names.
void append_entry(AgentId member, const LinkStateEntry& entry, std::vector<std::uint32_t>& words);
/// Nothing where the words are not those of entries.
std::optional<LinkStateTable> read_entries(std::span<const std::uint32_t> words);

/// The place of one member in the tree that all members derive from equal tables.
struct TreePlan {
  std::vector<AgentId> members;     ///< present, sorted: connected by live links
  std::uint64_t id = 0;             ///< of members, their data and links, 0: no tree yet
  std::uint64_t member_digest = 0;  ///< sum of the hashes of the members
  std::vector<std::uint32_t> data;  ///< of the members, in their order
  std::optional<AgentId> parent;    ///< none at the root
  std::vector<AgentId> children;    ///< sorted
  AgentId root;
  std::size_t depth = 0;
  bool complete = false;  ///< every live neighbour of a member has an entry
  bool full = false;      ///< nobody is missing: silent links would add no member
};

struct LinkStateOptions {
  static constexpr std::uint32_t default_patience = 40, told = ~std::uint32_t{0};

  /// Own activations without a message after which a neighbour is silent. `told`: they are not
  /// counted, and set_live() says who is silent.
  std::uint32_t patience = default_patience;
  std::uint32_t data = 0;  ///< identifies the member's data; the lower 27 bits count
};

/// The table of one member: gossiped link-state entries, from which all members derive the same
/// tree without electing anybody. Newer versions win.
class LinkState {
 public:
  LinkState(AgentId self, std::span<const AgentId> neighbours, LinkStateOptions options = {});

  void add_neighbour(AgentId neighbour);
  void drop_neighbour(std::size_t slot);
  /// One more activation: neighbours that have been silent for long are published as such.
  void age();
  void received_from(std::size_t slot);
  /// The runtime knows whether the neighbour can be reached.
  void set_live(std::size_t slot, bool live);
  /// The neighbour could not be given the last message: its silence is not its fault.
  void not_sent(std::size_t slot);
  void merge(std::span<const std::uint32_t> entries, std::size_t slot);
  /// Versions since the state was loaded may have been used before.
  void start_new_epoch() { publish(); }

  /// Entries that the neighbour in that slot is not known to have; all where `whole`. They count as
  /// known from then on.
  std::vector<std::uint32_t> entries_for(std::size_t slot, bool whole);

  std::uint64_t digest() const { return digest_; }
  const LinkStateTable& table() const { return table_; }
  /// Up to date after refresh().
  const TreePlan& plan() const { return plan_; }
  bool outdated() const { return outdated_; }
  void refresh();  ///< derives the plan anew where the table has changed

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Link {
    AgentId neighbour;
    std::uint32_t silence = 0;   ///< own activations since the last message
    std::uint32_t patience = 0;  ///< doubles with every false alarm, so that tree changes end
    std::uint32_t arrivals = 0;  ///< messages since the last own activation
    bool silent = false;
    std::map<AgentId, std::uint32_t> known;  ///< versions that were sent to or received from it
  };

  void publish();
  void set_entry(AgentId member, LinkStateEntry entry);
  bool measure_pace();
  TreePlan derive() const;
  std::vector<AgentId> component(bool with_silent) const;
  std::vector<AgentId> linked(AgentId member, bool with_silent) const;

  AgentId self_;
  LinkStateOptions options_;
  std::vector<Link> links_;  ///< by slot
  LinkStateTable table_;
  std::uint64_t digest_ = 0;  ///< sum of the hashes of all entries
  double load_ = 1;           ///< messages of a neighbour per own activation, smoothed
  std::uint64_t activations_ = 0;
  std::uint64_t pace_fixed_until_ = 0;  ///< activation; the wait doubles with every change
  std::uint64_t pace_wait_ = 16;
  std::uint32_t slowness_ = 0;
  bool outdated_ = true;
  TreePlan plan_;
};

}  // namespace grove
