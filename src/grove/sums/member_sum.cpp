#include "grove/sums/member_sum.h"

#include <algorithm>
#include <cmath>

namespace grove {
namespace {

constexpr std::uint8_t ask = 0, announce = 1;  ///< kinds of waves

}  // namespace

MemberSum::MemberSum(AgentId self, std::span<const AgentId> neighbours, std::vector<double> numbers,
                     LinkStateOptions links, std::optional<MaskOptions> masks)
    : numbers_(std::move(numbers)), sums_(self, neighbours, links, std::move(masks)) {}

void MemberSum::activate() {
  sums_.begin_activation();
  if (sums_.needs_wave()) sums_.begin({.kind = ask, .numbers = {}, .support = {}});
  if (sums_.wants_answer()) {
    Answers own;
    own.numbers = numbers_;
    sums_.answer(std::move(own));
  }
  if (const Answers* total = sums_.total(); total != nullptr && sums_.leads()) {
    std::vector<double> numbers = total->numbers;
    sums_.begin(
        {.kind = announce, .wants_sum = false, .numbers = std::move(numbers), .support = {}});
  }
  sums_.prepare_messages();
}

std::optional<MemberSum::Result> MemberSum::result() const {
  const Wave& wave = sums_.wave();
  if (!wave.id.known() || wave.question.kind != announce || !sums_.settled()) return std::nullopt;
  return Result{wave.question.numbers, sums_.plan().members};
}

std::vector<double> column_sums(double rows, std::span<const double> sums,
                                std::span<const double> squares) {
  std::vector<double> numbers{rows};
  numbers.insert(numbers.end(), sums.begin(), sums.end());
  numbers.insert(numbers.end(), squares.begin(), squares.end());
  return numbers;
}

std::optional<ColumnScales> column_scales(std::span<const double> total) {
  if (total.size() % 2 != 1 || !(total[0] > 0)) return std::nullopt;
  const std::size_t columns = total.size() / 2;
  ColumnScales scales{.rows = total[0], .means = {}, .deviations = {}};
  for (std::size_t k = 0; k < columns; ++k) {
    const double mean = total[1 + k] / total[0];
    scales.means.push_back(mean);
    scales.deviations.push_back(
        std::sqrt(std::max(0.0, total[1 + columns + k] / total[0] - mean * mean)));
  }
  return scales;
}

}  // namespace grove
