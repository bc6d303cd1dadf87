#include "grove/problem/dense_shard.h"

#include <algorithm>

namespace grove {
namespace {

/// A block is read twice, for margins and for the gradient: it should still be in the second-level
/// cache then, which has 256 kB or more, and be long enough for its fixed cost.
constexpr Index block_bytes = 64 * 1024;
constexpr Index shortest_block = 8;

/// A power of two, so that blocks fill the panels exactly.
Index rows_per_block(Index stride) {
  Index rows = kernels::panel_rows;
  while (rows > shortest_block && rows * stride * Index{sizeof(double)} > block_bytes) rows /= 2;
  return rows;
}

}  // namespace

DenseShard::DenseShard(const DenseRows& rows, bool intercept, const kernels::Kernels& kernels)
    : kernels_(kernels),
      samples_(rows.rows()),
      dimension_(rows.cols() + (intercept ? 1 : 0)),
      stride_(kernels::padded(dimension_)),
      block_rows_(rows_per_block(stride_)) {
  double* to = numbers_.fit(samples_ * stride_);
  for (Index row = 0; row < samples_; ++row, to += stride_) {
    std::copy_n(rows.data() + row * rows.cols(), rows.cols(), to);
    std::fill(to + rows.cols(), to + stride_, 0.0);
    if (intercept) to[rows.cols()] = 1;
  }
}

double DenseShard::squared_norm() const {
  return Eigen::Map<const Vector>(numbers_.data(), samples_ * stride_).squaredNorm();
}

DenseShard::Rows DenseShard::rows(Batch batch, Index begin, Index count) const {
  if (batch.whole()) return {numbers_.data() + begin * stride_, stride_, nullptr, count};
  return {numbers_.data(), stride_, batch.rows().data() + begin, count};
}

void DenseShard::HessianSum::add(const Rows& rows, const double* curvatures) {
  if (filled_ + rows.count > kernels::panel_rows) finish();
  shard_.kernels_.scale_into_panels(rows, curvatures, filled_, panels_);
  filled_ += rows.count;
}

void DenseShard::HessianSum::finish() {
  shard_.kernels_.add_gram(panels_, filled_, shard_.dimension_, hessian_.data());
  filled_ = 0;
}

}  // namespace grove
