#pragma once

#include <vector>

#include "grove/problem/quadratic_model.h"
#include "grove/problem/restricted_rows.h"

namespace grove {

/// Some coordinates of a problem, ascending.
class ActiveSet {
 public:
  /// Coordinates of x that are off the kinks and bounds of r or that `gradient`, that of the smooth
  /// part at x, moves off them; besides `always`. At most `most_new` that x does not have already.
  void find(const Vector& x, const Vector& gradient, const Regularizer& r, Index most_new);

  Index size() const { return static_cast<Index>(members_.size()); }
  const std::vector<std::uint32_t>& members() const { return members_; }
  ColumnPlaces places() const { return places_; }

  void gather(const Vector& whole, Vector& part) const;
  void scatter(const Vector& part, Vector& whole) const;  ///< leaves all others as they are
  Regularizer regularizer(const Regularizer& r) const;    ///< r of these coordinates

 private:
  std::vector<std::uint32_t> members_;
  std::vector<std::int32_t> places_;  ///< of all coordinates
  std::vector<std::pair<double, std::uint32_t>> candidates_;
};

/// The lower triangle of R'R + diag(ridge).
void sum_of_squares(const RestrictedRows& rows, Matrix& lower);

/// R'R + diag + a symmetric matrix on some of the coordinates, of a quadratic model in the chosen
/// columns. Stored where that is small; beyond, sweeps go through the columns of R, and systems are
/// solved by conjugate gradients.
class RestrictedHessian final : public ModelHessian {
 public:
  static constexpr Index largest_stored = 1500;

  /// Moves nothing: borrows all. `block` is the lower triangle of the symmetric matrix on the
  /// places `block_places`, ascending.
  RestrictedHessian(const RestrictedRows& rows, const Vector& diagonal,
                    const std::vector<Index>& block_places, const Matrix& block);

  void times(const Vector& direction, Vector& product) const override;
  void sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const override;
  void solve(const std::vector<Index>& free_set, const Vector& right, double tolerance,
             Vector& p) const override;
  const Vector& matrix_diagonal() const { return whole_diagonal_; }

 private:
  bool stored() const { return matrix_.size() > 0; }
  void store();
  void by_columns();
  bool iterate(const std::vector<Index>& free_set, const Vector& right, double tolerance,
               Index most_steps, Vector& p) const;

  const RestrictedRows& rows_;
  const Vector& diagonal_;
  const std::vector<Index>& block_places_;
  const Matrix& block_;
  Vector whole_diagonal_;
  Matrix matrix_;
  // R by columns, where nothing is stored:
  std::vector<std::size_t> column_begins_;
  std::vector<std::uint32_t> column_rows_;
  std::vector<double> column_values_;
  mutable Vector row_sums_, part_, part_product_;
};

}  // namespace grove
