#include "grove/data/text_blocks.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grove/data/decompress.h"

namespace grove {
namespace {

Error file_error(const std::filesystem::path& path, std::string_view action) {
  return Error{path.string(), fmt::format("cannot {}: {}", action, std::strerror(errno))};
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// Cuts the first block off `rest`: at least `block_bytes`, up to the end of its last line.
std::string_view take_block(std::string_view& rest, std::size_t block_bytes) {
  std::size_t size = rest.size();
  if (size > block_bytes) {
    const std::size_t line_end = rest.find('\n', block_bytes == 0 ? 0 : block_bytes - 1);
    if (line_end != std::string_view::npos) size = line_end + 1;
  }
  const std::string_view block = rest.substr(0, size);
  rest.remove_prefix(size);
  return block;
}

class MemoryBlocks final : public BlockSource {
 public:
  MemoryBlocks(std::string_view text, std::size_t block_bytes)
      : rest_(without_byte_order_mark(text)), block_bytes_(block_bytes) {}

  Result<TextBlock> next() override { return TextBlock{take_block(rest_, block_bytes_)}; }

 private:
  std::string_view rest_;
  std::size_t block_bytes_;
};

/// A regular file in the process's memory. Reading a page that the file no longer has would end the
/// process, so its size is looked at before every block; a file cut within the less than a
/// millisecond that a block takes is not caught.
class MappedBlocks final : public BlockSource {
 public:
  MappedBlocks(std::string path, FileDescriptor file, std::string_view text,
               std::size_t block_bytes)
      : path_(std::move(path)),
        file_(std::move(file)),
        text_(text),
        rest_(without_byte_order_mark(text)),
        block_bytes_(block_bytes) {}
  MappedBlocks(const MappedBlocks&) = delete;
  MappedBlocks& operator=(const MappedBlocks&) = delete;
  ~MappedBlocks() override { ::munmap(const_cast<char*>(text_.data()), text_.size()); }

  Result<TextBlock> next() override {
    struct stat now {};
    if (::fstat(file_.number(), &now) != 0) return file_error(path_, "read");
    if (static_cast<std::size_t>(now.st_size) < text_.size())
      return Error{path_, "became shorter while it was read, expected a file that stays as it is"};
    return TextBlock{take_block(rest_, block_bytes_)};
  }

 private:
  std::string path_;
  FileDescriptor file_;
  std::string_view text_, rest_;
  std::size_t block_bytes_;
};

/// A compressed file or a pipe.
class StreamedBlocks final : public BlockSource {
 public:
  StreamedBlocks(std::string path, FileDescriptor file, std::unique_ptr<TextStream> stream,
                 Compression compression, const TextOptions& options)
      : path_(std::move(path)),
        file_(std::move(file)),
        stream_(std::move(stream)),
        compression_(compression),
        options_(options) {}

  Result<TextBlock> next() override {
    std::vector<char> buffer = std::move(unfinished_line_);
    unfinished_line_.clear();
    while (true) {
      const std::size_t before = buffer.size();
      const Result<std::size_t> got = append(buffer);
      if (!got) return got.error();
      if (*got == 0) return block(std::move(buffer));
      const auto last_end = std::find(buffer.rbegin(), buffer.rend() - before, '\n').base();
      if (last_end != buffer.begin() + static_cast<std::ptrdiff_t>(before)) {
        unfinished_line_.assign(last_end, buffer.end());
        buffer.erase(last_end, buffer.end());
        return block(std::move(buffer));
      }
      if (buffer.size() > options_.line_bytes)
        return Error{path_, fmt::format("a line is longer than {} bytes, expected shorter ones",
                                        options_.line_bytes)};
    }
  }

 private:
  /// Reads on; 0 at the end of the text.
  Result<std::size_t> append(std::vector<char>& buffer) {
    const std::size_t before = buffer.size();
    buffer.resize(before + options_.block_bytes);
    Result<std::size_t> got = stream_->read(buffer.data() + before, options_.block_bytes);
    if (!got) return got.error();
    buffer.resize(before + *got);
    total_bytes_ += *got;
    if (compression_ != Compression::none && total_bytes_ > options_.decompressed_bytes)
      return Error{path_, fmt::format("expands to more than {} bytes, expected less",
                                      options_.decompressed_bytes)};
    return got;
  }

  TextBlock block(std::vector<char> lines) {
    TextBlock made{.text = {}, .owned = std::move(lines)};
    made.text = {made.owned.data(), made.owned.size()};
    if (std::exchange(first_, false)) made.text = without_byte_order_mark(made.text);
    return made;
  }

  std::string path_;
  FileDescriptor file_;
  std::unique_ptr<TextStream> stream_;
  Compression compression_;
  TextOptions options_;
  std::vector<char> unfinished_line_;  ///< the start of a line whose end has not come yet
  std::uint64_t total_bytes_ = 0;
  bool first_ = true;
};

Result<std::unique_ptr<BlockSource>> map_blocks(const std::filesystem::path& path,
                                                FileDescriptor file, std::size_t size,
                                                const TextOptions& options) {
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (address == MAP_FAILED) return file_error(path, "map into memory");
  const std::string_view text(static_cast<const char*>(address), size);
  return std::unique_ptr<BlockSource>(
      std::make_unique<MappedBlocks>(path.string(), std::move(file), text, options.block_bytes));
}

Result<std::unique_ptr<BlockSource>> stream_blocks(const std::filesystem::path& path,
                                                   FileDescriptor file, Compression compression,
                                                   const TextOptions& options) {
  auto stream = open_stream(path, file.number(), compression);
  if (!stream) return stream.error();
  return std::unique_ptr<BlockSource>(std::make_unique<StreamedBlocks>(
      path.string(), std::move(file), std::move(*stream), compression, options));
}

}  // namespace

Result<std::unique_ptr<BlockSource>> open_blocks(const std::filesystem::path& path,
                                                 const TextOptions& options) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return file_error(path, "open");
  struct stat information {};
  if (::fstat(file.number(), &information) != 0) return file_error(path, "read");
  if (S_ISDIR(information.st_mode)) return Error{path.string(), "is a folder, expected a file"};
  const Compression compression = compression_of(options.named.empty() ? path : options.named);
  const bool regular = S_ISREG(information.st_mode);
  if (regular && information.st_size == 0)
    return Error{path.string(), "is empty, expected samples"};
  if (regular && compression == Compression::none)
    return map_blocks(path, std::move(file), static_cast<std::size_t>(information.st_size),
                      options);
  return stream_blocks(path, std::move(file), compression, options);
}

std::unique_ptr<BlockSource> blocks_of(std::string_view text, const TextOptions& options) {
  return std::make_unique<MemoryBlocks>(text, options.block_bytes);
}

std::filesystem::path without_compression(const std::filesystem::path& path) {
  std::filesystem::path name = path;
  if (compression_of(path) != Compression::none) name.replace_extension();
  return name;
}

}  // namespace grove
