#include "grove/problem/dense_shard.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "grove/problem/prefetch.h"

namespace grove {
namespace {

/// A block is read twice, for margins and for the gradient: it should still be in the second-level
/// cache then, which has 256 kB or more, and be long enough for its fixed cost.
constexpr Index block_bytes = Index{64} * 1024;
constexpr Index shortest_block = 8, longest_block = 64;
static_assert(kernels::panel_rows % longest_block == 0, "blocks fill the panels exactly");

constexpr Index bytes_of(Index rows, Index stride) {
  return rows * stride * static_cast<Index>(sizeof(double));
}

/// A power of two.
Index rows_per_block(Index stride) {
  Index rows = longest_block;
  while (rows > shortest_block && bytes_of(rows, stride) > block_bytes) rows /= 2;
  return rows;
}

/// Narrow rows go to the Hessian block by block, so that a block and its scaled copy, 16 kB each at
/// most, share the first-level cache; wide ones gather until the panels are full.
Index rows_per_gram(Index stride) {
  return bytes_of(longest_block, stride) <= Index{16} * 1024 ? longest_block : kernels::panel_rows;
}

}  // namespace

DenseShard::DenseShard(const DenseRows& rows, bool intercept, const kernels::Kernels& kernels)
    : kernels_(kernels),
      samples_(rows.rows()),
      dimension_(rows.cols() + (intercept ? 1 : 0)),
      stride_(kernels::padded(dimension_)),
      block_rows_(rows_per_block(stride_)),
      gram_rows_(rows_per_gram(stride_)),
      columns_(rows.cols()) {
  double* to = numbers_.fit(samples_ * stride_);
  for (Index row = 0; row < samples_; ++row, to += stride_)
    copy_row(rows.data() + row * columns_, to);
}

DenseShard::DenseShard(const DenseView& view, std::vector<std::uint32_t> rows, bool intercept,
                       const kernels::Kernels& kernels)
    : kernels_(kernels),
      samples_(static_cast<Index>(rows.size())),
      dimension_(view.columns + (intercept ? 1 : 0)),
      stride_(kernels::padded(dimension_)),
      block_rows_(rows_per_block(stride_)),
      gram_rows_(rows_per_gram(stride_)),
      columns_(view.columns),
      view_(view),
      listed_(std::move(rows)) {}

void DenseShard::copy_row(const double* from, double* to) const {
  std::copy_n(from, columns_, to);
  std::fill(to + columns_, to + stride_, 0.0);
  if (dimension_ > columns_) to[columns_] = 1;
}

double DenseShard::squared_norm() const {
  if (view_) {
    double sum = dimension_ > columns_ ? static_cast<double>(samples_) : 0;
    for (Index row = 0; row < samples_; ++row) sum += entries(row).squaredNorm();
    return sum;
  }
  return Eigen::Map<const Vector>(numbers_.data(), samples_ * stride_).squaredNorm();
}

void DenseShard::sum_squares(std::span<const double> weights, Vector& sum) const {
  sum.setZero(dimension_);
  for (Index row = 0; row < samples_; ++row)
    sum.head(columns_).array() += weights[row] * entries(row).array().square();
  if (dimension_ > columns_)
    sum[columns_] = Eigen::Map<const Vector>(weights.data(), samples_).sum();
}

void DenseShard::add_robust_moments(ColumnMoments& moments) const {
  constexpr Index most_rows = 256;
  const Index stride = (samples_ + most_rows - 1) / most_rows;
  moments.shards = 1;
  std::vector<double> numbers;
  for (Index k = 0; k < columns_; ++k) {
    numbers.clear();
    for (Index row = 0; row < samples_; row += stride) numbers.push_back(entries(row)[k]);
    moments.medians[k] = median_of(numbers);
    if (const double spread = robust_spread(numbers, moments.medians[k]); spread > 0) {
      moments.log_deviation[k] = std::log(spread);
      moments.deviations[k] = 1;
    }
    if (const double spread = robust_spread(numbers, 0); spread > 0) {
      moments.log_size[k] = std::log(spread);
      moments.sizes[k] = 1;
    }
  }
}

WeightedMoments DenseShard::weighted_moments(const Vector& weights) const {
  WeightedMoments result{Vector::Zero(columns_), Vector::Zero(columns_)};
  for (Index row = 0; row < samples_; ++row) result.mean += weights[row] * entries(row);
  for (Index row = 0; row < samples_; ++row)
    result.variance.array() += weights[row] * (entries(row) - result.mean).array().square();
  return result;
}

DenseShard::Rows DenseShard::rows(Batch batch, Index begin, Index count, double* staging) const {
  if (view_) {
    const Index all = batch.whole() ? samples_ : static_cast<Index>(batch.rows().size());
    const auto nth = [&](Index k) {
      return view_->row(listed_[batch.whole() ? k : static_cast<Index>(batch.rows()[k])]);
    };
    for (Index k = begin; k < begin + count; ++k) {
      if (k + rows_to_prefetch < all) prefetch_row(nth(k + rows_to_prefetch), columns_);
      copy_row(nth(k), staging + (k - begin) * stride_);
    }
    return {staging, stride_, nullptr, count};
  }
  if (batch.whole()) return {numbers_.data() + begin * stride_, stride_, nullptr, count};
  return {numbers_.data(), stride_, batch.rows().data() + begin, count};
}

std::span<const double> DenseShard::after(const Rows& rows) const {
  if (rows.listed || view_) return {};
  const double* begin = rows.data + rows.count * stride_;
  const double* end = numbers_.data() + samples_ * stride_;
  return {begin, static_cast<std::size_t>(std::min(end - begin, block_rows_ * stride_))};
}

void DenseShard::HessianSum::add(const Rows& rows, const double* second_derivatives) {
  shard_.kernels_.scale_into_panels(rows, second_derivatives, filled_, panels_);
  filled_ += rows.count;
  if (filled_ == shard_.gram_rows_) flush(shard_.after(rows));
}

void DenseShard::HessianSum::flush(std::span<const double> upcoming) {
  shard_.kernels_.add_gram(panels_, filled_, shard_.dimension_, hessian_.data(), upcoming);
  filled_ = 0;
}

}  // namespace grove
