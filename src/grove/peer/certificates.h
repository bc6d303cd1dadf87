#pragma once

#include <string>

#include "grove/base/result.h"

namespace grove::peer {

/// A certificate and its private key, as PEM texts.
struct CertifiedKey {
  std::string certificate;
  std::string key;
};

/// Creates an authority. Every peer that it certifies is a member of the network.
Result<CertifiedKey> make_authority(const std::string& network);

/// Creates a certificate for one peer, for client and server, with its name as the only DNS name.
Result<CertifiedKey> certify(const CertifiedKey& authority, const std::string& name);

/// Creates a certificate that a site signs itself, with its name and its address (a URI). Nothing
/// but that certificate is good for it: it cannot sign others.
Result<CertifiedKey> certify_itself(const std::string& name, const std::string& address, long days);

/// Checks before the first connection that a peer of that name can take part: the authority must
/// have signed the certificate (or its chain), and the certificate must carry the name and belong
/// to the key. Errors name the key of peer.toml.
Status check_identity(const CertifiedKey& own, const std::string& authority,
                      const std::string& name);

/// The part of check_identity() that needs no key: for certificates of others.
Status check_certificate(const std::string& certificate, const std::string& authority,
                         const std::string& name);

/// Of the first certificate in the text; negative after it has expired.
double seconds_until_expiry(const std::string& certificate);

}  // namespace grove::peer
