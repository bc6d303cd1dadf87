#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "grove/base/result.h"

namespace grove {

/// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  std::string finish();  ///< 64 lower-case hexadecimal digits; ends the use of the object

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

/// Of the file as it is on disk.
Result<std::string> sha256_of_file(const std::filesystem::path& path);

/// Of the text inside a file compressed as the ending of `named` says; more than `most_bytes` of
/// text is an error.
Result<std::string> sha256_of_text(const std::filesystem::path& path,
                                   const std::filesystem::path& named, std::uint64_t most_bytes);

}  // namespace grove
