#include "grove/peer/tls.h"

#include <algorithm>

#include "grove/base/file.h"

namespace grove::peer {

Result<TlsIdentity> load_identity(const TlsFiles& files) {
  const auto ca = read_file(files.ca), certificate = read_file(files.certificate),
             key = read_file(files.key);
  for (const auto* file : {&ca, &certificate, &key})
    if (!*file) return file->error();
  return TlsIdentity{*ca, *certificate, *key};
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsIdentity& identity) {
  if (!identity.secure()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity.ca;
  options.pem_key_cert_pairs.push_back({identity.key, identity.certificate});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const TlsIdentity& identity) {
  if (!identity.secure()) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = identity.ca;
  options.pem_private_key = identity.key;
  options.pem_cert_chain = identity.certificate;
  return grpc::SslCredentials(options);
}

std::string caller_name(const grpc::ServerContext& context) {
  const auto names = context.auth_context()->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME);
  return names.empty() ? std::string() : std::string(names[0].data(), names[0].size());
}

bool certified(const grpc::ServerContext& context, const std::string& name) {
  const auto names = context.auth_context()->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME);
  return std::ranges::any_of(names, [&](const grpc::string_ref& certified_name) {
    return std::string_view(certified_name.data(), certified_name.size()) == name;
  });
}

}  // namespace grove::peer
