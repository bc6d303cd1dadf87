#include "grove/peer/study/acceptance.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "grove/data/digest.h"
#include "grove/peer/signature.h"
#include "grove/peer/signer.h"

namespace grove::peer {
namespace {

/// The first line keeps signatures of other contents apart.
std::string signed_text(const std::string& study_digest, const Acceptance& acceptance) {
  return fmt::format("grove-acceptance/1\n{}\n{}\n{}\n{}\n{}\n", study_digest, acceptance.member,
                     acceptance.time, acceptance.data, acceptance.rows);
}

std::string to_hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// Empty for text that to_hex() cannot have written.
std::string from_hex(const std::string& text) {
  const auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  if (text.size() % 2 != 0) return {};
  for (std::size_t k = 0; k < text.size(); k += 2) {
    const int high = value(text[k]), low = value(text[k + 1]);
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(16 * high + low);
  }
  return bytes;
}

bool signed_by(const SiteCertificate& site, const std::string& text, const std::string& signature) {
  const auto chain = read_certificates(site.pem);
  const Key key(X509_get_pubkey(chain.front().get()));
  return key && !signature.empty() && is_signature(key.get(), text, signature);
}

}  // namespace

Result<Acceptance> sign_acceptance(const std::string& study_digest, Acceptance acceptance,
                                   const std::string& key) {
  const Key secret = read_key(key);
  if (secret)
    acceptance.signature = to_hex(sign_text(secret.get(), signed_text(study_digest, acceptance)));
  if (acceptance.signature.empty())
    return Error{"key of " + acceptance.member, "cannot sign; expected one of grove site new"};
  return acceptance;
}

Status check_acceptance(const std::string& study_digest, const Acceptance& acceptance,
                        const std::vector<SiteCertificate>& members) {
  const std::string where = "acceptance of " + acceptance.member;
  const auto member = std::ranges::find(members, acceptance.member, &SiteCertificate::name);
  if (member == members.end())
    return Error{where, fmt::format("'{}' is not a member of the study", acceptance.member)};
  const std::string text = signed_text(study_digest, acceptance),
                    signature = from_hex(acceptance.signature);
  if (signed_by(*member, text, signature)) return success();
  for (const SiteCertificate& other : members)
    if (signed_by(other, text, signature))
      return Error{where, fmt::format("the signature is that of {}; expected that of {}",
                                      other.name, acceptance.member)};
  return Error{where, fmt::format("{} did not sign this study: the study or the acceptance was "
                                  "changed after it was signed",
                                  acceptance.member)};
}

Result<std::string> data_digest(const std::string& file, const std::string& key) {
  const auto digest = sha256_of_file(file);
  if (!digest) return digest.error();
  return keyed_digest(digest_secret(key), "grove-study-data/1\n" + *digest);
}

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace grove::peer
