#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "grove/base/types.h"
#include "grove/data/samples.h"
#include "grove/problem/objective.h"

/// The inner loops over dense rows: sums over a batch, without weights. The file to replace for
/// speed.
namespace grove::dense {

using RowBlock = Eigen::Map<DenseRows>;
using ConstRowBlock = Eigen::Map<const DenseRows>;
using VectorMap = Eigen::Map<Vector>;

inline constexpr Index block_rows = 64;  ///< 64 rows of some dozens of features fit the L1 cache
inline constexpr Index tile = 128;  ///< keeps Eigen's packing buffers on the stack: no allocation

/// Working memory of a pass, laid out in the scratch of its thread.
class Workspace {
 public:
  Workspace(std::vector<double>& memory, Index dimension) : dimension_(dimension) {
    const std::size_t needed = block_rows * (dimension + 2);
    if (memory.size() < needed) memory.resize(needed);
    rows_ = memory.data();
    first_ = rows_ + block_rows * dimension;
    second_ = first_ + block_rows;
  }

  RowBlock rows(Index count) const { return {rows_, count, dimension_}; }
  VectorMap first(Index count) const { return {first_, count}; }
  VectorMap second(Index count) const { return {second_, count}; }

 private:
  Index dimension_;
  double* rows_;
  double* first_;
  double* second_;
};

inline Index batch_size(const DenseRows& rows, Batch batch) {
  return batch.whole() ? rows.rows() : static_cast<Index>(batch.rows().size());
}

inline Index row_of(Batch batch, Index position) {
  return batch.whole() ? position : static_cast<Index>(batch.rows()[position]);
}

/// Rows [begin, begin + count) of the batch: in place where the batch is whole, else gathered.
inline ConstRowBlock block_of(const DenseRows& rows, Batch batch, Index begin, Index count,
                              const Workspace& work) {
  if (batch.whole()) return {rows.data() + begin * rows.cols(), count, rows.cols()};
  RowBlock gathered = work.rows(count);
  for (Index k = 0; k < count; ++k) gathered.row(k) = rows.row(row_of(batch, begin + k));
  return {gathered.data(), count, rows.cols()};
}

/// Lower triangle of hessian += scaled' scaled.
inline void add_gram(const RowBlock& scaled, Matrix& hessian) {
  const Index dimension = hessian.cols();
  for (Index left = 0; left < dimension; left += tile) {
    const Index width = std::min(tile, dimension - left);
    const auto columns = scaled.middleCols(left, width);
    hessian.block(left, left, width, width)
        .selfadjointView<Eigen::Lower>()
        .rankUpdate(columns.transpose());
    for (Index top = left + width; top < dimension; top += tile) {
      const Index height = std::min(tile, dimension - top);
      hessian.block(top, left, height, width).noalias() +=
          scaled.middleCols(top, height).transpose() * columns;
    }
  }
}

}  // namespace grove::dense

namespace grove {

/// Returns the sum of the losses over the batch; adds the sums of the gradients and of the Hessians
/// (lower triangle) to what is not null.
template <class LossType>
double add_losses(const LossType& loss, const DenseRows& rows, const Vector& targets, Batch batch,
                  const Vector& x, Vector* gradient, Matrix* hessian, std::vector<double>& memory) {
  const dense::Workspace work(memory, rows.cols());
  const Index size = dense::batch_size(rows, batch);
  double total = 0;
  for (Index begin = 0; begin < size; begin += dense::block_rows) {
    const Index count = std::min(dense::block_rows, size - begin);
    const dense::ConstRowBlock block = dense::block_of(rows, batch, begin, count, work);
    dense::VectorMap slope = work.first(count);
    dense::VectorMap root = work.second(count);  // of the curvature
    slope.noalias() = block * x;
    double block_total = 0;
    for (Index k = 0; k < count; ++k) {
      const LossPoint point = loss.at(slope[k], targets[dense::row_of(batch, begin + k)]);
      block_total += point.value;
      slope[k] = point.slope;
      root[k] = std::sqrt(point.curvature);
    }
    total += block_total;
    if (gradient) gradient->noalias() += block.transpose() * slope;
    if (hessian) {
      dense::RowBlock scaled = work.rows(count);  // may be the gathered block itself
      for (Index k = 0; k < count; ++k) scaled.row(k) = root[k] * block.row(k);
      dense::add_gram(scaled, *hessian);
    }
  }
  return total;
}

/// result += (sum over the batch of the Hessians at x) * direction.
template <class LossType>
void add_curvature_times(const LossType& loss, const DenseRows& rows, const Vector& targets,
                         Batch batch, const Vector& x, const Vector& direction, Vector& result,
                         std::vector<double>& memory) {
  const dense::Workspace work(memory, rows.cols());
  const Index size = dense::batch_size(rows, batch);
  for (Index begin = 0; begin < size; begin += dense::block_rows) {
    const Index count = std::min(dense::block_rows, size - begin);
    const dense::ConstRowBlock block = dense::block_of(rows, batch, begin, count, work);
    dense::VectorMap margin = work.first(count);
    dense::VectorMap change = work.second(count);
    margin.noalias() = block * x;
    change.noalias() = block * direction;
    for (Index k = 0; k < count; ++k)
      change[k] *= loss.at(margin[k], targets[dense::row_of(batch, begin + k)]).curvature;
    result.noalias() += block.transpose() * change;
  }
}

}  // namespace grove
