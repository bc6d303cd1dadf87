#include "grove/peer/signature.h"

namespace grove::peer {
namespace {

/// Ed25519 and Ed448 have a digest of their own.
const EVP_MD* digest_for(EVP_PKEY* key) {
  const int kind = EVP_PKEY_get_base_id(key);
  return kind == EVP_PKEY_ED25519 || kind == EVP_PKEY_ED448 ? nullptr : EVP_sha256();
}

const unsigned char* bytes_of(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string sign_text(EVP_PKEY* key, const std::string& text) {
  const DigestContext context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (EVP_DigestSignInit(context.get(), nullptr, digest_for(key), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes_of(text), text.size()) != 1)
    return {};
  std::string signature(size, '\0');
  if (EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes_of(text), text.size()) != 1)
    return {};
  signature.resize(size);
  return signature;
}

bool is_signature(EVP_PKEY* key, const std::string& text, const std::string& signature) {
  const DigestContext context(EVP_MD_CTX_new());
  const bool good =
      EVP_DigestVerifyInit(context.get(), nullptr, digest_for(key), nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), bytes_of(signature), signature.size(), bytes_of(text),
                       text.size()) == 1;
  ERR_clear_error();
  return good;
}

}  // namespace grove::peer
