#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "grove/base/types.h"

namespace grove {

/// One broadcast per round, or one message per edge, which tolerates loss and delay.
enum class LinkKind { broadcast, edge };

/// `sparse` is a kind of its own (SparseWeight), for problems of many coefficients.
enum class LinkWeightShape { scalar, diagonal, low_rank, full, sparse };

/// The form in which agents publish their link weights.
struct LinkWeightForm {
  LinkWeightShape shape = LinkWeightShape::full;
  Index rank = 0;  ///< number of eigenpairs; of low_rank only

  bool operator==(const LinkWeightForm&) const = default;
  /// Single-precision numbers of one weight; of a sparse one, at most, what its codes take
  /// included.
  std::size_t numbers(Index dimension) const;
};

/// The paper's link weight: mu I, with one number that both ends know beforehand.
struct FixedPenalty {
  double mu = 1e-3;
};

/// How the links of a network are weighted: by a fixed number, or by weights that agents publish.
using LinkWeighting = std::variant<FixedPenalty, LinkWeightForm>;

/// A symmetric positive definite matrix C_i that an agent publishes, in one of the forms. Its
/// numbers are kept as they are sent, in single precision: both ends of a link need the same
/// weight, not an exact one.
class LinkWeight {
 public:
  LinkWeight() = default;  ///< unknown
  /// Approximates a positive definite matrix in that form.
  LinkWeight(LinkWeightForm form, const Matrix& matrix);
  /// From the numbers of a message; none if their count does not fit the form. The numbers are not
  /// checked: transports check what comes from outside with is_positive_definite, because a check
  /// costs as much as a Newton system.
  static std::optional<LinkWeight> from_numbers(LinkWeightForm form, Index dimension,
                                                std::span<const float> numbers);

  /// (a + b)/2 in the form of both, bit-equal to (b + a)/2. Unknown for low rank, because a mean of
  /// two low-rank weights has a higher rank.
  static LinkWeight mean_of(const LinkWeight& a, const LinkWeight& b);

  /// Checks numbers, form.numbers(dimension) of them, that came from outside.
  static bool is_positive_definite(LinkWeightForm form, Index dimension,
                                   std::span<const float> numbers);

  /// The mean of the diagonal of the matrix with these numbers, form.numbers(dimension) of them.
  static double mean_diagonal(LinkWeightForm form, Index dimension, std::span<const float> numbers);

  bool known() const { return !numbers_.empty(); }
  bool is_positive_definite() const { return is_positive_definite(form_, dimension_, numbers_); }
  std::span<const float> numbers() const { return numbers_; }

  void add_product(double factor, const Vector& v, Vector& result) const;  ///< += factor C v
  /// Two products in one pass over the numbers; either has the same bits in the other order.
  void add_products(const std::array<const Vector*, 2>& vs,
                    const std::array<Vector*, 2>& results) const;
  /// lower += factor C, on the lower triangle; the upper triangle is undefined afterwards.
  void add_to(double factor, Matrix& lower) const;
  /// diagonal += factor diag(C); of the scalar and diagonal forms only.
  void add_to_diagonal(double factor, Vector& diagonal) const;

 private:
  void set_full(const Matrix& matrix);
  void set_low_rank(const Matrix& matrix);

  LinkWeightForm form_;
  Index dimension_ = 0;
  /// scalar: c | diagonal: c_1..c_d | low rank: base, l_1..l_K, then K eigenvectors; the matrix is
  /// base I + sum (l_k - base) v_k v_k' | full: lower triangle by columns
  std::vector<float> numbers_;
};

}  // namespace grove
