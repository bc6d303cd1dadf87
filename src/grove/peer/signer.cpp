#include "grove/peer/signer.h"

#include "grove/data/digest.h"
#include "grove/peer/certificates.h"
#include "grove/peer/openssl_handles.h"
#include "grove/peer/signature.h"

namespace grove::peer {
namespace {

constexpr std::size_t max_certificate_bytes = 16 << 10;
constexpr std::size_t max_signature_bytes = 1 << 10;
constexpr std::size_t max_verified = 10'000;

constexpr std::string_view member_kind = "grove-member/1";
constexpr std::string_view contribution_kind = "grove-contribution/1";
constexpr std::string_view fit_part_kind = "grove-fit-part/1";

/// The first line keeps signatures of other contents, such as TLS handshakes, apart.
std::string signed_bytes(std::string_view kind, const std::string& network,
                         const std::string& bytes) {
  return std::string(kind) + "\n" + network + "\n" + bytes;
}

}  // namespace

std::string digest_secret(const std::string& key) {
  Sha256 secret;
  secret.update("grove-data-digest/1\n");
  secret.update(key);
  return secret.finish();
}

std::string keyed_digest(std::string_view secret, std::string_view digest) {
  Sha256 result;
  result.update(secret);
  result.update(digest);
  return result.finish();
}

struct Signer::Keys {
  std::string authority, certificate, secret;
  Key key;
};

struct Signer::Verified {
  std::string certificate;
  Key key;  ///< public
};

Signer::Signer(const TlsIdentity& identity, std::string network, std::string name)
    : network_(std::move(network)), name_(std::move(name)) {
  set_identity(identity);
}

Signer::~Signer() = default;

void Signer::set_identity(const TlsIdentity& identity) {
  auto keys = std::make_unique<Keys>(
      Keys{identity.ca, identity.certificate, digest_secret(identity.key), read_key(identity.key)});
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
  // A neighbour sends the certificate of this peer once a session, with an entry of this process.
  // Entries of another process of this peer may follow without it.
  admit_certificate(name_, identity.certificate);
}

v1::SignedMember Signer::sign(const v1::Member& member) const {
  return sign_bytes(member_kind, member.SerializeAsString());
}

v1::SignedMember Signer::sign_contribution(const v1::Contribution& contribution) const {
  return sign_bytes(contribution_kind, contribution.SerializeAsString());
}

v1::SignedMember Signer::sign_fit_part(const v1::FitPart& part) const {
  return sign_bytes(fit_part_kind, part.SerializeAsString());
}

v1::SignedMember Signer::sign_bytes(std::string_view kind, std::string bytes) const {
  v1::SignedMember entry;
  entry.set_member(std::move(bytes));
  const std::string text = signed_bytes(kind, network_, entry.member());
  const std::lock_guard lock(mutex_);
  entry.set_signature(sign_text(keys_->key.get(), text));
  entry.set_certificate(keys_->certificate);
  return entry;
}

/// Called with the mutex locked.
bool Signer::admit_certificate(const std::string& name, const std::string& certificate) {
  if (certificate.size() > max_certificate_bytes) return false;
  if (check_certificate(certificate, keys_->authority, name)) {
    auto chain = read_certificates(certificate);
    Key key(X509_get_pubkey(chain.front().get()));
    if (!key || (verified_.size() >= max_verified && !verified_.contains(name))) return false;
    verified_[name] = {certificate, std::move(key)};
    return true;
  }
  return false;
}

bool Signer::verify(const v1::SignedMember& entry, const std::string& name) {
  return verify_bytes(member_kind, entry, name);
}

bool Signer::verify_contribution(const v1::SignedMember& entry, const std::string& name) {
  return verify_bytes(contribution_kind, entry, name);
}

bool Signer::verify_fit_part(const v1::SignedMember& entry, const std::string& name) {
  return verify_bytes(fit_part_kind, entry, name);
}

bool Signer::verify_bytes(std::string_view kind, const v1::SignedMember& entry,
                          const std::string& name) {
  if (entry.signature().empty() || entry.signature().size() > max_signature_bytes) return false;
  const std::lock_guard lock(mutex_);
  auto known = verified_.find(name);
  if (!entry.certificate().empty() &&
      (known == verified_.end() || known->second.certificate != entry.certificate())) {
    if (!admit_certificate(name, entry.certificate())) return false;
    known = verified_.find(name);
  }
  if (known == verified_.end()) return false;
  return is_signature(known->second.key.get(), signed_bytes(kind, network_, entry.member()),
                      entry.signature());
}

std::string Signer::certificate_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto known = verified_.find(name);
  return known == verified_.end() ? std::string() : known->second.certificate;
}

std::string Signer::keyed(std::string_view digest) const {
  const std::lock_guard lock(mutex_);
  return keyed_digest(keys_->secret, digest);
}

}  // namespace grove::peer
