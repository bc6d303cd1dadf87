#pragma once

// Private to the files that use OpenSSL: owners of its objects, and certificates read from text.

#include <memory>
#include <string>
#include <vector>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace grove::peer {

template <auto free>
struct OpensslDeleter {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, OpensslDeleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, OpensslDeleter<X509_free>>;
using CertificateStore = std::unique_ptr<X509_STORE, OpensslDeleter<X509_STORE_free>>;
using CertificateCheck = std::unique_ptr<X509_STORE_CTX, OpensslDeleter<X509_STORE_CTX_free>>;
using TextBuffer = std::unique_ptr<BIO, OpensslDeleter<BIO_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, OpensslDeleter<EVP_MD_CTX_free>>;

/// Names are compared exactly, and only with the DNS names of the certificate.
inline constexpr unsigned exact_name =
    X509_CHECK_FLAG_NO_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

inline TextBuffer buffer_of(const std::string& text) {
  return TextBuffer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

inline std::vector<Certificate> read_certificates(const std::string& text) {
  const TextBuffer buffer = buffer_of(text);
  std::vector<Certificate> result;
  while (Certificate one{PEM_read_bio_X509(buffer.get(), nullptr, nullptr, nullptr)})
    result.push_back(std::move(one));
  ERR_clear_error();  // the end of the text is an error
  return result;
}

inline Key read_key(const std::string& text) {
  const TextBuffer buffer = buffer_of(text);
  Key key(PEM_read_bio_PrivateKey(buffer.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return key;
}

}  // namespace grove::peer
