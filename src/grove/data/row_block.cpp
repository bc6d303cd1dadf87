#include "grove/data/row_block.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <sys/mman.h>

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

/// Asks for large pages under an array that nobody has touched yet: filling it would stop at every
/// 4 KiB otherwise, which takes as long as parsing. Only advice: nothing to check.
template <class T>
void advise_large_pages(T* array, std::size_t size) {
  constexpr std::uintptr_t page = 4096;
  const std::uintptr_t into_page = reinterpret_cast<std::uintptr_t>(array) % page;
  const std::size_t length = (into_page + size * sizeof(T)) / page * page;
  if (length > 0) ::madvise(reinterpret_cast<char*>(array) - into_page, length, MADV_HUGEPAGE);
}

/// A block with room for many like the first that goes into it.
RowBlock room_for_many_like(const RowBlock& first) {
  constexpr std::size_t times = 64;
  RowBlock block;
  block.labels.reserve(times * first.labels.size());
  block.row_ends.reserve(times * first.row_ends.size());
  block.columns.reserve(times * first.columns.size());
  block.values.reserve(times * first.values.size());
  advise_large_pages(block.columns.data(), block.columns.capacity());
  advise_large_pages(block.values.data(), block.values.capacity());
  return block;
}

/// Some consecutive rows of a block.
struct Rows {
  const RowBlock& block;
  std::size_t first, last;
  Index row;          ///< where the first of the block goes
  std::size_t entry;  ///< likewise its first entry

  std::size_t entries_before(std::size_t k) const { return k == 0 ? 0 : block.row_ends[k - 1]; }
};

/// Calls copy(rows) for all rows, many at once, and releases each block when it is done.
template <class Copy>
void copy_rows(std::vector<RowBlock>& blocks, const Copy& copy) {
  constexpr std::size_t fewest_rows = 1024;
  Index row = 0;
  std::size_t entry = 0;
  for (RowBlock& block : blocks) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, block.labels.size(), fewest_rows),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        copy(Rows{block, range.begin(), range.end(), row, entry});
                      });
    row += static_cast<Index>(block.labels.size());
    entry += block.values.size();
    block = RowBlock{};
  }
}

void copy_labels(const Rows& rows, Vector& targets) {
  const double* const labels = rows.block.labels.data();
  std::copy(labels + rows.first, labels + rows.last,
            targets.data() + rows.row + static_cast<Index>(rows.first));
}

/// The matrix is allocated without touching it, so its pages become resident only as rows arrive.
DenseRows join_dense(std::vector<RowBlock>& blocks, const Shape& shape, Vector& targets) {
  DenseRows matrix(static_cast<Index>(shape.rows), shape.columns);
  advise_large_pages(matrix.data(), static_cast<std::size_t>(matrix.size()));
  copy_rows(blocks, [&](const Rows& rows) {
    copy_labels(rows, targets);
    std::size_t entry = rows.entries_before(rows.first);
    for (std::size_t k = rows.first; k < rows.last; ++k) {
      const Index row = rows.row + static_cast<Index>(k);
      matrix.row(row).setZero();
      for (; entry < rows.block.row_ends[k]; ++entry)
        matrix(row, rows.block.columns[entry]) = rows.block.values[entry];
    }
  });
  return matrix;
}

SparseRows join_sparse(std::vector<RowBlock>& blocks, const Shape& shape, Vector& targets) {
  SparseRows matrix(static_cast<Index>(shape.rows), shape.columns);
  matrix.resizeNonZeros(static_cast<Index>(shape.nonzeros));
  advise_large_pages(matrix.valuePtr(), shape.nonzeros);
  advise_large_pages(matrix.innerIndexPtr(), shape.nonzeros);
  matrix.outerIndexPtr()[0] = 0;
  copy_rows(blocks, [&](const Rows& rows) {
    copy_labels(rows, targets);
    const std::size_t first = rows.entries_before(rows.first);
    const std::size_t size = rows.entries_before(rows.last) - first;
    std::copy_n(rows.block.columns.data() + first, size,
                matrix.innerIndexPtr() + rows.entry + first);
    std::copy_n(rows.block.values.data() + first, size, matrix.valuePtr() + rows.entry + first);
    for (std::size_t k = rows.first; k < rows.last; ++k)
      matrix.outerIndexPtr()[rows.row + static_cast<Index>(k) + 1] =
          static_cast<std::int32_t>(rows.entry + rows.block.row_ends[k]);
  });
  return matrix;
}

}  // namespace

void append(const RowBlock& from, std::vector<RowBlock>& joined) {
  constexpr std::size_t most_entries = std::size_t{1} << 22;
  if (joined.empty() || joined.back().values.size() > most_entries)
    joined.push_back(room_for_many_like(from));
  RowBlock& to = joined.back();
  const std::size_t before = to.columns.size();
  to.labels.insert(to.labels.end(), from.labels.begin(), from.labels.end());
  for (const std::size_t end : from.row_ends) to.row_ends.push_back(before + end);
  to.columns.insert(to.columns.end(), from.columns.begin(), from.columns.end());
  to.values.insert(to.values.end(), from.values.begin(), from.values.end());
  to.dimension = std::max(to.dimension, from.dimension);
}

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
