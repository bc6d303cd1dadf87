#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "grove/base/types.h"

namespace grove {

enum class CurvatureShape { scalar, diagonal, low_rank, full };

/// How much of a Hessian neighbours tell each other.
struct CurvatureForm {
  CurvatureShape shape = CurvatureShape::full;
  Index rank = 0;  ///< eigenpairs kept; of low_rank only

  bool operator==(const CurvatureForm&) const = default;
  std::size_t floats(Index dimension) const;
  /// Doubles that one curvature takes in a message: two single-precision numbers in each.
  std::size_t words(Index dimension) const { return (floats(dimension) + 1) / 2; }
};

/// d-vectors that so many doubles fill, the last of them perhaps in part.
inline std::size_t whole_vectors(std::size_t doubles, Index dimension) {
  const auto size = static_cast<std::size_t>(dimension);
  return (doubles + size - 1) / size;
}

/// A symmetric positive definite model of a Hessian in one of the forms. Its numbers are kept as
/// they travel, in single precision: the two ends of a link need the same weight, not an exact one.
class Curvature {
 public:
  Curvature() = default;  ///< none
  /// The form's picture of a positive definite matrix.
  Curvature(CurvatureForm form, const Matrix& matrix);
  /// From a message; nothing if it does not fit the form. Whoever lets messages in from outside
  /// looks whether they are sound: that takes as long as a Newton system, and here would be done
  /// once for every neighbour.
  static std::optional<Curvature> from_words(CurvatureForm form, Index dimension,
                                             std::span<const double> words);

  /// (a + b)/2 in the form of both, the same bits as (b + a)/2; none of low rank, whose means are
  /// of no lower rank.
  static Curvature mean_of(const Curvature& a, const Curvature& b);

  /// Whether the numbers, form.floats(dimension) of them, are those of a positive definite matrix.
  static bool sound(CurvatureForm form, Index dimension, std::span<const float> numbers);

  bool known() const { return !numbers_.empty(); }
  bool sound() const {
    return sound(form_, dimension_, {numbers_.data(), form_.floats(dimension_)});
  }
  void append_words(std::vector<double>& words) const;  ///< what from_words reads

  void add_product(double factor, const Vector& v, Vector& result) const;  ///< += factor C v
  /// Of two vectors at once, which takes less time; either gets the same bits.
  void add_products(const std::array<const Vector*, 2>& vs,
                    const std::array<Vector*, 2>& results) const;
  /// += factor C, on the lower triangle; above it stands anything.
  void add_to(double factor, Matrix& lower) const;

 private:
  void set_full(const Matrix& matrix);
  void set_low_rank(const Matrix& matrix);

  CurvatureForm form_;
  Index dimension_ = 0;
  /// scalar: c | diagonal: c_1..c_d | low rank: base, l_1..l_K, then K eigenvectors; the matrix is
  /// base I + sum (l_k - base) v_k v_k' | full: lower triangle by columns
  std::vector<float> numbers_;  ///< padded to an even count
};

}  // namespace grove
