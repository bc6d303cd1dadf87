#include "grove/data/row_block.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include "grove/base/page_advice.h"

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

Shape shape_of(const std::vector<GatheredRows>& parts) {
  Shape shape;
  for (const GatheredRows& part : parts) {
    shape.rows += part.labels.size();
    shape.nonzeros += static_cast<std::size_t>(part.entries.size());
    shape.columns = std::max(shape.columns, part.dimension);
  }
  return shape;
}

/// With room for many blocks like the first that goes into it.
GatheredRows room_for_many_like(const RowBlock& first) {
  constexpr std::size_t times = 128;
  GatheredRows rows;
  rows.labels.reserve(times * first.labels.size());
  rows.row_ends.reserve(times * first.row_ends.size());
  const std::size_t room = times * first.values.size();
  rows.entries.reserve(static_cast<Index>(room));
  advise_large_pages(rows.entries.indexPtr(), room * sizeof(*rows.entries.indexPtr()));
  advise_large_pages(rows.entries.valuePtr(), room * sizeof(*rows.entries.valuePtr()));
  return rows;
}

/// Some consecutive rows of a part.
struct Rows {
  const GatheredRows& part;
  std::size_t first, last;
  Index row;          ///< where the first of the part goes
  std::size_t entry;  ///< likewise its first entry

  std::size_t entries_before(std::size_t k) const { return k == 0 ? 0 : part.row_ends[k - 1]; }
};

/// Calls copy(rows) for all rows, many at once, and releases each part when it is done.
template <class Copy>
void copy_rows(std::vector<GatheredRows>& parts, const Copy& copy) {
  constexpr std::size_t fewest_rows = 1024;
  Index row = 0;
  std::size_t entry = 0;
  for (GatheredRows& part : parts) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, part.labels.size(), fewest_rows),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        copy(Rows{part, range.begin(), range.end(), row, entry});
                      });
    row += static_cast<Index>(part.labels.size());
    entry += static_cast<std::size_t>(part.entries.size());
    const GatheredRows released = std::move(part);
  }
}

void copy_labels(const Rows& rows, Vector& targets) {
  const double* const labels = rows.part.labels.data();
  std::copy(labels + rows.first, labels + rows.last,
            targets.data() + rows.row + static_cast<Index>(rows.first));
}

/// The matrix is allocated without touching it, so its pages become resident only as rows arrive.
DenseRows join_dense(std::vector<GatheredRows>& parts, const Shape& shape, Vector& targets) {
  DenseRows matrix(static_cast<Index>(shape.rows), shape.columns);
  advise_large_pages(matrix.data(), static_cast<std::size_t>(matrix.size()) * sizeof(double));
  copy_rows(parts, [&](const Rows& rows) {
    copy_labels(rows, targets);
    const std::int32_t* const columns = rows.part.entries.indexPtr();
    const double* const values = rows.part.entries.valuePtr();
    std::size_t entry = rows.entries_before(rows.first);
    populate_pages(
        &matrix(rows.row + static_cast<Index>(rows.first), 0),
        (rows.last - rows.first) * static_cast<std::size_t>(matrix.cols()) * sizeof(double));
    for (std::size_t k = rows.first; k < rows.last; ++k) {
      const Index row = rows.row + static_cast<Index>(k);
      matrix.row(row).setZero();
      for (; entry < rows.part.row_ends[k]; ++entry) matrix(row, columns[entry]) = values[entry];
    }
  });
  return matrix;
}

SparseRows join_sparse(std::vector<GatheredRows>& parts, const Shape& shape, Vector& targets) {
  SparseRows matrix(static_cast<Index>(shape.rows), shape.columns);
  if (parts.size() == 1) {
    GatheredRows& part = parts.front();
    std::ranges::copy(part.labels, targets.data());
    matrix.outerIndexPtr()[0] = 0;
    std::ranges::copy(part.row_ends, matrix.outerIndexPtr() + 1);
    matrix.data().swap(part.entries);
    return matrix;
  }
  matrix.resizeNonZeros(static_cast<Index>(shape.nonzeros));
  advise_large_pages(matrix.valuePtr(), shape.nonzeros * sizeof(double));
  advise_large_pages(matrix.innerIndexPtr(), shape.nonzeros * sizeof(std::int32_t));
  matrix.outerIndexPtr()[0] = 0;
  copy_rows(parts, [&](const Rows& rows) {
    copy_labels(rows, targets);
    const std::size_t first = rows.entries_before(rows.first);
    const std::size_t size = rows.entries_before(rows.last) - first;
    std::copy_n(rows.part.entries.indexPtr() + first, size,
                matrix.innerIndexPtr() + rows.entry + first);
    std::copy_n(rows.part.entries.valuePtr() + first, size, matrix.valuePtr() + rows.entry + first);
    for (std::size_t k = rows.first; k < rows.last; ++k)
      matrix.outerIndexPtr()[rows.row + static_cast<Index>(k) + 1] =
          static_cast<std::int32_t>(rows.entry + rows.part.row_ends[k]);
  });
  return matrix;
}

}  // namespace

void RowBlock::make_room(std::size_t text_bytes) {
  constexpr std::size_t usual_entry = 6;  ///< bytes; more room comes as it is needed
  if (values.capacity() > 0) return;
  columns.reserve(text_bytes / usual_entry);
  values.reserve(text_bytes / usual_entry);
  populate_pages(columns.data(), columns.capacity() * sizeof(columns[0]));
  populate_pages(values.data(), values.capacity() * sizeof(values[0]));
}

void append(const RowBlock& from, std::vector<GatheredRows>& gathered) {
  constexpr Index most_entries = Index{1} << 22;
  if (gathered.empty() || gathered.back().entries.size() > most_entries)
    gathered.push_back(room_for_many_like(from));
  GatheredRows& to = gathered.back();
  const Index before = to.entries.size();
  to.labels.insert(to.labels.end(), from.labels.begin(), from.labels.end());
  for (const std::size_t end : from.row_ends)
    to.row_ends.push_back(static_cast<std::size_t>(before) + end);
  to.entries.resize(before + std::ssize(from.columns), 0.5);  // more room than asked for, if any
  populate_pages(to.entries.indexPtr() + before, from.columns.size() * sizeof(from.columns[0]));
  std::ranges::copy(from.columns, to.entries.indexPtr() + before);
  populate_pages(to.entries.valuePtr() + before, from.values.size() * sizeof(from.values[0]));
  std::ranges::copy(from.values, to.entries.valuePtr() + before);
  to.dimension = std::max(to.dimension, from.dimension);
}

Result<Samples> assemble(const std::string& source, std::vector<GatheredRows> parts) {
  const Shape shape = shape_of(parts);
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
    samples.features = join_dense(parts, shape, samples.targets);
  else
    samples.features = join_sparse(parts, shape, samples.targets);
  return samples;
}

}  // namespace grove
