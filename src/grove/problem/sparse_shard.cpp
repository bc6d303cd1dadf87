#include "grove/problem/sparse_shard.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "grove/problem/prefetch.h"

namespace grove {
namespace {

SparseRows with_constant_column(const SparseRows& rows) {
  SparseRows extended(rows.rows(), rows.cols() + 1);
  extended.reserve(rows.nonZeros() + rows.rows());
  for (Index row = 0; row < rows.rows(); ++row) {
    extended.startVec(row);
    for (SparseRows::InnerIterator entry(rows, row); entry; ++entry)
      extended.insertBack(row, entry.col()) = entry.value();
    extended.insertBack(row, rows.cols()) = 1;
  }
  extended.finalize();
  return extended;
}

/// What stands at the non-zeros of a row, in general and where all of it is one. Products with one
/// are exact, so both give the same bits.
struct Stored {
  double of(const double* values, Index j) const { return values[j]; }
};
struct Ones {
  double of(const double*, Index) const { return 1; }
};

}  // namespace

SparseShard::SparseShard(SparseRows rows, bool intercept) {
  rows.makeCompressed();
  owned_ = intercept ? with_constant_column(rows) : std::move(rows);
  view_ = {owned_.outerIndexPtr(), owned_.innerIndexPtr(), owned_.valuePtr(), owned_.rows(),
           owned_.cols()};
  samples_ = view_.rows;
  dimension_ = view_.columns;
  look_at_rows();
}

SparseShard::SparseShard(const CsrView& view, std::vector<std::uint32_t> rows, bool intercept)
    : view_(view),
      listed_(std::move(rows)),
      samples_(static_cast<Index>(listed_.size())),
      dimension_(view.columns + (intercept ? 1 : 0)),
      constant_(intercept) {
  look_at_rows();
}

double SparseShard::squared_norm() const {
  double sum = constant_ ? static_cast<double>(samples_) : 0;
  for (Index k = 0; k < samples_; ++k) {
    const Row entries = row(k);
    sum += Eigen::Map<const Vector>(entries.values, entries.count).squaredNorm();
  }
  return sum;
}

double SparseShard::scaled_square(Index index, const ColumnScaling& scaling) const {
  const Row entries = row(index);
  double sum = 0;
  for (Index j = 0; j < entries.count; ++j) {
    if (entries.columns[j] >= scaling.features()) continue;  // the constant column
    const double scaled = entries.values[j] / scaling.scale[entries.columns[j]];
    sum += scaled * scaled;
  }
  return sum;
}

WeightedMoments SparseShard::weighted_moments(const Vector& weights) const {
  WeightedMoments result{Vector::Zero(dimension_), Vector::Zero(dimension_)};
  for (Index k = 0; k < samples_; ++k) {
    const Row entries = row(k);
    for (Index j = 0; j < entries.count; ++j) {
      const double part = weights[k] * entries.values[j];
      result.mean[entries.columns[j]] += part;
      result.variance[entries.columns[j]] += part * entries.values[j];
    }
  }
  result.variance = (result.variance - result.mean.cwiseAbs2()).cwiseMax(0);
  return result;
}

void SparseShard::add_robust_moments(ColumnMoments& moments) const {
  const Index features = moments.sizes.size();
  Vector squares = Vector::Zero(features), counts = Vector::Zero(features);
  for (Index k = 0; k < samples_; ++k) {
    const Row entries = row(k);
    for (Index j = 0; j < entries.count; ++j) {
      if (entries.columns[j] >= features || entries.values[j] == 0) continue;
      squares[entries.columns[j]] += entries.values[j] * entries.values[j];
      counts[entries.columns[j]] += 1;
    }
  }
  for (Index k = 0; k < features; ++k) {
    if (!(counts[k] > 0)) continue;
    moments.log_size[k] = 0.5 * std::log(squares[k] / counts[k]);
    moments.sizes[k] = 1;
  }
}

/// How rows are best gone through.
void SparseShard::look_at_rows() {
  order_.resize(static_cast<std::size_t>(samples()));
  for (Index begin = 0; begin < samples(); begin += block) {
    const auto first = order_.begin() + begin, last = first + std::min(block, samples() - begin);
    std::iota(first, last, std::uint8_t{0});
    std::stable_sort(first, last, [&](std::uint8_t a, std::uint8_t b) {
      return row(begin + a).count < row(begin + b).count;
    });
  }
  ones_ = true;
  for (Index k = 0; k < samples() && ones_; ++k) {
    const Row entries = row(k);
    ones_ = std::all_of(entries.values, entries.values + entries.count,
                        [](double value) { return value == 1; });
  }
}

void SparseShard::prefetch_after(const Rows& rows, Index n) const {
  if (listed_.empty() || n + rows_to_prefetch >= rows.count) return;
  const Row coming = row(rows.row(rows.nth(n + rows_to_prefetch)));
  prefetch_row(coming.columns, coming.count);
  if (!ones_) prefetch_row(coming.values, coming.count);
}

template <class Values>
void SparseShard::multiply_by(const Rows& rows, const double* x, double* margins,
                              Values values) const {
  for (Index n = 0; n < rows.count; ++n) {
    const Index k = rows.nth(n);
    const Row entries = row(rows.row(k));
    prefetch_after(rows, n);
    double even = 0, odd = 0;  // two sums: the next product need not wait for the last addition
    Index j = 0;
    for (; j + 1 < entries.count; j += 2) {
      even += values.of(entries.values, j) * x[entries.columns[j]];
      odd += values.of(entries.values, j + 1) * x[entries.columns[j + 1]];
    }
    if (j < entries.count) even += values.of(entries.values, j) * x[entries.columns[j]];
    margins[k] = even + odd;
    if (constant_) margins[k] += x[dimension_ - 1];
  }
}

void SparseShard::multiply(const Rows& rows, const double* x, double* margins) const {
  if (ones_) return multiply_by(rows, x, margins, Ones{});
  multiply_by(rows, x, margins, Stored{});
}

template <class Values>
void SparseShard::add_combination_by(const Rows& rows, const double* weights, double* sum,
                                     Values values) const {
  for (Index n = 0; n < rows.count; ++n) {
    const Index k = rows.nth(n);
    const Row entries = row(rows.row(k));
    prefetch_after(rows, n);
    const double weight = weights[k];
    for (Index j = 0; j < entries.count; ++j)
      sum[entries.columns[j]] += weight * values.of(entries.values, j);
    if (constant_) sum[dimension_ - 1] += weight;
  }
}

void SparseShard::add_combination(const Rows& rows, const double* weights, double* sum) const {
  if (ones_) return add_combination_by(rows, weights, sum, Ones{});
  add_combination_by(rows, weights, sum, Stored{});
}

template <class Values>
void SparseShard::add_squares(const Rows& rows, const double* second_derivatives, Matrix& hessian,
                              Values values) const {
  constexpr Index together = 4;
  double* const start = hessian.data();
  const Index stride = hessian.outerStride();
  for (Index n = 0; n < rows.count; ++n) {
    const Index k = rows.nth(n);
    const Row entries = row(rows.row(k));
    prefetch_after(rows, n);
    // Several columns at a time: as many loops less, whose ends are hard to foresee.
    Index left = 0;
    for (; left + together <= entries.count; left += together) {
      double* columns[together];
      double weights[together];
      for (Index c = 0; c < together; ++c) {
        columns[c] = start + stride * entries.columns[left + c];
        weights[c] = second_derivatives[k] * values.of(entries.values, left + c);
        for (Index above = 0; above <= c; ++above)
          columns[above][entries.columns[left + c]] +=
              weights[above] * values.of(entries.values, left + c);
      }
      for (Index j = left + together; j < entries.count; ++j) {
        const Index row_index = entries.columns[j];
        const double value = values.of(entries.values, j);
#pragma GCC unroll 4
        for (Index c = 0; c < together; ++c) columns[c][row_index] += weights[c] * value;
      }
    }
    for (; left < entries.count; ++left) {
      double* column = start + stride * entries.columns[left];
      const double weight = second_derivatives[k] * values.of(entries.values, left);
      for (Index j = left; j < entries.count; ++j)
        column[entries.columns[j]] += weight * values.of(entries.values, j);
    }
    if (!constant_) continue;
    const Index last = dimension_ - 1;
    for (Index j = 0; j < entries.count; ++j)
      start[stride * entries.columns[j] + last] +=
          second_derivatives[k] * values.of(entries.values, j);
    start[stride * last + last] += second_derivatives[k];
  }
}

void SparseShard::HessianSum::add(const Rows& rows, const double* second_derivatives) {
  if (shard_.ones_) return shard_.add_squares(rows, second_derivatives, hessian_, Ones{});
  shard_.add_squares(rows, second_derivatives, hessian_, Stored{});
}

}  // namespace grove
