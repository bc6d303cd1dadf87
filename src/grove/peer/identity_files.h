#pragma once

#include <filesystem>
#include <string>

#include "grove/peer/certificates.h"

namespace grove::peer {

/// Writes STEM.crt and the new file STEM.key, which has mode 600 from the start.
Status write_identity(const std::filesystem::path& folder, const std::string& stem,
                      const CertifiedKey& identity);

}  // namespace grove::peer
