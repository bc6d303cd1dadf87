#pragma once

#include <memory>
#include <string>
#include <vector>

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include "grove/base/result.h"

namespace grove::peer {

constexpr auto operator_name = "operator";  ///< name in the certificate that may stop peers

/// The files of one identity.
struct TlsFiles {
  std::string ca, certificate, key;
};

/// PEM texts. All are empty for connections without TLS.
struct TlsIdentity {
  std::string ca, certificate, key;
  bool secure() const { return !ca.empty(); }
};
Result<TlsIdentity> load_identity(const TlsFiles& files);

std::shared_ptr<grpc::ServerCredentials> server_credentials(const TlsIdentity& identity);
std::shared_ptr<grpc::ChannelCredentials> client_credentials(const TlsIdentity& identity);

/// The first DNS name in the caller's certificate; empty without TLS.
std::string caller_name(const grpc::ServerContext& context);

/// True if the caller's certificate carries exactly that name.
bool certified(const grpc::ServerContext& context, const std::string& name);

}  // namespace grove::peer
