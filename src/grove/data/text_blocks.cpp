#include "grove/data/text_blocks.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

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

/// A read-only view of a regular file; empty for a file of no bytes, which cannot be mapped.
class MappedFile {
 public:
  MappedFile(int file, std::size_t size) : size_(size) {
    if (size == 0) return;
    address_ = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (address_ != MAP_FAILED) ::madvise(address_, size, MADV_SEQUENTIAL);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (size_ > 0 && address_ != MAP_FAILED) ::munmap(address_, size_);
  }

  bool mapped() const { return address_ != MAP_FAILED; }
  std::string_view text() const { return {static_cast<const char*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

/// Hands blocks on, keeping count of the lines.
class BlockSender {
 public:
  explicit BlockSender(const BlockReader& read) : read_(read) {}

  Status send(std::string_view text) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (line_ == 1 && text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    if (text.empty()) return success();
    Status status = read_(TextBlock{text, line_});
    line_ += static_cast<std::size_t>(std::ranges::count(text, '\n'));
    return status;
  }

 private:
  const BlockReader& read_;
  std::size_t line_ = 1;
};

Status read_mapped(const std::filesystem::path& path, int file, std::size_t size,
                   const BlockReader& read, const TextOptions& options) {
  const MappedFile mapped(file, size);
  if (!mapped.mapped()) return file_error(path, "map into memory");
  return read_text_blocks(mapped.text(), read, options);
}

Status read_stream(const std::filesystem::path& path, int file, Compression compression,
                   const BlockReader& read, const TextOptions& options) {
  const Result<std::unique_ptr<TextStream>> input = open_stream(path, file, compression);
  if (!input) return input.error();
  BlockSender sender(read);
  std::string buffer;  // the start of a line whose end has not come yet, then new text
  std::uint64_t total_bytes = 0;
  while (true) {
    const std::size_t kept = buffer.size();
    buffer.resize(kept + options.block_bytes);
    const Result<std::size_t> got = (*input)->read(buffer.data() + kept, options.block_bytes);
    if (!got) return got.error();
    buffer.resize(kept + *got);
    if (*got == 0) return sender.send(buffer);
    total_bytes += *got;
    if (compression != Compression::none && total_bytes > options.decompressed_bytes)
      return Error{path.string(), fmt::format("expands to more than {} bytes, expected less",
                                              options.decompressed_bytes)};
    const auto line_end = std::string_view(buffer).substr(kept).rfind('\n');
    if (line_end == std::string_view::npos) {
      if (buffer.size() <= options.line_bytes) continue;
      return Error{
          path.string(),
          fmt::format("a line is longer than {} bytes, expected shorter ones", options.line_bytes)};
    }
    const std::size_t whole_lines = kept + line_end + 1;
    Status status = sender.send(std::string_view(buffer).substr(0, whole_lines));
    if (!status) return status;
    buffer.erase(0, whole_lines);
  }
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace

Status read_blocks(const std::filesystem::path& path, const BlockReader& read,
                   const TextOptions& options) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return file_error(path, "open");
  struct stat information {};
  if (::fstat(file.number(), &information) != 0) return file_error(path, "read");
  if (S_ISDIR(information.st_mode)) return Error{path.string(), "is a folder, expected a file"};
  const Compression compression = compression_of(options.named.empty() ? path : options.named);
  if (S_ISREG(information.st_mode) && information.st_size == 0)
    return Error{path.string(), "is empty, expected samples"};
  if (S_ISREG(information.st_mode) && compression == Compression::none)
    return read_mapped(path, file.number(), static_cast<std::size_t>(information.st_size), read,
                       options);
  return read_stream(path, file.number(), compression, read, options);
}

Status read_text_blocks(std::string_view text, const BlockReader& read,
                        const TextOptions& options) {
  BlockSender sender(read);
  while (!text.empty()) {
    Status status = sender.send(take_block(text, options.block_bytes));
    if (!status) return status;
  }
  return success();
}

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

std::string_view take_line(std::string_view& rest) {
  const std::size_t line_end = rest.find('\n');
  std::string_view line = rest.substr(0, line_end);
  rest.remove_prefix(line_end == std::string_view::npos ? rest.size() : line_end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::filesystem::path without_compression(const std::filesystem::path& path) {
  std::filesystem::path name = path;
  if (compression_of(path) != Compression::none) name.replace_extension();
  return name;
}

Error line_error(std::string_view source, std::size_t line, std::string what) {
  return Error{fmt::format("{}:{}", source, line), std::move(what)};
}

std::string shown(std::string_view token) {
  constexpr std::size_t longest = 40;
  std::string text = "`";
  for (const char c : token.substr(0, longest)) text += c >= ' ' && c <= '~' ? c : '?';
  text += token.size() > longest ? "...`" : "`";
  return text;
}

const char* read_number(const char* at, const char* end, double& value) {
  if (at != end && *at == '+') {
    ++at;
    if (at != end && *at == '-') return nullptr;
  }
  const auto [stop, error] = std::from_chars(at, end, value);
  return error == std::errc{} ? stop : nullptr;
}

}  // namespace grove
