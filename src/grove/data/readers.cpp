#include "grove/data/readers.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <functional>
#include <optional>

#include <fmt/format.h>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include "grove/data/csv.h"
#include "grove/data/labels.h"
#include "grove/data/libsvm.h"
#include "grove/data/lines.h"

namespace grove {
namespace {

/// How a text becomes rows.
struct Format {
  /// Takes what comes before the rows off the first block and returns how many lines it was.
  std::function<Result<std::size_t>(std::string_view&)> take_header;
  /// Called for several blocks at once, with rows whose memory can be used again.
  std::function<ParsedBlock(std::string_view, RowBlock)> parse;
};

/// Blocks on their way from text to rows: read one after another, parsed several at once, collected
/// in order. Rows and errors are those of one thread alone.
class BlockPipeline {
 public:
  BlockPipeline(BlockSource& blocks, const Format& format, const std::string& source)
      : blocks_(blocks), format_(format), source_(source) {}

  /// Of all lines read by run().
  const WidestLine& widest() const { return widest_; }

  Result<std::vector<GatheredRows>> run() {
    if (Status status = take_first(); !status) return status.error();
    // Enough that nobody waits for a slow block, few enough that little text is held at once.
    const auto most_in_flight =
        2 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    using tbb::filter_mode;
    tbb::parallel_pipeline(
        most_in_flight,
        tbb::make_filter<void, Piece>(filter_mode::serial_in_order,
                                      [this](tbb::flow_control& flow) { return read(flow); }) &
            tbb::make_filter<Piece, Piece>(
                filter_mode::parallel, [this](Piece piece) { return parse(std::move(piece)); }) &
            tbb::make_filter<Piece, void>(filter_mode::serial_in_order,
                                          [this](Piece piece) { collect(std::move(piece)); }));
    if (error_) return std::move(*error_);
    return std::move(rows_);
  }

 private:
  struct Work {
    Result<TextBlock> block = TextBlock{};
    ParsedBlock parsed = {};
  };
  using Piece = std::shared_ptr<Work>;  // the pipeline copies what it hands on

  Status take_first() {
    first_ = blocks_.next();
    if (!*first_) return first_->error();
    if (!format_.take_header || (*first_)->text.empty()) return success();
    const Result<std::size_t> lines = format_.take_header((*first_)->text);
    if (!lines) return lines.error();
    lines_ = *lines;
    return success();
  }

  Piece read(tbb::flow_control& flow) {
    Piece piece;
    if (!used_.try_pop(piece)) piece = std::make_shared<Work>();
    if (first_) {
      piece->block = std::move(*first_);
      first_.reset();
      return piece;
    }
    piece->block = stopped_ ? TextBlock{} : blocks_.next();
    if (!piece->block) stopped_ = true;
    if (piece->block && piece->block->text.empty()) flow.stop();
    return piece;
  }

  Piece parse(Piece piece) const {
    if (piece->block) piece->parsed.rows.make_room(piece->block->text.size());
    if (piece->block)
      piece->parsed = format_.parse(piece->block->text, std::move(piece->parsed.rows));
    return piece;
  }

  void collect(Piece piece) {
    if (error_) return;
    WidestLine widest = piece->parsed.widest;
    widest.line += lines_;
    widest_.add(widest);
    lines_ += piece->parsed.lines;
    if (!piece->block)
      error_ = piece->block.error();
    else if (auto& complaint = piece->parsed.complaint)
      error_ = line_error(source_, lines_, std::move(*complaint));
    else
      append(piece->parsed.rows, rows_);
    if (error_) stopped_ = true;
    used_.push(std::move(piece));
  }

  BlockSource& blocks_;
  const Format& format_;
  const std::string& source_;
  std::optional<Result<TextBlock>> first_;  ///< until it is on its way
  std::size_t lines_ = 0;                   ///< of the header and of the blocks collected
  WidestLine widest_;
  std::vector<GatheredRows> rows_;
  tbb::concurrent_queue<Piece> used_;  ///< collected; the memory of their rows is warm
  std::optional<Error> error_;         ///< the first in the file
  std::atomic<bool> stopped_{false};   ///< an error makes the rest of the file pointless
};

/// For two classes, maps the labels: smaller to 0, larger to 1.
Result<Dataset> classified(Dataset dataset, TargetKind kind) {
  if (kind == TargetKind::number) return dataset;
  const Result<LabelNames> labels = find_labels(dataset.source, dataset.samples.targets);
  if (!labels) return labels.error();
  [[maybe_unused]] const Status applied = apply_labels(*labels, dataset);
  assert(applied);
  return dataset;
}

/// Questions an index that is one line's alone and far above all others: probably a digit too many,
/// for which every agent would take gigabytes.
Status check_width(const std::string& source, const WidestLine& widest, std::size_t features) {
  constexpr std::int32_t harmless = 1'000'000, far = 100;
  const auto largest = static_cast<std::size_t>(widest.index);
  if (features > 0 && largest > features)
    return line_error(source, widest.line,
                      fmt::format("expected indices up to {}, the --features given, found {}",
                                  features, widest.index));
  if (features > 0 || widest.index < harmless || widest.others == 0 ||
      widest.index / far < widest.others)
    return success();
  return line_error(source, widest.line,
                    fmt::format("index {} is far above those of all other lines, which end at {}; "
                                "if it is right, expected --features {}",
                                widest.index, widest.others, widest.index));
}

/// With targets as the file has them.
Result<Dataset> read_all(BlockSource& blocks, const std::string& source, const ReadOptions& options,
                         const Format& format) {
  const int most = tbb::info::default_concurrency();  // more would only take turns
  tbb::task_arena arena(options.threads > 0 ? std::min(options.threads, most) : most);
  return arena.execute([&]() -> Result<Dataset> {
    BlockPipeline pipeline(blocks, format, source);
    Result<std::vector<GatheredRows>> rows = pipeline.run();
    if (!rows) return rows.error();
    if (options.model_features == 0)
      if (Status status = check_width(source, pipeline.widest(), options.features); !status)
        return status.error();
    Result<Samples> samples = assemble(source, std::move(*rows));
    if (!samples) return samples.error();
    return Dataset{.source = source, .samples = std::move(*samples)};
  });
}

Result<Dataset> read_libsvm(BlockSource& blocks, const std::string& source, TargetKind kind,
                            const ReadOptions& options) {
  const Labels labels = options.model_features > 0 ? Labels::optional : Labels::needed;
  const auto parse = [labels](std::string_view text, RowBlock memory) {
    return parse_libsvm(text, std::move(memory), labels);
  };
  auto dataset = read_all(blocks, source, options, Format{{}, parse});
  const auto features = static_cast<Index>(options.features);
  if (dataset && features > dataset->samples.dimension())
    dataset->samples = widen(std::move(dataset->samples), features);
  return dataset ? classified(std::move(*dataset), kind) : dataset;
}

Result<Dataset> read_csv(BlockSource& blocks, const std::string& source, TargetKind kind,
                         const ReadOptions& options) {
  CsvHeader header;
  const bool words = options.model_labels && options.model_labels->are_texts();
  LabelTexts texts(
      words ? std::vector(options.model_labels->texts.begin(), options.model_labels->texts.end())
            : std::vector<std::string>{});
  const auto take_header = [&](std::string_view& text) -> Result<std::size_t> {
    Result<CsvHeader> taken = take_csv_header(text, source, options);
    if (!taken) return taken.error();
    header = std::move(*taken);
    if (words || (kind == TargetKind::two_classes && has_label_texts(text, header)))
      header.texts = &texts;
    return header.lines;
  };
  const auto parse = [&](std::string_view text, RowBlock memory) {
    return parse_csv(text, header, std::move(memory));
  };
  auto dataset = read_all(blocks, source, options, Format{take_header, parse});
  if (!dataset) return dataset;
  dataset->columns = header.columns();
  if (!header.texts) return classified(std::move(*dataset), kind);
  if (kind == TargetKind::two_classes)
    if (Status status = texts.apply(*dataset); !status) return status.error();
  return dataset;
}

}  // namespace

Result<Dataset> make_dataset(std::string source, std::vector<RowBlock> blocks, TargetKind kind) {
  std::vector<GatheredRows> gathered;
  for (RowBlock& block : blocks) append(std::exchange(block, {}), gathered);
  Result<Samples> samples = assemble(source, std::move(gathered));
  if (!samples) return samples.error();
  return classified({.source = std::move(source), .samples = std::move(*samples)}, kind);
}

Result<Dataset> read_libsvm_file(const std::string& path, TargetKind kind,
                                 const ReadOptions& options) {
  const auto blocks = open_blocks(path);
  if (!blocks) return blocks.error();
  return read_libsvm(**blocks, path, kind, options);
}

Result<Dataset> read_csv_file(const std::string& path, TargetKind kind,
                              const ReadOptions& options) {
  const auto blocks = open_blocks(path);
  if (!blocks) return blocks.error();
  return read_csv(**blocks, path, kind, options);
}

Result<Dataset> read_libsvm_text(std::string_view text, const std::string& source, TargetKind kind,
                                 const ReadOptions& options, const TextOptions& blocks) {
  return read_libsvm(*blocks_of(text, blocks), source, kind, options);
}

Result<Dataset> read_csv_text(std::string_view text, const std::string& source, TargetKind kind,
                              const ReadOptions& options, const TextOptions& blocks) {
  return read_csv(*blocks_of(text, blocks), source, kind, options);
}

}  // namespace grove
