#include "grove/data/dataset.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "grove/base/random.h"
#include "grove/base/text.h"
#include "grove/data/readers.h"
#include "grove/data/synthetic.h"
#include "grove/data/text_blocks.h"

namespace grove {
namespace {

template <class Rows>
Rows gather(const Rows& from, const std::vector<std::uint32_t>& rows);

template <>
DenseRows gather(const DenseRows& from, const std::vector<std::uint32_t>& rows) {
  DenseRows taken(static_cast<Index>(rows.size()), from.cols());
  for (std::size_t k = 0; k < rows.size(); ++k)
    taken.row(static_cast<Index>(k)) = from.row(rows[k]);
  return taken;
}

template <>
SparseRows gather(const SparseRows& from, const std::vector<std::uint32_t>& rows) {
  const std::int32_t* starts = from.outerIndexPtr();
  SparseRows taken(static_cast<Index>(rows.size()), from.cols());
  std::int32_t* ends = taken.outerIndexPtr();
  ends[0] = 0;
  for (std::size_t k = 0; k < rows.size(); ++k)
    ends[k + 1] = ends[k] + starts[rows[k] + 1] - starts[rows[k]];
  taken.resizeNonZeros(ends[rows.size()]);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::int32_t first = starts[rows[k]];
    const std::int32_t size = starts[rows[k] + 1] - first;
    std::copy_n(from.innerIndexPtr() + first, size, taken.innerIndexPtr() + ends[k]);
    std::copy_n(from.valuePtr() + first, size, taken.valuePtr() + ends[k]);
  }
  return taken;
}

}  // namespace

Result<Dataset> load_dataset(const std::string& source, TargetKind kind, std::uint64_t seed,
                             const ReadOptions& options) {
  if (is_synthetic(source)) return make_synthetic(source, kind, seed);
  if (lowercase(without_compression(source).extension().string()) == ".csv")
    return read_csv_file(source, kind, options);
  return read_libsvm_file(source, kind, options);
}

// Knuth's selection sampling: one pass, every subset of the size equally likely, rows in order.
Result<Dataset> subsample(Dataset dataset, std::size_t count, std::uint64_t seed) {
  const auto available = static_cast<std::size_t>(dataset.samples.count());
  if (count == 0 || count == available) return dataset;
  if (count > available)
    return Error{"--samples", fmt::format("expected at most the {} samples of {}, found {}",
                                          available, dataset.source, count)};
  KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::subsample});
  std::vector<std::uint32_t> rows;
  rows.reserve(count);
  for (std::size_t row = 0; rows.size() < count; ++row)
    if (random.below(available - row) < count - rows.size())
      rows.push_back(static_cast<std::uint32_t>(row));
  dataset.samples = take_rows(dataset.samples, rows);
  const Vector& targets = dataset.samples.targets;
  if (dataset.labels && targets.minCoeff() == targets.maxCoeff())
    return Error{"--samples",
                 fmt::format("the {} samples drawn from {} all have one label, expected "
                             "both; draw more or change --seed",
                             count, dataset.source)};
  return dataset;
}

Samples take_rows(const Samples& samples, const std::vector<std::uint32_t>& rows) {
  assert(std::ranges::all_of(rows, [&](std::uint32_t row) { return row < samples.count(); }));
  Samples taken;
  taken.features = std::visit([&](const auto& from) -> Features { return gather(from, rows); },
                              samples.features);
  taken.targets.resize(static_cast<Index>(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k)
    taken.targets[static_cast<Index>(k)] = samples.targets[rows[k]];
  return taken;
}

Samples widen(Samples samples, Index dimension) {
  assert(dimension >= samples.dimension());
  if (auto* sparse = std::get_if<SparseRows>(&samples.features)) {
    sparse->conservativeResize(sparse->rows(), dimension);
  } else {
    auto& dense = std::get<DenseRows>(samples.features);
    const Index added = dimension - dense.cols();
    dense.conservativeResize(Eigen::NoChange, dimension);
    dense.rightCols(added).setZero();
  }
  return samples;
}

}  // namespace grove
