#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/dataset.h"
#include "grove/data/row_block.h"
#include "grove/data/text_blocks.h"

namespace grove {

/// Joins parsed rows and, for two classes, maps the labels: smaller to 0, larger to 1.
Result<Dataset> make_dataset(std::string source, std::vector<RowBlock> blocks, TargetKind kind);

/// Read a whole file, compressed or not. The result is the same for any number of threads.
Result<Dataset> read_libsvm_file(const std::string& path, TargetKind kind,
                                 const ReadOptions& options = {});
Result<Dataset> read_csv_file(const std::string& path, TargetKind kind,
                              const ReadOptions& options = {});

/// Read a text in memory; `source` names it in messages.
Result<Dataset> read_libsvm_text(std::string_view text, const std::string& source, TargetKind kind,
                                 const ReadOptions& options = {}, const TextOptions& blocks = {});
Result<Dataset> read_csv_text(std::string_view text, const std::string& source, TargetKind kind,
                              const ReadOptions& options = {}, const TextOptions& blocks = {});

}  // namespace grove
