#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grove/agent/message.h"
#include "grove/base/bytes.h"
#include "grove/base/types.h"

namespace grove {

/// A link weight of many coordinates: diag(c) + B, B a symmetric matrix on a few of them, the
/// support. The numbers c have one byte each, eighths of an octave below the largest; they are
/// rounded up, and B's diagonal corrects those of the support. Kept as it is sent.
class SparseWeight {
 public:
  SparseWeight() = default;  ///< unknown
  /// From a positive definite matrix: the diagonal, and on the support (ascending) the lower
  /// triangle of what stands off the diagonal.
  SparseWeight(const Vector& diagonal, std::vector<std::uint32_t> support, const Matrix& block);
  /// From the numbers of a message; unknown where they do not fit together.
  static SparseWeight from_message(Index dimension, std::span<const float> numbers,
                                   const SparseFields& fields);
  /// Checks numbers that came from outside: costs a factorization of the block.
  static bool is_positive_definite(Index dimension, std::span<const float> numbers,
                                   const SparseFields& fields);
  double mean_diagonal() const;
  /// Coordinates that a support may have.
  static std::size_t largest_support(Index dimension);

  bool known() const { return !codes_.empty(); }
  const std::vector<std::uint32_t>& support() const { return support_; }
  std::span<const float> numbers() const { return numbers_; }  ///< the largest c, then B, packed
  std::span<const std::uint8_t> codes() const { return codes_; }

  /// c_k: off the support, the entry of the diagonal.
  double coded(Index k) const {
    return numbers_[0] * step_down(codes_[static_cast<std::size_t>(k)]);
  }
  std::span<const float> block() const { return std::span(numbers_).subspan(1); }

  std::uint32_t digest() const;
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader, Index dimension);

 private:
  static double step_down(std::uint8_t code);

  std::vector<float> numbers_;
  std::vector<std::uint8_t> codes_;
  std::vector<std::uint32_t> support_;
};

}  // namespace grove
