#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/peer/study/site_certificate.h"

namespace grove::peer {

/// A member's signature that it takes part in exactly one study, with exactly one set of data.
struct Acceptance {
  std::string member;
  std::string time;        ///< UTC, as 2026-01-31T12:00:00Z
  std::string data;        ///< digest of the data, keyed with a secret of the member
  std::uint64_t rows = 0;  ///< only where members weigh by their rows; 0: not said
  std::string signature;   ///< of the rest and of the study's digest; hexadecimal
  bool operator==(const Acceptance&) const = default;
};

/// Signs with the site's key.
Result<Acceptance> sign_acceptance(const std::string& study_digest, Acceptance acceptance,
                                   const std::string& key);

/// Refuses, by name, a signature that is not that of the member for this study.
Status check_acceptance(const std::string& study_digest, const Acceptance& acceptance,
                        const std::vector<SiteCertificate>& members);

/// Digest of a file, keyed with a secret made of the site's key: others cannot test guesses of it.
Result<std::string> data_digest(const std::string& file, const std::string& key);

std::string utc_now();

}  // namespace grove::peer
