#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/partition.h"
#include "grove/data/samples.h"

namespace grove {

enum class TargetKind { two_classes, number };

/// Everything read from one source, before it is split among agents.
struct Dataset {
  std::string source;  ///< file name or `synthetic:...`, for messages
  Samples samples;
  std::optional<LabelNames> labels;    ///< set for two_classes
  std::optional<ColumnNames> columns;  ///< set for CSV
};

struct ReadOptions {
  /// For CSV: the column's name; empty: `label`, `target`, `y` (in any case) or the last one.
  std::string label_column = {};
  /// Of the model that a CSV file is for: its columns are found by these names, others are not
  /// looked at, and the label may be missing.
  std::optional<ColumnNames> model_columns = {};
  /// Of the model that the data is for: where they are words, the CSV's are.
  std::optional<LabelNames> model_labels = {};
  /// Of the model that the data is for, which may lack labels: targets are NaN then. A CSV does so
  /// if it has that number of columns, none of them named as a label is; a LIBSVM line if it begins
  /// with index:value. 0: every file has labels.
  std::size_t model_features = 0;
  /// Of a LIBSVM file. 0: up to the largest index, which must not be one line's alone by far.
  std::size_t features = 0;
  int threads = 0;  ///< that parse at once; 0: as many as the process may use
};

/// Reads `synthetic:NAME[,key=value...]`, a LIBSVM text or a CSV with a header line (by the name's
/// ending, after .bz2, .gz or .xz), and maps two class labels to 0/1. `seed` is for synthetic sets.
Result<Dataset> load_dataset(const std::string& source, TargetKind kind, std::uint64_t seed,
                             const ReadOptions& options = {});

/// Maps the targets of data read as numbers to 0 and 1 with the labels of a trained model. A target
/// that is neither label is an error.
Status apply_labels(const LabelNames& labels, Dataset& dataset);

/// `count` rows drawn without replacement, in file order. 0: all.
Result<Dataset> subsample(Dataset dataset, std::size_t count, std::uint64_t seed);

/// The listed rows, in that order.
Samples take_rows(const Samples& samples, const std::vector<std::uint32_t>& rows);

/// The same samples with columns of zeros added up to `dimension`: a test set may lack the last
/// features of its training set. `dimension` must not be smaller than what is there.
Samples widen(Samples samples, Index dimension);

/// Which rows reach which agent: `even` (shuffled), `stride` (agent i gets rows i, i+n, ... in file
/// order), `label-skew:A` (each class is dealt in Dirichlet(A) proportions), `size-skew:A` (shard
/// sizes are Dirichlet(A)), or a file with one agent number per row. Rows of an agent are in file
/// order. Where a skewed draw leaves an agent without rows it is given the last one of the largest
/// shard; a file that does so is an error.
Result<Shards> partition(const Vector& targets, const PartitionSpec& spec, std::size_t agents,
                         std::uint64_t seed);
inline Result<Shards> partition(const Samples& samples, const PartitionSpec& spec,
                                std::size_t agents, std::uint64_t seed) {
  return partition(samples.targets, spec, agents, seed);
}

}  // namespace grove
