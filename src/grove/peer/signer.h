#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "grove/base/result.h"
#include "grove/peer/peer.pb.h"
#include "grove/peer/tls.h"

namespace grove::peer {

/// A secret made of the private key of a site, and digests with it: others can compare them, but
/// cannot test guesses.
std::string digest_secret(const std::string& key);
std::string keyed_digest(std::string_view secret, std::string_view digest);

/// Signs the entries of this peer with its TLS key, and verifies those of others against the
/// network's authority. All functions may be called by several threads.
class Signer {
 public:
  /// The identity must have passed check_identity() for that name. One that has only an authority
  /// can verify, and not sign.
  Signer(const TlsIdentity& identity, std::string network, std::string name);
  ~Signer();

  /// Reads a renewed certificate and key.
  void set_identity(const TlsIdentity& identity);

  v1::SignedMember sign(const v1::Member& member) const;

  /// The entry, if the named member signed it and the authority certified that name. A certificate
  /// may be left out once it was verified.
  bool verify(const v1::SignedMember& entry, const std::string& name);

  /// The same for contributions. `member` of the entry is then a Contribution.
  v1::SignedMember sign_contribution(const v1::Contribution& contribution) const;
  bool verify_contribution(const v1::SignedMember& entry, const std::string& name);

  /// The same for parts of a fit. `member` of the entry is then a FitPart.
  v1::SignedMember sign_fit_part(const v1::FitPart& part) const;
  bool verify_fit_part(const v1::SignedMember& entry, const std::string& name);

  /// The certificate with which the named member's entries were verified last; empty: none.
  std::string certificate_of(const std::string& name) const;

  /// Digest of `digest` and a secret of this peer: others can compare it, but cannot test guesses.
  std::string keyed(std::string_view digest) const;

 private:
  struct Keys;
  struct Verified;

  v1::SignedMember sign_bytes(std::string_view kind, std::string bytes) const;
  bool verify_bytes(std::string_view kind, const v1::SignedMember& entry, const std::string& name);
  bool admit_certificate(const std::string& name, const std::string& certificate);

  std::string network_;
  std::string name_;  ///< of this peer
  mutable std::mutex mutex_;
  std::unique_ptr<Keys> keys_;
  std::map<std::string, Verified> verified_;
};

}  // namespace grove::peer
