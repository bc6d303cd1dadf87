#pragma once

#include <string>

#include "grove/base/result.h"

namespace grove::peer {

/// A certificate and its private key, as PEM texts.
struct CertifiedKey {
  std::string certificate;
  std::string key;
};

/// A new authority: whoever it certifies is a member of the network.
Result<CertifiedKey> make_authority(const std::string& network);

/// A certificate for one peer, its name as the only DNS name, for both ends of TLS.
Result<CertifiedKey> certify(const CertifiedKey& authority, const std::string& name);

}  // namespace grove::peer
