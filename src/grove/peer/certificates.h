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

/// What would keep a peer of that name from taking part, found before anybody is spoken to: the
/// certificate (and what follows it in its file) must be of the authority, carry the name and
/// belong to the key. Errors name the key of peer.toml.
Status check_identity(const CertifiedKey& own, const std::string& authority,
                      const std::string& name);

}  // namespace grove::peer
