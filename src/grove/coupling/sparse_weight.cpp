#include "grove/coupling/sparse_weight.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "grove/problem/symmetric.h"

namespace grove {
namespace {

constexpr double steps_an_octave = 8;
constexpr int code_count = 256;

std::size_t packed_size(std::size_t support) { return support * (support + 1) / 2; }

void hash(const void* data, std::size_t bytes, std::uint32_t& value) {
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t k = 0; k < bytes; ++k) value = (value ^ at[k]) * 16777619;
}

}  // namespace

std::size_t SparseWeight::largest_support(Index dimension) {
  const double most = std::min(1000.0, 4 * std::sqrt(static_cast<double>(dimension)));
  return static_cast<std::size_t>(std::max(200.0, most));
}

double SparseWeight::step_down(std::uint8_t code) {
  static const std::array<double, code_count> table = [] {
    std::array<double, code_count> result{};
    for (int k = 0; k < code_count; ++k)
      result[static_cast<std::size_t>(k)] = std::exp2(-k / steps_an_octave);
    return result;
  }();
  return table[code];
}

SparseWeight::SparseWeight(const Vector& diagonal, std::vector<std::uint32_t> support,
                           const Matrix& block)
    : support_(std::move(support)) {
  const auto largest =
      static_cast<float>(std::clamp<double>(diagonal.maxCoeff(), 1e-30, 1e30) * (1 + 1e-6));
  numbers_.reserve(1 + packed_size(support_.size()));
  numbers_.push_back(largest);
  codes_.resize(static_cast<std::size_t>(diagonal.size()));
  for (Index k = 0; k < diagonal.size(); ++k) {
    const double steps = std::floor(-steps_an_octave * std::log2(diagonal[k] / largest));
    codes_[static_cast<std::size_t>(k)] =  // 0 of what is not finite
        steps > 0 ? static_cast<std::uint8_t>(std::min<double>(steps, code_count - 1)) : 0;
  }
  for (Index column = 0; column < std::ssize(support_); ++column) {
    const auto k = static_cast<Index>(support_[static_cast<std::size_t>(column)]);
    numbers_.push_back(static_cast<float>(diagonal[k] - coded(k)));
    for (Index row = column + 1; row < std::ssize(support_); ++row)
      numbers_.push_back(static_cast<float>(block(row, column)));
  }
}

SparseWeight SparseWeight::from_message(Index dimension, std::span<const float> numbers,
                                        const SparseFields& fields) {
  SparseWeight result;
  if (static_cast<Index>(fields.codes.size()) != dimension ||
      fields.support.size() > largest_support(dimension) ||
      numbers.size() != 1 + packed_size(fields.support.size()))
    return result;
  for (std::size_t k = 0; k < fields.support.size(); ++k)
    if (static_cast<Index>(fields.support[k]) >= dimension ||
        (k > 0 && fields.support[k] <= fields.support[k - 1]))
      return result;
  result.numbers_.assign(numbers.begin(), numbers.end());
  result.codes_.assign(fields.codes.begin(), fields.codes.end());
  result.support_.assign(fields.support.begin(), fields.support.end());
  return result;
}

bool SparseWeight::is_positive_definite(Index dimension, std::span<const float> numbers,
                                        const SparseFields& fields) {
  constexpr float largest = 1e35f;
  const SparseWeight weight = from_message(dimension, numbers, fields);
  if (!weight.known() || !(weight.numbers_[0] > 1e-35f)) return false;
  if (!std::ranges::all_of(numbers, [](float number) { return std::abs(number) <= largest; }))
    return false;  // also of NaN
  const auto size = std::ssize(weight.support_);
  if (size == 0) return true;
  Matrix lower = Matrix::Zero(size, size);
  const float* number = weight.block().data();
  for (Index column = 0; column < size; ++column)
    for (Index row = column; row < size; ++row) lower(row, column) = static_cast<double>(*number++);
  for (Index k = 0; k < size; ++k)
    lower(k, k) += weight.coded(static_cast<Index>(weight.support_[static_cast<std::size_t>(k)]));
  return factorize_cholesky(lower);
}

double SparseWeight::mean_diagonal() const {
  double sum = 0;
  for (Index k = 0; k < std::ssize(codes_); ++k) sum += coded(k);
  const float* number = block().data();
  for (auto left = std::ssize(support_); left > 0; number += left--) sum += *number;
  return sum / static_cast<double>(codes_.size());
}

std::uint32_t SparseWeight::digest() const {
  std::uint32_t value = 2166136261;
  hash(numbers_.data(), numbers_.size() * sizeof(float), value);
  hash(codes_.data(), codes_.size(), value);
  hash(support_.data(), support_.size() * sizeof(std::uint32_t), value);
  return value;
}

void SparseWeight::save(ByteWriter& writer) const {
  writer.put(known());
  if (!known()) return;
  writer.put(support_.size());
  for (const std::uint32_t k : support_) writer.put(k);
  writer.put(std::span<const float>(numbers_));
  writer.put_bytes({reinterpret_cast<const char*>(codes_.data()), codes_.size()});
}

void SparseWeight::load(ByteReader& reader, Index dimension) {
  *this = {};
  bool known = false;
  reader.get(known);
  if (!known) return;
  std::size_t size = 0;
  reader.get(size);
  if (size > static_cast<std::size_t>(dimension)) return reader.fail();
  std::vector<std::uint32_t> support(size);
  for (std::uint32_t& k : support) reader.get(k);
  if (!reader.ok()) return;
  std::vector<float> numbers(1 + packed_size(size));
  reader.get(std::span<float>(numbers));
  const std::string_view bytes = reader.get_bytes();
  const std::span<const std::uint8_t> codes(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                            bytes.size());
  const SparseFields fields{.indices = {}, .codes = codes, .support = support, .update = {}};
  if (!reader.ok() || !is_positive_definite(dimension, numbers, fields)) return reader.fail();
  *this = from_message(dimension, numbers, fields);
}

}  // namespace grove
