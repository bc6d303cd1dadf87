#include "grove/peer/certificates.h"

#include <optional>
#include <vector>

#include <openssl/ec.h>
#include <openssl/rand.h>

#include "grove/peer/openssl_handles.h"

namespace grove::peer {
namespace {

constexpr long day_seconds = 24L * 60 * 60;
constexpr long valid_days = 3650;

Error openssl_error(const std::string& what) { return Error{"certificates", "cannot " + what}; }

std::string text_of(BIO* buffer) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(buffer, &data);
  return {data, static_cast<std::size_t>(size)};
}

CertifiedKey to_pem(X509* certificate, EVP_PKEY* key) {
  const TextBuffer first(BIO_new(BIO_s_mem())), second(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(first.get(), certificate);
  PEM_write_bio_PrivateKey(second.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return {text_of(first.get()), text_of(second.get())};
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

/// The certificate is valid from yesterday, because clocks of devices differ.
bool fill_in(X509* certificate, EVP_PKEY* key, const std::string& name, long days = valid_days) {
  std::uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  X509_NAME* subject = X509_get_subject_name(certificate);
  return X509_set_version(certificate, 2) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1 &&
         X509_gmtime_adj(X509_getm_notBefore(certificate), -day_seconds) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), days * day_seconds) != nullptr &&
         X509_set_pubkey(certificate, key) == 1 &&
         X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                    0) == 1;
}

/// Why the authority did not sign the first certificate of the chain, or nothing if it did.
std::optional<std::string> chain_error(const std::vector<Certificate>& chain,
                                       const std::vector<Certificate>& authority) {
  const CertificateStore trusted(X509_STORE_new());
  for (const Certificate& one : authority) X509_STORE_add_cert(trusted.get(), one.get());
  STACK_OF(X509)* others = sk_X509_new_null();
  for (const Certificate& one : chain) sk_X509_push(others, one.get());
  const CertificateCheck check(X509_STORE_CTX_new());
  X509_STORE_CTX_init(check.get(), trusted.get(), chain.front().get(), others);
  const bool good = X509_verify_cert(check.get()) == 1;
  const std::string why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
  sk_X509_free(others);
  ERR_clear_error();
  return good ? std::nullopt : std::optional(why);
}

}  // namespace

Status check_certificate(const std::string& certificate, const std::string& authority,
                         const std::string& name) {
  const auto trusted = read_certificates(authority), chain = read_certificates(certificate);
  if (trusted.empty()) return Error{"ca", "the file has no certificate; expected a PEM file"};
  if (chain.empty()) return Error{"certificate", "the file has none; expected a PEM file"};
  if (X509_check_host(chain.front().get(), name.data(), name.size(), exact_name, nullptr) != 1)
    return Error{"certificate", "carries another name; expected '" + name + "'"};
  if (const auto violation = chain_error(chain, trusted))
    return Error{"certificate", "is not good for the authority in `ca`: " + *violation};
  return success();
}

Status check_identity(const CertifiedKey& own, const std::string& authority,
                      const std::string& name) {
  const auto chain = read_certificates(own.certificate);
  const Key key = read_key(own.key);
  if (!key) return Error{"key", "the file has no private key; expected a PEM file"};
  if (!chain.empty() && X509_check_private_key(chain.front().get(), key.get()) != 1) {
    ERR_clear_error();
    return Error{"certificate", "belongs to another key than the file of `key` has"};
  }
  return check_certificate(own.certificate, authority, name);
}

double seconds_until_expiry(const std::string& certificate) {
  const auto chain = read_certificates(certificate);
  int days = 0, seconds = 0;
  if (chain.empty() ||
      ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(chain.front().get())) != 1)
    return 0;
  return static_cast<double>(days) * day_seconds + seconds;
}

Result<CertifiedKey> make_authority(const std::string& network) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (!key || !certificate || !fill_in(certificate.get(), key.get(), network + " authority"))
    return openssl_error("make the authority's key");
  X509* self = certificate.get();
  const bool complete = X509_set_issuer_name(self, X509_get_subject_name(self)) == 1 &&
                        add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE") &&
                        add_extension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                        add_extension(self, self, NID_subject_key_identifier, "hash") &&
                        X509_sign(self, key.get(), EVP_sha256()) > 0;
  if (!complete) return openssl_error("sign the authority's certificate");
  return to_pem(self, key.get());
}

Result<CertifiedKey> certify(const CertifiedKey& authority, const std::string& name) {
  const TextBuffer issuer_text(BIO_new_mem_buf(authority.certificate.data(), -1)),
      key_text(BIO_new_mem_buf(authority.key.data(), -1));
  const Certificate issuer(PEM_read_bio_X509(issuer_text.get(), nullptr, nullptr, nullptr));
  const Key issuer_key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, nullptr, nullptr));
  if (!issuer || !issuer_key) return openssl_error("read the authority's certificate and key");
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (!key || !certificate || !fill_in(certificate.get(), key.get(), name))
    return openssl_error("make a key for " + name);
  X509* leaf = certificate.get();
  const bool complete =
      X509_set_issuer_name(leaf, X509_get_subject_name(issuer.get())) == 1 &&
      add_extension(leaf, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(leaf, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(leaf, issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth") &&
      add_extension(leaf, issuer.get(), NID_subject_alt_name, "DNS:" + name) &&
      X509_sign(leaf, issuer_key.get(), EVP_sha256()) > 0;
  if (!complete) return openssl_error("sign the certificate of " + name);
  return to_pem(leaf, key.get());
}

Result<CertifiedKey> certify_itself(const std::string& name, const std::string& address,
                                    long days) {
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  if (!key || !certificate || !fill_in(certificate.get(), key.get(), name, days))
    return openssl_error("make a key for " + name);
  X509* self = certificate.get();
  const bool complete =
      X509_set_issuer_name(self, X509_get_subject_name(self)) == 1 &&
      add_extension(self, self, NID_basic_constraints, "critical,CA:FALSE") &&
      add_extension(self, self, NID_key_usage, "critical,digitalSignature") &&
      add_extension(self, self, NID_ext_key_usage, "serverAuth,clientAuth") &&
      add_extension(self, self, NID_subject_alt_name, "DNS:" + name + ",URI:" + address) &&
      X509_sign(self, key.get(), EVP_sha256()) > 0;
  if (!complete) return openssl_error("sign the certificate of " + name);
  return to_pem(self, key.get());
}

}  // namespace grove::peer
