#pragma once

// Private to the files that use OpenSSL: signatures of texts with the keys of certificates.

#include <string>

#include "grove/peer/openssl_handles.h"

namespace grove::peer {

/// Empty if the key cannot sign.
std::string sign_text(EVP_PKEY* key, const std::string& text);

bool is_signature(EVP_PKEY* key, const std::string& text, const std::string& signature);

}  // namespace grove::peer
