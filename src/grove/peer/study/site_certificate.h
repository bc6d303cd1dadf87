#pragma once

#include <string>

#include "grove/base/result.h"
#include "grove/peer/certificates.h"

namespace grove::peer {

/// What the certificate of a site says. A site signs it itself, and the members of a study pin it.
struct SiteCertificate {
  std::string name;         ///< the only DNS name
  std::string address;      ///< HOST:PORT where the others reach it
  bool inbound = true;      ///< false: nobody can connect to it, so that it dials its neighbours
  std::string pem;          ///< the certificate alone
  std::string fingerprint;  ///< SHA-256
  std::string public_key;   ///< SHA-256 of it
};

/// A new key, and the certificate for it. Negative days: it has expired (for tests).
Result<CertifiedKey> make_site_certificate(const std::string& name, const std::string& address,
                                           bool inbound, long days);

/// Refuses certificates that a site could not have made, such as one that can sign others or that
/// has a second name: with it a member could stand for another one. `where` names the file or the
/// member in errors.
Result<SiteCertificate> read_site_certificate(const std::string& text, const std::string& where);

/// Refuses a certificate that has expired, or is not valid yet.
Status check_validity(const SiteCertificate& certificate);

/// Whether the name can be that of a site.
Status check_site_name(const std::string& name);

}  // namespace grove::peer
