#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "grove/agent/message.h"
#include "grove/base/bytes.h"
#include "grove/sums/link_state.h"
#include "grove/sums/masks.h"

namespace grove {

/// What the root asks of all members.
struct Question {
  std::uint8_t kind = 0;        ///< meaning of the numbers: the user's own
  bool wants_matrix = false;    ///< answers have a matrix beside their numbers
  bool wants_sum = true;        ///< false: an announcement that nobody answers
  std::uint8_t coarseness = 0;  ///< of masked answers
  std::vector<double> numbers;
  std::vector<std::uint32_t> support;  ///< coordinates of the matrix; none: all of them
};

Question question_of(const WaveItem& item);

/// A question under way.
struct Wave {
  WaveId id;
  std::uint64_t tree = 0;
  AgentId root;
  Question question;
};

/// The answer of one member, or a sum of answers.
struct Answers {
  std::vector<double> numbers;
  std::vector<double> matrix;        ///< travels in single precision
  std::vector<std::uint64_t> words;  ///< both in fixed point, masked; empty without masks
  std::uint32_t overflowed = 0;      ///< members with numbers too large for fixed point
  std::uint32_t refused = 0;         ///< members that refused to answer: the numbers mean nothing
  std::uint32_t count = 1;           ///< members that were counted
  std::uint64_t members = 0;         ///< sum of their hashes
};

/// Exact sums over the members present, without a coordinator: a state machine that does no I/O.
///
/// The root of the tree that all members derive from their tables of links sends a question down;
/// sums of answers come up. A sum belongs to one wave, a wave to one tree, a tree to one table, and
/// an agent adds only what its children of that tree send: nothing is counted twice, whatever is
/// lost, late, repeated or restarted. The root checks count and member digest of every total, and
/// uses none that differs from the members of its tree.
///
/// With masks, answers travel in fixed point, each under masks that cancel only in the total
/// (sums/masks.h). Fewer than three members do not answer: one of two knows the other's part.
///
/// In an activation: begin_activation; at the root of a complete table begin() where needs_wave(),
/// and whenever a total() leads to another question; answer() where wants_answer(); then
/// prepare_messages.
class TreeSums {
 public:
  static constexpr std::size_t fewest_masked = 3;  ///< members

  TreeSums(AgentId self, std::span<const AgentId> neighbours, LinkStateOptions options = {},
           std::optional<MaskOptions> masks = {});

  void begin_activation();
  /// This agent is the root, and knows all members that are present.
  bool leads() const { return plan().complete && plan().root == self_; }
  /// It leads, but the newest wave is not its own, or was meant for another tree.
  bool needs_wave() const;
  void begin(Question question);
  /// The present wave is meant for this tree and has not been answered. An agent with children
  /// passes a wave on before it works out its answer, unless they have answered already.
  bool wants_answer() const;
  void answer(Answers own);
  /// With masks: a total of noise, of which the root learns that this agent refused.
  void refuse(Answers own);
  bool masked() const { return masks_.has_value(); }
  /// Of the subtree below and including this agent; null before all its parts are there.
  const Answers* total() const { return total_ ? &*total_ : nullptr; }
  void prepare_messages();

  const Wave& wave() const { return wave_; }
  const TreePlan& plan() const { return links_.plan(); }
  /// The present wave was answered by, or announced to, the members that are present, and nobody is
  /// missing.
  bool settled() const;
  std::uint64_t next_wave_number() const;
  /// Totals whose count or member digest was not that of the tree: 0 unless a member sends
  /// nonsense.
  std::uint64_t refused_totals() const { return refused_totals_; }

  /// What the latest prepare_messages() has for that neighbour. Spans are valid until the next.
  TreeFields fields_to(std::size_t slot) const;
  void not_sent(std::size_t slot);
  /// Something has arrived that the next activation acts on, or an answer is due.
  bool has_work() const { return news_ || wants_answer(); }
  /// Items count even in messages that were overtaken; the rest obeys the sequence.
  void receive(std::size_t slot, std::uint64_t sequence, const TreeFields& fields);

  void add_neighbour(AgentId neighbour);
  void drop_neighbour(std::size_t slot);
  void set_live(std::size_t slot, bool live);
  void start_new_epoch() { links_.start_new_epoch(); }

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  enum Item : std::size_t { table_item, wave_item, sum_item, items };

  /// An item as it was last sent to a neighbour.
  struct Sent {
    std::uint64_t key = 0;    ///< digest or wave id; 0: never
    std::uint64_t at = 0;     ///< own activation
    std::uint32_t times = 0;  ///< answer times are measured on items that were sent once
  };
  struct Neighbour {
    AgentId id;
    std::uint64_t sequence = 0;  ///< of the newest message
    bool known = false;          ///< a message has arrived
    std::uint64_t table_digest = 0;
    WaveId wave_known, sum_held;
    WaveId answered;  ///< wave of the newest sum from it
    Answers sum;
    double answer_time = 1;  ///< own activations until an item is acknowledged, smoothed
    Sent sent[items];
  };
  /// What goes to one neighbour now.
  struct Outgoing {
    WaveId sum_held;
    std::vector<std::uint32_t> table;
    bool wave = false, sum = false;
  };

  bool overtaken() const;  ///< a neighbour knows a newer wave
  bool is_due(Neighbour& neighbour, Item item, std::uint64_t key);
  void measure_answer_time(Neighbour& neighbour, const TreeFields& fields);
  void take_sum(Neighbour& neighbour, const SumItem& sum);
  bool is_tree_neighbour(AgentId id) const;
  bool children_answered() const;
  void add_up();
  bool add_part(const Answers& part, Answers& total) const;
  FixedPoint shape_of(const Answers& own) const;
  void mask(Answers& own, bool refuses);
  MaskKey wave_context() const;
  std::vector<MaskedMember> masked_members() const;
  bool may_mask() const;
  std::size_t slot_of(AgentId id) const;

  AgentId self_;
  LinkState links_;
  std::optional<Masks> masks_;
  std::vector<Neighbour> neighbours_;  ///< by slot
  Wave wave_;
  std::uint64_t activations_ = 0;
  WaveId passed_on_;            ///< sent to the children in an earlier activation
  std::optional<Answers> own_;  ///< the answer to wave_
  std::optional<Answers> total_;
  std::uint64_t refused_totals_ = 0;
  bool news_ = true;  ///< since the latest activation

  // As of the latest prepare_messages(): receiving does not change them.
  Wave sent_wave_;
  std::uint64_t sent_digest_ = 0;
  std::vector<float> sent_matrix_;
  Answers sent_sum_;
  WaveId sent_sum_wave_;
  std::vector<Outgoing> outgoing_;
};

}  // namespace grove
