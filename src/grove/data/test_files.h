#pragma once

// Helpers of the tests in this folder.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>

namespace grove::testing_files {

/// An empty folder of the running test, removed at the end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = testing::TempDir() + "/grove-data-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }

  /// Writes a file and returns its name.
  std::string write(const std::string& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

/// The bytes of `text` compressed by libarchive's writer; filter: ARCHIVE_FILTER_BZIP2 and so on.
inline std::string compressed(std::string_view text, int filter) {
  std::string bytes(text.size() + (1 << 16), '\0');
  std::size_t used = 0;
  archive* output = archive_write_new();
  archive_write_set_format_raw(output);
  archive_write_add_filter(output, filter);
  archive_write_set_bytes_per_block(output, 0);
  archive_write_open_memory(output, bytes.data(), bytes.size(), &used);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, "text");
  archive_entry_set_filetype(entry, AE_IFREG);
  archive_write_header(output, entry);
  archive_write_data(output, text.data(), text.size());
  archive_write_close(output);
  archive_entry_free(entry);
  archive_write_free(output);
  bytes.resize(used);
  return bytes;
}

/// A file of public data, or nothing where this machine has none.
inline std::string public_file(const std::string& name) {
  const char* folder = std::getenv("GROVE_DATA_DIR");
  const std::filesystem::path path =
      std::filesystem::path(folder == nullptr ? GROVE_DEFAULT_DATA_DIR : folder) / name;
  return std::filesystem::exists(path) ? path.string() : std::string();
}

}  // namespace grove::testing_files
