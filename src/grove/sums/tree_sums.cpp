#include "grove/sums/tree_sums.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "grove/sums/hash.h"

namespace grove {
namespace {

WaveId identify(std::uint64_t number, const Wave& wave, std::uint64_t activation) {
  WordHash hash;
  const Question& question = wave.question;
  hash.add(question.kind);
  hash.add(question.coarseness);
  hash.add((question.wants_matrix ? 2u : 0u) + (question.wants_sum ? 1u : 0u));
  hash.add(question.numbers);
  hash.add(question.support);
  hash.add(wave.tree);
  hash.add(wave.root.value);
  hash.add(activation);
  return WaveId::of(number, hash.value());
}

/// Rounded to single precision; what it cannot hold is its largest number.
std::vector<float> rounded(const std::vector<double>& numbers) {
  static constexpr double largest = std::numeric_limits<float>::max();
  std::vector<float> result(numbers.size());
  std::ranges::transform(numbers, result.begin(), [](double number) {
    return static_cast<float>(std::clamp(number, -largest, largest));
  });
  return result;
}

template <class Number>
void put_numbers(ByteWriter& writer, const std::vector<Number>& numbers) {
  writer.put_bytes(
      {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)});
}

template <class Number>
void get_numbers(ByteReader& reader, std::vector<Number>& numbers) {
  const std::string_view bytes = reader.get_bytes();
  if (!reader.ok() || bytes.size() % sizeof(Number) != 0) return reader.fail();
  numbers.resize(bytes.size() / sizeof(Number));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
}

void put_answers(ByteWriter& writer, const Answers& answers) {
  put_numbers(writer, answers.numbers);
  put_numbers(writer, answers.matrix);
  put_numbers(writer, answers.words);
  writer.put(answers.count);
  writer.put(answers.members);
}

void get_answers(ByteReader& reader, Answers& answers) {
  get_numbers(reader, answers.numbers);
  get_numbers(reader, answers.matrix);
  get_numbers(reader, answers.words);
  reader.get(answers.count);
  reader.get(answers.members);
}

}  // namespace

Question question_of(const WaveItem& item) {
  return {.kind = item.kind,
          .wants_matrix = item.wants_matrix,
          .wants_sum = item.wants_sum,
          .coarseness = item.coarseness,
          .numbers = {item.numbers.begin(), item.numbers.end()},
          .support = {item.support.begin(), item.support.end()}};
}

TreeSums::TreeSums(AgentId self, std::span<const AgentId> neighbours, LinkStateOptions options,
                   std::optional<MaskOptions> masks)
    : self_(self), links_(self, neighbours, options) {
  if (masks) masks_.emplace(self, std::move(*masks));
  for (const AgentId id : neighbours) neighbours_.push_back({.id = id, .sum = {}, .sent = {}});
  outgoing_.resize(neighbours_.size());
}

void TreeSums::begin_activation() {
  ++activations_;
  news_ = false;
  links_.age();
  const std::uint64_t before = plan().id;
  links_.refresh();
  if (!total_ || plan().id != before) add_up();
}

bool TreeSums::needs_wave() const {
  if (!leads()) return false;
  return wave_.root != self_ || !wave_.id.known() || wave_.tree != plan().id || overtaken();
}

bool TreeSums::overtaken() const {
  return std::ranges::any_of(
      neighbours_, [&](const Neighbour& neighbour) { return neighbour.wave_known > wave_.id; });
}

std::uint64_t TreeSums::next_wave_number() const {
  std::uint64_t newest = wave_.id.number();
  for (const Neighbour& neighbour : neighbours_)
    newest = std::max(newest, neighbour.wave_known.number());
  return newest + 1;
}

void TreeSums::begin(Question question) {
  assert(leads());
  const std::uint64_t number = next_wave_number();
  wave_ = {.id = {}, .tree = plan().id, .root = self_, .question = std::move(question)};
  wave_.id = identify(number, wave_, activations_);
  own_.reset();
  total_.reset();
}

bool TreeSums::children_answered() const {
  return std::ranges::all_of(plan().children, [&](AgentId child) {
    return neighbours_[slot_of(child)].answered == wave_.id;
  });
}

bool TreeSums::wants_answer() const {
  return !links_.outdated() && wave_.id.known() && wave_.question.wants_sum &&
         wave_.tree == plan().id && !own_ && (passed_on_ == wave_.id || children_answered()) &&
         (!masks_ || may_mask());
}

std::vector<MaskedMember> TreeSums::masked_members() const {
  std::vector<MaskedMember> members;
  for (std::size_t k = 0; k < plan().members.size(); ++k)
    members.push_back({plan().members[k], plan().data[k]});
  return members;
}

bool TreeSums::may_mask() const {
  return plan().members.size() >= fewest_masked && masks_->ready_for(masked_members());
}

FixedPoint TreeSums::shape_of(const Answers& own) const {
  return {.numbers = own.numbers.size(),
          .elements = own.matrix.size(),
          .coarseness = wave_.question.coarseness,
          .members = plan().members.size()};
}

/// All that the answers of a wave depend on: masks are never used for two contents.
MaskKey TreeSums::wave_context() const {
  ByteWriter writer;
  writer.put(wave_.id);
  writer.put(wave_.tree);
  writer.put(wave_.root);
  const Question& question = wave_.question;
  writer.put(question.kind);
  writer.put(question.wants_matrix);
  writer.put(question.coarseness);
  put_numbers(writer, question.numbers);
  put_numbers(writer, question.support);
  for (const MaskedMember& member : masked_members()) {
    writer.put(member.id);
    writer.put(member.data);
  }
  return context_of(writer.bytes());
}

void TreeSums::mask(Answers& own, bool refuses) {
  const FixedPoint shape = shape_of(own);
  const MaskKey context = wave_context();
  own.words = refuses ? masks_->noise(context, shape) : shape.encode(own.numbers, own.matrix);
  masks_->add(masked_members(), context, shape, own.words);
}

void TreeSums::refuse(Answers own) {
  assert(masks_);
  mask(own, true);
  answer(std::move(own));
}

void TreeSums::answer(Answers own) {
  if (masks_ && own.words.empty()) mask(own, false);
  own.count = 1;
  own.members = hash_of(self_.value);
  own_ = std::move(own);
  add_up();
}

/// Adds the children in the order of their names to the own answer.
void TreeSums::add_up() {
  total_.reset();
  if (!own_ || wave_.tree != plan().id || !wave_.question.wants_sum || !children_answered()) return;
  Answers total = *own_;
  if (masks_) {
    total.numbers.clear();
    total.matrix.clear();
  }
  for (const AgentId child : plan().children)
    if (!add_part(neighbours_[slot_of(child)].sum, total)) return;
  const bool whole = total.count == plan().members.size() && total.members == plan().member_digest;
  if (!plan().parent && !whole) {
    ++refused_totals_;
    return;
  }
  if (masks_ && !plan().parent) {
    auto decoded = shape_of(*own_).decode(total.words);
    total.numbers = std::move(decoded.numbers);
    total.matrix = std::move(decoded.matrix);
    total.overflowed = decoded.overflowed;
    total.refused = decoded.refused;
  }
  total_ = std::move(total);
}

/// False where the part is not an answer to this question.
bool TreeSums::add_part(const Answers& part, Answers& total) const {
  if (part.numbers.size() != total.numbers.size() || part.matrix.size() != total.matrix.size() ||
      part.words.size() != total.words.size())
    return false;
  for (std::size_t k = 0; k < part.numbers.size(); ++k) total.numbers[k] += part.numbers[k];
  for (std::size_t k = 0; k < part.matrix.size(); ++k) total.matrix[k] += part.matrix[k];
  if (masks_) add_words(shape_of(*own_), part.words, total.words);
  total.count += part.count;
  total.members += part.members;
  return true;
}

bool TreeSums::settled() const {
  return !links_.outdated() && plan().complete && plan().full && wave_.tree == plan().id &&
         !overtaken();
}

std::size_t TreeSums::slot_of(AgentId id) const {
  const auto found = std::ranges::find(neighbours_, id, &Neighbour::id);
  assert(found != neighbours_.end());  // parents and children are neighbours
  return static_cast<std::size_t>(found - neighbours_.begin());
}

bool TreeSums::is_tree_neighbour(AgentId id) const {
  return plan().parent == id || std::ranges::binary_search(plan().children, id);
}

/// An item goes out when it is new, and again when it should have been acknowledged by now.
bool TreeSums::is_due(Neighbour& neighbour, Item item, std::uint64_t key) {
  constexpr double shortest = 2, longest = 64;
  Sent& sent = neighbour.sent[item];
  if (sent.times == 0 || sent.key != key) {
    sent = {.key = key, .at = activations_, .times = 1};
    return true;
  }
  const double wait = std::clamp(std::ceil(1.25 * neighbour.answer_time), shortest, longest);
  if (activations_ < sent.at + static_cast<std::uint64_t>(wait)) return false;
  sent.at = activations_;
  ++sent.times;
  return true;
}

void TreeSums::prepare_messages() {
  sent_digest_ = links_.digest();
  sent_wave_ = wave_;
  if (total_ && sent_sum_wave_ != wave_.id && plan().parent) {
    sent_sum_ = *total_;
    sent_sum_wave_ = wave_.id;
    sent_matrix_ = rounded(total_->matrix);
  }
  for (std::size_t slot = 0; slot < neighbours_.size(); ++slot) {
    Neighbour& neighbour = neighbours_[slot];
    Outgoing& out = outgoing_[slot];
    out = {.sum_held = neighbour.answered, .table = {}};
    if ((!neighbour.known || neighbour.table_digest != sent_digest_) &&
        is_due(neighbour, table_item, sent_digest_))
      out.table = links_.entries_for(slot, neighbour.sent[table_item].times > 1);
    if (!is_tree_neighbour(neighbour.id)) continue;
    out.wave = wave_.id.known() && (!neighbour.known || neighbour.wave_known < wave_.id) &&
               is_due(neighbour, wave_item, wave_.id.value);
    out.sum = plan().parent == neighbour.id && total_ && neighbour.sum_held != wave_.id &&
              is_due(neighbour, sum_item, wave_.id.value);
  }
  passed_on_ = wave_.id;
}

TreeFields TreeSums::fields_to(std::size_t slot) const {
  const Outgoing& out = outgoing_[slot];
  TreeFields fields{.table_digest = sent_digest_,
                    .wave_known = sent_wave_.id,
                    .sum_held = out.sum_held,
                    .table = out.table,
                    .wave = {},
                    .sum = {}};
  if (out.wave)
    fields.wave = WaveItem{.id = sent_wave_.id,
                           .tree = sent_wave_.tree,
                           .root = sent_wave_.root,
                           .kind = sent_wave_.question.kind,
                           .coarseness = sent_wave_.question.coarseness,
                           .wants_matrix = sent_wave_.question.wants_matrix,
                           .wants_sum = sent_wave_.question.wants_sum,
                           .numbers = sent_wave_.question.numbers,
                           .support = sent_wave_.question.support};
  if (out.sum)
    fields.sum = SumItem{.wave = sent_sum_wave_,
                         .members = sent_sum_.members,
                         .count = sent_sum_.count,
                         .numbers = sent_sum_.numbers,
                         .matrix = sent_matrix_,
                         .words = sent_sum_.words};
  return fields;
}

void TreeSums::not_sent(std::size_t slot) {
  links_.not_sent(slot);
  for (Sent& sent : neighbours_[slot].sent)
    if (sent.at == activations_) sent = {};
}

/// Only items that were sent once are measured (Karn and Partridge 1987).
void TreeSums::measure_answer_time(Neighbour& neighbour, const TreeFields& fields) {
  constexpr double smoothing = 0.25;
  const auto measure = [&](Sent& sent, WaveId acknowledged) {
    if (sent.times != 1 || acknowledged.value < sent.key) return;
    const auto activations = static_cast<double>(activations_ - sent.at + 1);
    neighbour.answer_time += smoothing * (activations - neighbour.answer_time);
    sent.times = 2;
  };
  measure(neighbour.sent[wave_item], fields.wave_known);
  measure(neighbour.sent[sum_item], fields.sum_held);
}

void TreeSums::receive(std::size_t slot, std::uint64_t sequence, const TreeFields& fields) {
  Neighbour& neighbour = neighbours_[slot];
  if (!neighbour.known || sequence > neighbour.sequence) {
    measure_answer_time(neighbour, fields);
    neighbour.known = true;
    neighbour.sequence = sequence;
    neighbour.table_digest = fields.table_digest;
    neighbour.wave_known = fields.wave_known;
    neighbour.sum_held = fields.sum_held;
    links_.received_from(slot);
  }
  links_.merge(fields.table, slot);
  news_ = news_ || links_.outdated() || fields.table_digest != links_.digest() ||
          fields.wave_known > wave_.id;
  if (const auto& wave = fields.wave; wave && wave->id > wave_.id) {
    wave_ = {
        .id = wave->id, .tree = wave->tree, .root = wave->root, .question = question_of(*wave)};
    own_.reset();
    total_.reset();
    news_ = true;
  }
  if (fields.sum) take_sum(neighbour, *fields.sum);
}

void TreeSums::take_sum(Neighbour& neighbour, const SumItem& sum) {
  if (sum.wave <= neighbour.answered) return;
  neighbour.answered = sum.wave;
  news_ = true;
  neighbour.sum = {.numbers = {sum.numbers.begin(), sum.numbers.end()},
                   .matrix = {sum.matrix.begin(), sum.matrix.end()},
                   .words = {sum.words.begin(), sum.words.end()},
                   .count = sum.count,
                   .members = sum.members};
}

void TreeSums::add_neighbour(AgentId neighbour) {
  neighbours_.push_back({.id = neighbour, .sum = {}, .sent = {}});
  outgoing_.emplace_back();
  links_.add_neighbour(neighbour);
}

void TreeSums::drop_neighbour(std::size_t slot) {
  neighbours_.erase(neighbours_.begin() + static_cast<std::ptrdiff_t>(slot));
  outgoing_.erase(outgoing_.begin() + static_cast<std::ptrdiff_t>(slot));
  links_.drop_neighbour(slot);
}

void TreeSums::set_live(std::size_t slot, bool live) {
  links_.set_live(slot, live);
  news_ = news_ || links_.outdated();
}

void TreeSums::save(ByteWriter& writer) const {
  writer.put(neighbours_.size());
  for (const Neighbour& neighbour : neighbours_) {
    writer.put(neighbour.sequence);
    writer.put(neighbour.known);
    writer.put(neighbour.table_digest);
    writer.put(neighbour.wave_known);
    writer.put(neighbour.sum_held);
    writer.put(neighbour.answered);
    put_answers(writer, neighbour.sum);
    writer.put(neighbour.answer_time);
    for (const Sent& sent : neighbour.sent) {
      writer.put(sent.key);
      writer.put(sent.at);
      writer.put(sent.times);
    }
  }
  links_.save(writer);
  writer.put(wave_.id);
  writer.put(wave_.tree);
  writer.put(wave_.root);
  writer.put(wave_.question.kind);
  writer.put(wave_.question.wants_matrix);
  writer.put(wave_.question.wants_sum);
  writer.put(wave_.question.coarseness);
  put_numbers(writer, wave_.question.numbers);
  put_numbers(writer, wave_.question.support);
  writer.put(activations_);
  writer.put(passed_on_);
  writer.put(own_.has_value());
  if (own_) put_answers(writer, *own_);
}

void TreeSums::load(ByteReader& reader) {
  std::size_t neighbours = 0;
  reader.get(neighbours);
  if (!reader.ok() || neighbours != neighbours_.size()) return reader.fail();
  for (Neighbour& neighbour : neighbours_) {
    reader.get(neighbour.sequence);
    reader.get(neighbour.known);
    reader.get(neighbour.table_digest);
    reader.get(neighbour.wave_known);
    reader.get(neighbour.sum_held);
    reader.get(neighbour.answered);
    get_answers(reader, neighbour.sum);
    reader.get(neighbour.answer_time);
    for (Sent& sent : neighbour.sent) {
      reader.get(sent.key);
      reader.get(sent.at);
      reader.get(sent.times);
    }
  }
  links_.load(reader);
  reader.get(wave_.id);
  reader.get(wave_.tree);
  reader.get(wave_.root);
  reader.get(wave_.question.kind);
  reader.get(wave_.question.wants_matrix);
  reader.get(wave_.question.wants_sum);
  reader.get(wave_.question.coarseness);
  get_numbers(reader, wave_.question.numbers);
  get_numbers(reader, wave_.question.support);
  reader.get(activations_);
  reader.get(passed_on_);
  bool answered = false;
  reader.get(answered);
  own_.reset();
  total_.reset();
  if (answered) get_answers(reader, own_.emplace());
  sent_sum_wave_ = {};
  news_ = true;
}

}  // namespace grove
