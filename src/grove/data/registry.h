#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "grove/base/result.h"
#include "grove/data/dataset.h"

namespace grove {

/// Where the public sets are published; a mirror keeps the same paths below its own address.
inline constexpr std::string_view public_sets_url =
    "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets";

/// A public data set as the LIBSVM site ships it.
struct PublicSet {
  std::string_view name;  ///< what users call it
  std::string_view path;  ///< below public_sets_url; its last part is the file's name
  TargetKind kind;
  std::uint32_t samples;
  std::uint32_t features;
  std::uint64_t bytes;           ///< of the file as shipped
  std::string_view sha256;       ///< of the file as shipped
  std::uint64_t text_bytes;      ///< of the text inside; equal to `bytes` where not compressed
  std::string_view text_sha256;  ///< of the text inside

  std::string_view file_name() const { return path.substr(path.rfind('/') + 1); }
  bool compressed() const { return sha256 != text_sha256; }
};

std::span<const PublicSet> public_sets();

/// The set of that name, or an error that names the closest one.
Result<PublicSet> find_public_set(std::string_view name);

}  // namespace grove
