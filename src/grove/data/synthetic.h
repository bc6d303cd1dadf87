#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "grove/base/result.h"
#include "grove/data/dataset.h"

namespace grove {

/// Whether the source names a built-in set (`synthetic:...`) rather than a file.
bool is_synthetic(std::string_view source);

/// Draws `synthetic:ijcnn-like[,samples=]` or
/// `synthetic:gaussian[,samples=][,features=][,condition=][,density=][,scale=]`. Row k depends only
/// on the seed and k, so a smaller set is the start of a larger one.
Result<Dataset> make_synthetic(const std::string& source, TargetKind kind, std::uint64_t seed);

}  // namespace grove
