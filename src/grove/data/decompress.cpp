#include "grove/data/decompress.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <archive.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

namespace grove {
namespace {

constexpr std::size_t file_block_bytes = 1 << 16;

struct Ending {
  std::string_view text;
  Compression compression;
  std::string_view name;
  std::string_view magic;  ///< what such files begin with
};
constexpr std::array endings{Ending{".bz2", Compression::bzip2, "bzip2", "BZh"},
                             Ending{".gz", Compression::gzip, "gzip", "\x1f\x8b"},
                             Ending{".xz", Compression::xz, "xz", "\xfd\x37zXZ"}};

Error damaged(const std::string& path, Compression compression, const std::string& detail) {
  if (compression == Compression::none) return Error{path, "cannot read: " + detail};
  const auto ending = std::ranges::find(endings, compression, &Ending::compression);
  return Error{path, fmt::format("expected a whole {} file, but it is damaged or truncated: {}",
                                 ending->name, detail)};
}

Error not_compressed(const std::string& path, Compression compression) {
  const auto ending = std::ranges::find(endings, compression, &Ending::compression);
  return Error{path,
               fmt::format("expected {} data, as the name ends in {}", ending->name, ending->text)};
}

/// libarchive does not take a file for what it is if it ends within a dozen bytes.
bool begins_right(int file, Compression compression) {
  const auto ending = std::ranges::find(endings, compression, &Ending::compression);
  std::string start(ending->magic.size(), '\0');
  const ssize_t got = ::pread(file, start.data(), start.size(), 0);
  return got == static_cast<ssize_t>(start.size()) && start == ending->magic;
}

struct FreeArchive {
  void operator()(archive* input) const { archive_read_free(input); }
};
using Archive = std::unique_ptr<archive, FreeArchive>;

/// bzip2, xz and plain input through libarchive.
class ArchiveStream final : public TextStream {
 public:
  ArchiveStream(Archive input, std::string path, int file, Compression compression)
      : input_(std::move(input)), path_(std::move(path)), file_(file), compression_(compression) {}

  Result<std::size_t> read(char* buffer, std::size_t size) override {
    const la_ssize_t got = empty_ ? 0 : archive_read_data(input_.get(), buffer, size);
    if (got < 0) return failure();
    if (got == 0 && unused_bytes() > 0)
      return damaged(path_, compression_,
                     fmt::format("{} bytes follow the end of the data", unused_bytes()));
    return static_cast<std::size_t>(got);
  }

  /// Opens the stream; false where it has failed.
  bool open() {
    archive_entry* entry = nullptr;
    if (archive_read_open_fd(input_.get(), file_, file_block_bytes) != ARCHIVE_OK) return false;
    const int opened = archive_read_next_header(input_.get(), &entry);
    empty_ = opened == ARCHIVE_EOF;
    return opened == ARCHIVE_OK || empty_;
  }

  bool filtered() const { return archive_filter_code(input_.get(), 0) != ARCHIVE_FILTER_NONE; }

  Error failure() const {
    const char* reason = archive_error_string(input_.get());
    return damaged(path_, compression_, reason == nullptr ? "its end is missing" : reason);
  }

 private:
  /// libarchive ends without complaint at bytes that do not start another stream, such as the first
  /// few of a truncated one.
  std::int64_t unused_bytes() const {
    struct stat information {};
    if (compression_ == Compression::none || ::fstat(file_, &information) != 0 ||
        !S_ISREG(information.st_mode))
      return 0;
    return information.st_size - archive_filter_bytes(input_.get(), -1);
  }

  Archive input_;
  std::string path_;
  int file_;
  Compression compression_;
  bool empty_ = false;
};

Result<std::unique_ptr<TextStream>> open_archive(const std::string& path, int file,
                                                 Compression compression) {
  Archive input(archive_read_new());
  archive_read_support_format_raw(input.get());
  archive_read_support_format_empty(input.get());
  if (compression == Compression::bzip2) archive_read_support_filter_bzip2(input.get());
  if (compression == Compression::xz) archive_read_support_filter_xz(input.get());
  auto stream = std::make_unique<ArchiveStream>(std::move(input), path, file, compression);
  if (!stream->open()) return stream->failure();
  if (compression != Compression::none && !stream->filtered())
    return begins_right(file, compression)
               ? damaged(path, compression, "it ends within its first bytes")
               : not_compressed(path, compression);
  return std::unique_ptr<TextStream>(std::move(stream));
}

/// gzip through zlib, because libarchive 3.6 does not verify gzip's checksums.
class GzipStream final : public TextStream {
 public:
  GzipStream(std::string path, int file) : path_(std::move(path)), file_(file) {
    constexpr int largest_window_with_gzip_header = 15 + 16;
    [[maybe_unused]] const int started = inflateInit2(&state_, largest_window_with_gzip_header);
    assert(started == Z_OK);
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { inflateEnd(&state_); }

  Result<std::size_t> read(char* buffer, std::size_t size) override {
    size = std::min<std::size_t>(size, std::size_t{1} << 30);  // zlib counts in 32 bits
    state_.next_out = reinterpret_cast<Bytef*>(buffer);
    state_.avail_out = static_cast<uInt>(size);
    while (state_.avail_out > 0) {
      const Result<bool> more = fill();
      if (!more) return more.error();
      if (!*more) {
        if (inside_member_) return damaged(path_, Compression::gzip, "its end is missing");
        break;
      }
      if (!inside_member_) inflateReset(&state_);
      inside_member_ = true;
      const int code = inflate(&state_, Z_NO_FLUSH);
      if (code == Z_STREAM_END) inside_member_ = false;  // another may follow, as from bgzip
      if (code != Z_OK && code != Z_STREAM_END) return explain();
    }
    return size - state_.avail_out;
  }

 private:
  /// Makes sure of some input; false at the end of the file.
  Result<bool> fill() {
    if (state_.avail_in > 0) return true;
    ssize_t got = 0;
    do got = ::read(file_, input_.data(), input_.size());
    while (got < 0 && errno == EINTR);
    if (got < 0) return Error{path_, fmt::format("cannot read: {}", std::strerror(errno))};
    state_.next_in = reinterpret_cast<Bytef*>(input_.data());
    state_.avail_in = static_cast<uInt>(got);
    return got > 0;
  }

  Error explain() const {
    if (state_.total_out == 0 && state_.total_in <= 2)
      return not_compressed(path_, Compression::gzip);
    return damaged(path_, Compression::gzip, state_.msg == nullptr ? "bad data" : state_.msg);
  }

  std::string path_;
  int file_;
  z_stream state_{};
  bool inside_member_ = false;
  std::array<char, file_block_bytes> input_{};
};

}  // namespace

Compression compression_of(const std::filesystem::path& name) {
  const std::string extension = name.extension().string();
  const auto found = std::ranges::find(endings, extension, &Ending::text);
  return found == endings.end() ? Compression::none : found->compression;
}

Result<std::unique_ptr<TextStream>> open_stream(const std::filesystem::path& path, int file,
                                                Compression compression) {
  if (compression == Compression::gzip)
    return std::unique_ptr<TextStream>(std::make_unique<GzipStream>(path.string(), file));
  return open_archive(path.string(), file, compression);
}

}  // namespace grove
