#include "grove/data/readers.h"

#include <cassert>
#include <functional>
#include <optional>

#include "grove/data/csv.h"
#include "grove/data/labels.h"
#include "grove/data/libsvm.h"

namespace grove {
namespace {

/// Where blocks come from: a file or a text in memory.
using BlockSource = std::function<Status(const BlockReader&)>;

/// What becomes of each block in turn.
using BlockParser = std::function<Result<RowBlock>(TextBlock)>;

Result<Dataset> read_all(const BlockSource& blocks, const std::string& source, TargetKind kind,
                         const BlockParser& parse) {
  std::vector<RowBlock> rows;
  const Status status = blocks([&](const TextBlock& block) -> Status {
    Result<RowBlock> parsed = parse(block);
    if (!parsed) return parsed.error();
    rows.push_back(std::move(*parsed));
    return success();
  });
  if (!status) return status.error();
  return make_dataset(source, std::move(rows), kind);
}

Result<Dataset> read_libsvm(const BlockSource& blocks, const std::string& source, TargetKind kind) {
  return read_all(blocks, source, kind,
                  [&](const TextBlock& block) { return parse_libsvm(block, source); });
}

Result<Dataset> read_csv(const BlockSource& blocks, const std::string& source, TargetKind kind,
                         const std::string& label_column) {
  std::optional<CsvHeader> header;
  return read_all(blocks, source, kind, [&](TextBlock block) -> Result<RowBlock> {
    if (!header) {
      Result<CsvHeader> taken = take_csv_header(block, source, label_column);
      if (!taken) return taken.error();
      header = std::move(*taken);
    }
    return parse_csv(block, source, *header);
  });
}

BlockSource from_file(const std::string& path) {
  return [path](const BlockReader& read) { return read_blocks(path, read); };
}

BlockSource from_text(std::string_view text, const TextOptions& options) {
  return [=](const BlockReader& read) { return read_text_blocks(text, read, options); };
}

}  // namespace

Result<Dataset> make_dataset(std::string source, std::vector<RowBlock> blocks, TargetKind kind) {
  Result<Samples> samples = assemble(source, std::move(blocks));
  if (!samples) return samples.error();
  Dataset dataset{std::move(source), std::move(*samples), std::nullopt};
  if (kind == TargetKind::number) return dataset;
  const Result<LabelNames> labels = find_labels(dataset.source, dataset.samples.targets);
  if (!labels) return labels.error();
  [[maybe_unused]] const Status applied = apply_labels(*labels, dataset);
  assert(applied);
  return dataset;
}

Result<Dataset> read_libsvm_file(const std::string& path, TargetKind kind) {
  return read_libsvm(from_file(path), path, kind);
}

Result<Dataset> read_csv_file(const std::string& path, TargetKind kind,
                              const std::string& label_column) {
  return read_csv(from_file(path), path, kind, label_column);
}

Result<Dataset> read_libsvm_text(std::string_view text, const std::string& source, TargetKind kind,
                                 const TextOptions& options) {
  return read_libsvm(from_text(text, options), source, kind);
}

Result<Dataset> read_csv_text(std::string_view text, const std::string& source, TargetKind kind,
                              const std::string& label_column, const TextOptions& options) {
  return read_csv(from_text(text, options), source, kind, label_column);
}

}  // namespace grove
