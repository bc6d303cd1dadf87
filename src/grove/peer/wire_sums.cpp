#include "grove/peer/wire_sums.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grove/sums/fixed_point.h"
#include "grove/sums/link_state.h"

namespace grove::peer {
namespace {

/// Numbers of a question or an answer beside vectors and matrices: values, certificates.
constexpr std::size_t most_scalars = 64;
constexpr int most_table_words = 1 << 19;
constexpr std::uint32_t most_kind = 255;
/// Larger ones would use up the numbers of waves: the newest wave wins, whoever sent it.
constexpr std::uint64_t most_wave_number = std::uint64_t{1} << 23;

std::size_t triangle(std::size_t d) { return d * (d + 1) / 2; }

template <class Numbers>
bool are_finite(const Numbers& numbers) {
  return std::ranges::all_of(numbers, [](auto number) { return std::isfinite(number); });
}

template <class Number>
std::span<const Number> span_of(const google::protobuf::RepeatedField<Number>& numbers) {
  return {numbers.data(), static_cast<std::size_t>(numbers.size())};
}

Violation too_long(std::string_view what, std::size_t size, std::size_t most) {
  return {RejectReason::wrong_dimension,
          fmt::format("{} of {} numbers, expected at most {}", what, size, most)};
}

std::size_t most_question(std::size_t d, bool curvature) {
  return 2 * d + most_scalars + (curvature ? triangle(d) : 0);
}

std::optional<Violation> validate(const v1::Wave& wave, std::size_t d, bool curvature) {
  const std::size_t most = most_question(d, curvature);
  if (span_of(wave.numbers()).size() > most)
    return too_long("wave", span_of(wave.numbers()).size(), most);
  if (span_of(wave.support()).size() > d) return too_long("support", wave.support().size(), d);
  if (wave.id() == 0 || wave.tree() == 0 || wave.kind() > most_kind ||
      wave.coarseness() > FixedPoint::coarsest)
    return Violation{RejectReason::malformed, "wave without an id, a tree or a known kind"};
  if (!std::ranges::all_of(wave.numbers(),
                           [](double number) { return std::abs(number) <= max_value; }))
    return Violation{RejectReason::not_finite, "wave is not finite"};
  return std::nullopt;
}

/// Numbers take two words, a matrix one word for each of its elements.
std::size_t most_words(std::size_t d) { return 2 * (d + most_scalars + triangle(d)) + 1; }

std::optional<Violation> validate(const v1::Sum& sum, std::size_t d, bool masked) {
  const std::size_t most = masked ? 0 : d + most_scalars + triangle(d);
  if (const std::size_t words = span_of(sum.words()).size(); words > (masked ? most_words(d) : 0))
    return too_long("masked sum", words, masked ? most_words(d) : 0);
  if (span_of(sum.numbers()).size() > most)
    return too_long("sum", span_of(sum.numbers()).size(), most);
  if (const std::size_t size = span_of(sum.matrix()).size(); size > (masked ? 0 : triangle(d)))
    return too_long("matrix", size, masked ? 0 : triangle(d));
  if (sum.wave() == 0 || sum.count() == 0 || sum.count() > max_members)
    return Violation{RejectReason::malformed,
                     fmt::format("sum of {} members of wave {}", sum.count(), sum.wave())};
  if (!are_finite(sum.numbers()) || !are_finite(sum.matrix()))
    return Violation{RejectReason::not_finite, "sum is not finite"};
  return std::nullopt;
}

}  // namespace

std::optional<Violation> validate(const v1::Sums& sums, const LinkShape& shape) {
  const auto d = static_cast<std::size_t>(shape.dimension);
  if (sums.table_size() > most_table_words)
    return Violation{RejectReason::malformed, fmt::format("table of {} words", sums.table_size())};
  if (!read_entries(span_of(sums.table())))
    return Violation{RejectReason::malformed, "entries of the table of links"};
  for (const std::uint64_t id :
       {sums.wave_known(), sums.sum_held(), sums.wave().id(), sums.sum().wave()})
    if (WaveId{id}.number() > most_wave_number)
      return Violation{RejectReason::absurd_sequence,
                       fmt::format("wave number {}", WaveId{id}.number())};
  if (sums.has_wave())
    if (auto violation = validate(sums.wave(), d, shape.curvature)) return violation;
  return sums.has_sum() ? validate(sums.sum(), d, shape.masked) : std::nullopt;
}

std::size_t max_sums_bytes(const LinkShape& shape) {
  const auto d = static_cast<std::size_t>(shape.dimension);
  constexpr std::size_t fixed = 256, number = sizeof(double), index = 5;  // a varint of 32 bits
  const std::size_t question = number * most_question(d, shape.curvature) + index * d;
  const std::size_t open = number * (d + most_scalars + triangle(d)) + sizeof(float) * triangle(d);
  return fixed + question + (shape.masked ? sizeof(std::uint64_t) * most_words(d) : open);
}

v1::Sums encode(const TreeFields& fields) {
  v1::Sums sums;
  sums.set_table_digest(fields.table_digest);
  sums.set_wave_known(fields.wave_known.value);
  sums.set_sum_held(fields.sum_held.value);
  sums.mutable_table()->Add(fields.table.begin(), fields.table.end());
  if (fields.wave) {
    v1::Wave& wave = *sums.mutable_wave();
    wave.set_id(fields.wave->id.value);
    wave.set_tree(fields.wave->tree);
    wave.set_root(fields.wave->root.value);
    wave.set_kind(fields.wave->kind);
    wave.set_coarseness(fields.wave->coarseness);
    wave.set_wants_matrix(fields.wave->wants_matrix);
    wave.set_wants_sum(fields.wave->wants_sum);
    wave.mutable_numbers()->Add(fields.wave->numbers.begin(), fields.wave->numbers.end());
    wave.mutable_support()->Add(fields.wave->support.begin(), fields.wave->support.end());
  }
  if (fields.sum) {
    v1::Sum& sum = *sums.mutable_sum();
    sum.set_wave(fields.sum->wave.value);
    sum.set_members(fields.sum->members);
    sum.set_count(fields.sum->count);
    sum.mutable_numbers()->Add(fields.sum->numbers.begin(), fields.sum->numbers.end());
    sum.mutable_matrix()->Add(fields.sum->matrix.begin(), fields.sum->matrix.end());
    sum.mutable_words()->Add(fields.sum->words.begin(), fields.sum->words.end());
  }
  return sums;
}

TreeFields decode(const v1::Sums& sums) {
  TreeFields fields{.table_digest = sums.table_digest(),
                    .wave_known = {sums.wave_known()},
                    .sum_held = {sums.sum_held()},
                    .table = span_of(sums.table()),
                    .wave = {},
                    .sum = {}};
  if (sums.has_wave()) {
    const v1::Wave& wave = sums.wave();
    fields.wave = WaveItem{.id = {wave.id()},
                           .tree = wave.tree(),
                           .root = AgentId{wave.root()},
                           .kind = static_cast<std::uint8_t>(wave.kind()),
                           .coarseness = static_cast<std::uint8_t>(wave.coarseness()),
                           .wants_matrix = wave.wants_matrix(),
                           .wants_sum = wave.wants_sum(),
                           .numbers = span_of(wave.numbers()),
                           .support = span_of(wave.support())};
  }
  if (sums.has_sum())
    fields.sum = SumItem{.wave = {sums.sum().wave()},
                         .members = sums.sum().members(),
                         .count = sums.sum().count(),
                         .numbers = span_of(sums.sum().numbers()),
                         .matrix = span_of(sums.sum().matrix()),
                         .words = span_of(sums.sum().words())};
  return fields;
}

/// Entries of the newer table come last: a reader keeps the last one of a member.
void keep_items(v1::Sums& older, v1::Sums& newer) {
  if (older.table_size() > 0 && older.table_size() + newer.table_size() <= most_table_words) {
    older.mutable_table()->MergeFrom(newer.table());
    newer.mutable_table()->Swap(older.mutable_table());
  }
  if (older.has_wave() && !newer.has_wave()) newer.mutable_wave()->Swap(older.mutable_wave());
  if (older.has_sum() && !newer.has_sum()) newer.mutable_sum()->Swap(older.mutable_sum());
}

}  // namespace grove::peer
