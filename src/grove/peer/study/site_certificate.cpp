#include "grove/peer/study/site_certificate.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "grove/data/digest.h"
#include "grove/peer/openssl_handles.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/tls.h"
#include "grove/peer/wire.h"

namespace grove::peer {
namespace {

constexpr std::string_view scheme = "grove://", no_inbound = "?inbound=false";
constexpr double seconds_per_day = 24 * 60 * 60;

std::string sha256_of(const unsigned char* bytes, int size) {
  Sha256 digest;
  digest.update({reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)});
  return digest.finish();
}

std::string fingerprint_of(X509* certificate) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(certificate, &bytes);
  std::string digest = sha256_of(bytes, size);
  OPENSSL_free(bytes);
  return digest;
}

std::string public_key_of(X509* certificate) {
  unsigned char* bytes = nullptr;
  const int size = i2d_PUBKEY(X509_get0_pubkey(certificate), &bytes);
  std::string digest = sha256_of(bytes, size);
  OPENSSL_free(bytes);
  return digest;
}

std::string pem_of(X509* certificate) {
  const TextBuffer buffer(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(buffer.get(), certificate);
  char* data = nullptr;
  const long size = BIO_get_mem_data(buffer.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

/// The name and the address, if they are all that the certificate stands for.
std::optional<std::pair<std::string, std::string>> names_of(X509* certificate) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  std::optional<std::pair<std::string, std::string>> result;
  if (names != nullptr && sk_GENERAL_NAME_num(names) == 2) {
    const GENERAL_NAME* first = sk_GENERAL_NAME_value(names, 0);
    const GENERAL_NAME* second = sk_GENERAL_NAME_value(names, 1);
    if (first->type == GEN_DNS && second->type == GEN_URI)
      result = {text_of(first->d.dNSName), text_of(second->d.uniformResourceIdentifier)};
  }
  GENERAL_NAMES_free(names);
  return result;
}

bool signed_itself(X509* certificate) {
  const bool good =
      X509_verify(certificate, X509_get0_pubkey(certificate)) == 1 &&
      X509_NAME_cmp(X509_get_subject_name(certificate), X509_get_issuer_name(certificate)) == 0;
  ERR_clear_error();
  return good;
}

}  // namespace

Status check_site_name(const std::string& name) {
  if (!is_peer_name(name))
    return Error{"site", fmt::format("'{}' is not possible as a name; expected at most {} "
                                     "lower-case letters, digits and hyphens, with dots between "
                                     "parts",
                                     name, max_name_length)};
  if (name == operator_name)
    return Error{"site",
                 "operator is reserved for the certificate that may stop peers; expected "
                 "another name"};
  return success();
}

Result<CertifiedKey> make_site_certificate(const std::string& name, const std::string& address,
                                           bool inbound, long days) {
  if (Status status = check_site_name(name); !status) return status.error();
  if (!is_address(address))
    return Error{"--listen", fmt::format("'{}' is not possible; expected HOST:PORT, such as "
                                         "10.0.0.1:7001",
                                         address)};
  return certify_itself(name, fmt::format("{}{}{}", scheme, address, inbound ? "" : no_inbound),
                        days);
}

Result<SiteCertificate> read_site_certificate(const std::string& text, const std::string& where) {
  const auto chain = read_certificates(text);
  if (chain.size() != 1)
    return Error{where, fmt::format("has {} certificates; expected the one that grove site new "
                                    "made",
                                    chain.size())};
  X509* certificate = chain.front().get();
  const auto names = names_of(certificate);
  if (!names || !signed_itself(certificate) || X509_check_ca(certificate) != 0)
    return Error{where, "is not the certificate of a site; expected one that grove site new made"};
  SiteCertificate site{.name = names->first,
                       .address = names->second,
                       .pem = pem_of(certificate),
                       .fingerprint = fingerprint_of(certificate),
                       .public_key = public_key_of(certificate)};
  if (Status status = check_site_name(site.name); !status) return Error{where, status.error().what};
  site.inbound = !site.address.ends_with(no_inbound);
  if (!site.inbound) site.address.resize(site.address.size() - no_inbound.size());
  if (!site.address.starts_with(scheme) || !is_address(site.address.substr(scheme.size())))
    return Error{where, "has no address; expected a certificate that grove site new made"};
  site.address.erase(0, scheme.size());
  return site;
}

Status check_validity(const SiteCertificate& certificate) {
  const double left = seconds_until_expiry(certificate.pem);
  if (left <= 0)
    return Error{"certificate of " + certificate.name,
                 fmt::format("has expired {:.1f} days ago; expected one of grove site renew, and a "
                             "new version of the study with it",
                             -left / seconds_per_day)};
  const auto chain = read_certificates(certificate.pem);
  if (X509_cmp_current_time(X509_get0_notBefore(chain.front().get())) > 0)
    return Error{"certificate of " + certificate.name,
                 "is not valid yet; expected a clock that is right"};
  return success();
}

}  // namespace grove::peer
