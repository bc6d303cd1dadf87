#include "grove/problem/restricted_hessian.h"

#include <algorithm>
#include <cmath>

#include "grove/problem/symmetric.h"

namespace grove {
namespace {

constexpr Index most_conjugate_steps = 500;
constexpr Index fewest_iterated = 100;  ///< free coordinates, where M is stored
constexpr double rough_share = 1e-6;    ///< of a residual: to less, factorizations are faster

/// How far a prox step of length 1 goes beyond the kink or bound at which x_k is; infinite where it
/// is at none.
double pull_off(const Regularizer& r, Index k, double x, double gradient) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (k >= r.regularized) return infinity;
  const double l1 = r.l1_at(k), low = r.low_at(k), high = r.high_at(k);
  const bool at_kink = (l1 > 0 && x == 0) || x <= low || x >= high;
  if (!at_kink) return infinity;
  return std::abs(r.prox_at(k, 1, x - gradient) - x);
}

}  // namespace

void ActiveSet::find(const Vector& x, const Vector& gradient, const Regularizer& r,
                     Index most_new) {
  places_.resize(static_cast<std::size_t>(x.size()), -1);
  for (const std::uint32_t k : members_) places_[k] = -1;
  members_.clear();
  candidates_.clear();
  for (Index k = 0; k < x.size(); ++k) {
    const double pull = pull_off(r, k, x[k], gradient[k]);
    if (std::isinf(pull))
      members_.push_back(static_cast<std::uint32_t>(k));
    else if (pull > 0)
      candidates_.emplace_back(-pull, static_cast<std::uint32_t>(k));
  }
  const auto most = static_cast<std::size_t>(most_new);
  if (candidates_.size() > most) {
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(most),
                     candidates_.end());
    candidates_.resize(most);
  }
  for (const auto& [pull, k] : candidates_) members_.push_back(k);
  std::ranges::sort(members_);
  for (std::size_t k = 0; k < members_.size(); ++k)
    places_[members_[k]] = static_cast<std::int32_t>(k);
}

void ActiveSet::gather(const Vector& whole, Vector& part) const {
  part.resize(size());
  for (Index k = 0; k < size(); ++k) part[k] = whole[members_[static_cast<std::size_t>(k)]];
}

void ActiveSet::scatter(const Vector& part, Vector& whole) const {
  for (Index k = 0; k < size(); ++k) whole[members_[static_cast<std::size_t>(k)]] = part[k];
}

Regularizer ActiveSet::regularizer(const Regularizer& r) const {
  Regularizer result{.l1 = r.l1, .low = r.low, .high = r.high};
  result.regularized = std::ranges::lower_bound(members_, r.regularized) - members_.begin();
  if (r.units.size() > 0) gather(r.units, result.units);
  return result;
}

RestrictedHessian::RestrictedHessian(const RestrictedRows& rows, const Vector& diagonal,
                                     const std::vector<Index>& block_places, const Matrix& block)
    : rows_(rows), diagonal_(diagonal), block_places_(block_places), block_(block) {
  whole_diagonal_ = diagonal;
  for (std::size_t entry = 0; entry < rows.columns.size(); ++entry)
    whole_diagonal_[rows.columns[entry]] += rows.values[entry] * rows.values[entry];
  for (std::size_t k = 0; k < block_places.size(); ++k)
    whole_diagonal_[block_places[k]] += block(static_cast<Index>(k), static_cast<Index>(k));
  if (diagonal.size() <= largest_stored)
    store();
  else
    by_columns();
}

void sum_of_squares(const RestrictedRows& rows, Matrix& lower) {
  lower.setZero(rows.ridge.size(), rows.ridge.size());
  const double* values = rows.values.data();
  for (std::size_t row = 0; row < rows.rows(); ++row)
    for (std::size_t a = rows.begins[row]; a < rows.begins[row + 1]; ++a) {
      double* column = lower.col(rows.columns[a]).data();
      const double value = values[a];
      for (std::size_t b = a; b < rows.begins[row + 1]; ++b)
        column[rows.columns[b]] += value * values[b];
    }
  lower.diagonal() += rows.ridge;
}

/// The diagonal has the ridge of the rows already.
void RestrictedHessian::store() {
  sum_of_squares(rows_, matrix_);
  for (Index b = 0; b < std::ssize(block_places_); ++b)
    for (Index a = b; a < std::ssize(block_places_); ++a)
      matrix_(block_places_[static_cast<std::size_t>(a)],
              block_places_[static_cast<std::size_t>(b)]) += block_(a, b);
  matrix_.diagonal() += diagonal_ - rows_.ridge;
  mirror_lower_triangle(matrix_);
}

void RestrictedHessian::by_columns() {
  column_begins_.assign(static_cast<std::size_t>(diagonal_.size()) + 1, 0);
  for (const std::int32_t column : rows_.columns)
    ++column_begins_[static_cast<std::size_t>(column) + 1];
  for (std::size_t k = 1; k < column_begins_.size(); ++k)
    column_begins_[k] += column_begins_[k - 1];
  std::vector<std::size_t> at(column_begins_.begin(), column_begins_.end() - 1);
  column_rows_.resize(rows_.columns.size());
  column_values_.resize(rows_.columns.size());
  for (std::size_t row = 0; row < rows_.rows(); ++row)
    for (std::size_t entry = rows_.begins[row]; entry < rows_.begins[row + 1]; ++entry) {
      const std::size_t to = at[static_cast<std::size_t>(rows_.columns[entry])]++;
      column_rows_[to] = static_cast<std::uint32_t>(row);
      column_values_[to] = rows_.values[entry];
    }
}

void RestrictedHessian::times(const Vector& direction, Vector& product) const {
  if (stored()) {
    product.setZero(direction.size());
    return add_symmetric_product(matrix_, direction, product);
  }
  product = diagonal_.cwiseProduct(direction);
  for (std::size_t row = 0; row < rows_.rows(); ++row) {
    double sum = 0;
    for (std::size_t entry = rows_.begins[row]; entry < rows_.begins[row + 1]; ++entry)
      sum += rows_.values[entry] * direction[rows_.columns[entry]];
    if (sum == 0) continue;
    for (std::size_t entry = rows_.begins[row]; entry < rows_.begins[row + 1]; ++entry)
      product[rows_.columns[entry]] += rows_.values[entry] * sum;
  }
  const Index block = std::ssize(block_places_);
  if (block == 0) return;
  part_.resize(block);
  for (Index k = 0; k < block; ++k) part_[k] = direction[block_places_[k]];
  part_product_.setZero(block);
  add_symmetric_product(block_, part_, part_product_);
  for (Index k = 0; k < block; ++k) product[block_places_[k]] += part_product_[k];
}

/// By columns of R, one after the other; the block stays where it was at the beginning of the sweep
/// with its diagonal dominating what it changes. A sweep that would not decrease the model is cut.
void RestrictedHessian::sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const {
  if (stored()) return sweep_coordinates(matrix_, regularizer, point, slope);
  const Vector before = point;
  row_sums_.setZero(static_cast<Index>(rows_.rows()));
  std::vector<Index> in_block(static_cast<std::size_t>(point.size()), -1);
  for (Index k = 0; k < std::ssize(block_places_); ++k)
    in_block[static_cast<std::size_t>(block_places_[k])] = k;
  part_.setZero(std::ssize(block_places_));  // the block's share of the slope's change
  for (Index k = 0; k < point.size(); ++k) {
    double here = slope[k] + diagonal_[k] * (point[k] - before[k]);
    const std::size_t first = column_begins_[static_cast<std::size_t>(k)],
                      last = column_begins_[static_cast<std::size_t>(k) + 1];
    for (std::size_t entry = first; entry < last; ++entry)
      here += column_values_[entry] * row_sums_[column_rows_[entry]];
    const Index inside = in_block[static_cast<std::size_t>(k)];
    if (inside >= 0) here += part_[inside];
    const double step = 1 / whole_diagonal_[k];
    const double target = regularizer.prox_at(k, step, point[k] - step * here);
    const double change = target - point[k];
    if (change == 0) continue;
    point[k] = target;
    for (std::size_t entry = first; entry < last; ++entry)
      row_sums_[column_rows_[entry]] += column_values_[entry] * change;
    if (inside >= 0) add_column(block_, inside, change, part_);
  }
  Vector product;
  times(point - before, product);
  slope += product;
}

void RestrictedHessian::solve(const std::vector<Index>& free_set, const Vector& right,
                              double tolerance, Vector& p) const {
  const auto size = static_cast<Index>(free_set.size());
  if (!stored()) {
    iterate(free_set, right, tolerance, most_conjugate_steps, p);
    return;
  }
  // A factorization takes as long as a third as many products as it has rows.
  const bool rough = size >= fewest_iterated && tolerance >= rough_share * right.norm();
  if (rough && iterate(free_set, right, tolerance, size / 6, p)) return;
  Matrix factor(size, size);
  Vector packed;
  factorize(matrix_, free_set, factor);
  solve_factored(factor, free_set, right, packed, p);
}

/// Conjugate gradients, scaled by the diagonal. False: too many steps.
bool RestrictedHessian::iterate(const std::vector<Index>& free_set, const Vector& right,
                                double tolerance, Index most_steps, Vector& p) const {
  Vector inverse = Vector::Zero(right.size());
  for (const Index k : free_set) inverse[k] = 1 / whole_diagonal_[k];
  p.setZero(right.size());
  Vector residual = (inverse.array() > 0).select(right, 0.0), product;
  Vector scaled = inverse.cwiseProduct(residual), direction = scaled;
  double squares = residual.dot(scaled);
  for (Index k = 0; k < most_steps && residual.norm() > tolerance; ++k) {
    times(direction, product);
    const double curvature = direction.dot(product);
    if (!(curvature > 0)) break;
    const double length = squares / curvature;
    p += length * direction;
    residual -= length * (inverse.array() > 0).select(product, 0.0).matrix();
    scaled = inverse.cwiseProduct(residual);
    const double next = residual.dot(scaled);
    direction = scaled + (next / squares) * direction;
    squares = next;
  }
  return residual.norm() <= tolerance;
}

}  // namespace grove
