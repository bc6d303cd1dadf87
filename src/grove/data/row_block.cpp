#include "grove/data/row_block.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace grove {
namespace {

struct Shape {
  std::size_t rows = 0;
  std::size_t nonzeros = 0;
  std::int32_t columns = 0;

  bool dense() const {
    const double cells = static_cast<double>(rows) * columns;
    return static_cast<double>(nonzeros) > dense_above_density * cells;
  }
};

Shape shape_of(const std::vector<RowBlock>& blocks) {
  Shape shape;
  for (const RowBlock& block : blocks) {
    shape.rows += block.labels.size();
    shape.nonzeros += block.values.size();
    shape.columns = std::max(shape.columns, block.dimension);
  }
  return shape;
}

void release(RowBlock& block) { block = RowBlock{}; }

/// The matrix is allocated without touching it, so its pages become resident only as rows arrive.
DenseRows join_dense(std::vector<RowBlock>& blocks, const Shape& shape, Vector& targets) {
  DenseRows rows(static_cast<Index>(shape.rows), shape.columns);
  Index row = 0;
  for (RowBlock& block : blocks) {
    std::size_t entry = 0;
    for (std::size_t k = 0; k < block.labels.size(); ++k, ++row) {
      targets[row] = block.labels[k];
      rows.row(row).setZero();
      for (; entry < block.row_ends[k]; ++entry)
        rows(row, block.columns[entry]) = block.values[entry];
    }
    release(block);
  }
  return rows;
}

SparseRows join_sparse(std::vector<RowBlock>& blocks, const Shape& shape, Vector& targets) {
  SparseRows rows(static_cast<Index>(shape.rows), shape.columns);
  rows.resizeNonZeros(static_cast<Index>(shape.nonzeros));
  Index row = 0;
  std::size_t copied = 0;
  rows.outerIndexPtr()[0] = 0;
  for (RowBlock& block : blocks) {
    std::ranges::copy(block.columns, rows.innerIndexPtr() + copied);
    std::ranges::copy(block.values, rows.valuePtr() + copied);
    for (std::size_t k = 0; k < block.labels.size(); ++k, ++row) {
      targets[row] = block.labels[k];
      rows.outerIndexPtr()[row + 1] = static_cast<std::int32_t>(copied + block.row_ends[k]);
    }
    copied += block.values.size();
    release(block);
  }
  return rows;
}

}  // namespace

Result<Samples> assemble(const std::string& source, std::vector<RowBlock> blocks) {
  const Shape shape = shape_of(blocks);
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  if (shape.rows == 0) return Error{source, "has no samples, expected at least one line of data"};
  if (shape.columns == 0)
    return Error{source, "has labels but no features, expected index:value pairs after the labels"};
  if (shape.rows > most)
    return Error{source, fmt::format("has {} samples, expected at most {}", shape.rows, most)};
  if (!shape.dense() && shape.nonzeros > most)
    return Error{source, fmt::format("has {} non-zero values, expected at most {} in sparse data",
                                     shape.nonzeros, most)};
  Samples samples;
  samples.targets.resize(static_cast<Index>(shape.rows));
  if (shape.dense())
    samples.features = join_dense(blocks, shape, samples.targets);
  else
    samples.features = join_sparse(blocks, shape, samples.targets);
  return samples;
}

}  // namespace grove
