#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/samples.h"

namespace grove {

enum class TargetKind { two_classes, number };

/// Everything read from one source, before it is split among agents.
struct Dataset {
  std::string source;  ///< file name or `synthetic:...`, for messages
  Samples samples;
  std::optional<LabelNames> labels;  ///< set for two_classes
};

/// Reads `synthetic:NAME[,key=value...]`, a LIBSVM text or a CSV with a header line (by the name's
/// ending, after .bz2, .gz or .xz), and maps two class labels to 0/1. `seed` is for synthetic sets.
/// `label_column` is for CSV: the column's name; empty: `label`, `target`, `y` or the last one.
Result<Dataset> load_dataset(const std::string& source, TargetKind kind, std::uint64_t seed,
                             const std::string& label_column = {});

/// `count` rows drawn without replacement, in file order. 0: all.
Result<Dataset> subsample(Dataset dataset, std::size_t count, std::uint64_t seed);

/// The listed rows, in that order.
Samples take_rows(const Samples& samples, const std::vector<std::uint32_t>& rows);

/// Which rows reach which agent: `even` (shuffled), `stride` (agent i gets rows i, i+n, ... in file
/// order), `label-skew:A` (Dirichlet(A) per class), `size-skew:A` (shard sizes Dirichlet(A)), or a file
/// with one agent number per row. Every agent gets at least one row or it is an error.
Result<std::vector<std::vector<std::uint32_t>>> partition(const Samples& samples,
                                                          const std::string& description,
                                                          std::size_t agents, std::uint64_t seed);

}  // namespace grove
