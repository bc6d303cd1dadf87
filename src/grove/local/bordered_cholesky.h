#pragma once

#include <vector>

#include "grove/base/types.h"

namespace grove {

/// Solves on free sets that differ in a few coordinates from one, the base, on which a factor of
/// the matrix is known: those that left are held at zero by multipliers, those that came are
/// unknowns of their own, and a small system beside the factor gives both. What a coordinate needs
/// for that, half a solve, is kept for the next free sets. The same answers whatever is kept.
class BorderedCholesky {
 public:
  /// The same at every call, until forget().
  struct Factored {
    const Matrix& matrix;             ///< both triangles
    Eigen::Ref<const Matrix> factor;  ///< lower, of the matrix on the base
    const std::vector<Index>& base;   ///< ascending
  };

  void make_room(Index dimension);
  void forget();  ///< another factor

  /// p with M_FF p_F = right_F and 0 elsewhere, where the free set F is the base but for the
  /// coordinates `apart` (ascending). False, and p anything, where a new factor is the better way.
  bool solve(const Factored& factored, const std::vector<Index>& apart, const Vector& right,
             Vector& p);

 private:
  bool make_columns(const Factored& factored, const std::vector<Index>& apart);
  void add_column(const Factored& factored, Index coordinate);
  bool solve_small(const Factored& factored, const std::vector<Index>& apart);

  static constexpr Index none = -1;
  std::vector<Index> place_;  ///< by coordinate: in the base, or none
  std::vector<Index> kept_;   ///< by coordinate: its column, or none
  bool placed_ = false;       ///< place_ is of the present base
  Index count_ = 0;           ///< columns kept
  Matrix columns_;            ///< factor^{-1} of what a coordinate adds to the base's system
  Matrix products_;           ///< of the columns with each other
  Matrix small_;
  Vector unknowns_;  ///< of the small system
  Vector half_;      ///< factor^{-1} right
};

}  // namespace grove
