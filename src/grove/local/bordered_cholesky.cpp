#include "grove/local/bordered_cholesky.h"

#include <algorithm>

#include "grove/problem/symmetric.h"

namespace grove {
namespace {

/// A coordinate takes f^2/2 multiplications once and little after that, a factor of f coordinates
/// f^3/6 at several times the speed.
Index most_apart(Index free_set) { return free_set / 12; }

}  // namespace

void BorderedCholesky::make_room(Index dimension) {
  const Index most = 2 * most_apart(dimension);  // of several free sets
  columns_.resize(dimension, most);
  products_.resize(most, most);
  small_.resize(most, most);
  unknowns_.resize(most);
  half_.resize(dimension);
  place_.resize(static_cast<std::size_t>(dimension));
  kept_.resize(static_cast<std::size_t>(dimension));
  forget();
}

void BorderedCholesky::forget() {
  placed_ = false;
  count_ = 0;
  std::ranges::fill(kept_, none);
}

bool BorderedCholesky::solve(const Factored& factored, const std::vector<Index>& apart,
                             const Vector& right, Vector& p) {
  const auto& base = factored.base;
  const auto size = static_cast<Index>(base.size());
  if (!make_columns(factored, apart)) return false;
  auto half = half_.head(size);
  for (Index k = 0; k < size; ++k) half[k] = right[base[k]];
  for (const Index coordinate : apart)
    if (place_[coordinate] != none) half[place_[coordinate]] = 0;  // multipliers take what is there
  solve_lower(factored.factor, half);
  for (std::size_t k = 0; k < apart.size(); ++k) {
    const Index coordinate = apart[k];
    unknowns_[k] = columns_.col(kept_[coordinate]).head(size).dot(half);
    if (place_[coordinate] == none) unknowns_[k] -= right[coordinate];
  }
  if (!solve_small(factored, apart)) return false;
  for (std::size_t k = 0; k < apart.size(); ++k)
    half -= unknowns_[k] * columns_.col(kept_[apart[k]]).head(size);
  solve_upper(factored.factor, half);
  p.setZero(right.size());
  for (Index k = 0; k < size; ++k) p[base[k]] = half[k];
  for (std::size_t k = 0; k < apart.size(); ++k)
    p[apart[k]] = place_[apart[k]] == none ? unknowns_[k] : 0;
  return true;
}

/// False where there are too many.
bool BorderedCholesky::make_columns(const Factored& factored, const std::vector<Index>& apart) {
  const auto size = static_cast<Index>(factored.base.size());
  if (std::ssize(apart) > most_apart(size)) return false;
  if (!placed_) {
    std::ranges::fill(place_, none);
    for (Index k = 0; k < size; ++k) place_[factored.base[k]] = k;
    placed_ = true;
  }
  const auto missing =
      std::ranges::count_if(apart, [&](Index coordinate) { return kept_[coordinate] == none; });
  if (count_ + missing > columns_.cols()) {
    count_ = 0;
    std::ranges::fill(kept_, none);
  }
  for (const Index coordinate : apart)
    if (kept_[coordinate] == none) add_column(factored, coordinate);
  return true;
}

/// One that left: its unit vector, for the multiplier. One that came: its part of the matrix.
void BorderedCholesky::add_column(const Factored& factored, Index coordinate) {
  const auto size = static_cast<Index>(factored.base.size());
  auto column = columns_.col(count_).head(size);
  if (place_[coordinate] != none)
    column = Vector::Unit(size, place_[coordinate]);
  else
    for (Index k = 0; k < size; ++k) column[k] = factored.matrix(factored.base[k], coordinate);
  solve_lower(factored.factor, column);
  for (Index k = 0; k <= count_; ++k)
    products_(count_, k) = products_(k, count_) = columns_.col(k).head(size).dot(column);
  kept_[coordinate] = count_++;
}

/// The Schur complement of the base: positive definite over those that left, negative over those
/// that came. Such a matrix has a factorization L D L' in any order. False where rounding has taken
/// a pivot's sign.
bool BorderedCholesky::solve_small(const Factored& factored, const std::vector<Index>& apart) {
  constexpr double least = 1e-10;  ///< pivot, of what it was before others were taken off
  const auto size = static_cast<Index>(apart.size());
  for (Index column = 0; column < size; ++column)
    for (Index row = column; row < size; ++row) {
      small_(row, column) = products_(kept_[apart[row]], kept_[apart[column]]);
      if (place_[apart[row]] == none && place_[apart[column]] == none)
        small_(row, column) -= factored.matrix(apart[row], apart[column]);
    }
  for (Index column = 0; column < size; ++column) {
    const bool came = place_[apart[column]] == none;
    const double pivot = small_(column, column);
    const double scale = came ? factored.matrix(apart[column], apart[column])
                              : products_(kept_[apart[column]], kept_[apart[column]]);
    if (!((came ? -pivot : pivot) > least * scale)) return false;
    for (Index other = column + 1; other < size; ++other) {
      const double share = small_(other, column) / pivot;
      for (Index row = other; row < size; ++row) small_(row, other) -= share * small_(row, column);
      unknowns_[other] -= share * unknowns_[column];
    }
  }
  for (Index column = size - 1; column >= 0; --column) {
    for (Index row = column + 1; row < size; ++row)
      unknowns_[column] -= small_(row, column) * unknowns_[row];
    unknowns_[column] /= small_(column, column);
  }
  return true;
}

}  // namespace grove
