#include "grove/peer/server.h"

#include <fmt/format.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include "grove/peer/channel_arguments.h"
#include "grove/peer/clock.h"
#include "grove/peer/peer.grpc.pb.h"
#include "grove/peer/session.h"

namespace grove::peer {

class Server::Service final : public v1::Peer::Service {
  using Stream = grpc::ServerReaderWriter<v1::Envelope, v1::Envelope>;

 public:
  Service(LinkTable& links, StreamRegistry& streams, ServerHandlers handlers, std::string name,
          bool secure)
      : links_(links),
        streams_(streams),
        handlers_(std::move(handlers)),
        name_(std::move(name)),
        secure_(secure) {}

  grpc::Status Link(grpc::ServerContext* context, Stream* stream) override {
    const auto cancel = [context] { context->TryCancel(); };
    const auto id = streams_.add(cancel, monotonic_seconds() + hello_timeout_seconds);
    grpc::Status status = serve_link(*context, *stream, id);
    streams_.remove(id);
    return status;
  }

  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*,
                      v1::StatusReply* reply) override {
    reply->set_json(handlers_.status_json());
    return grpc::Status::OK;
  }

  grpc::Status Stop(grpc::ServerContext* context, const v1::StopRequest*, v1::StopReply*) override {
    if (secure_ && !certified(*context, operator_name))
      return {grpc::StatusCode::PERMISSION_DENIED, "only the operator may stop a peer"};
    handlers_.stop();
    return grpc::Status::OK;
  }

  grpc::Status Leave(grpc::ServerContext* context, const v1::LeaveRequest*,
                     v1::LeaveReply*) override {
    if (secure_ && !certified(*context, operator_name) && !certified(*context, name_))
      return {grpc::StatusCode::PERMISSION_DENIED,
              "only the operator and the peer itself may take it out of the network"};
    handlers_.leave();
    return grpc::Status::OK;
  }

 private:
  grpc::Status serve_link(grpc::ServerContext& context, Stream& stream, std::uint64_t stream_id) {
    v1::Envelope envelope;
    if (!stream.Read(&envelope) || !envelope.has_hello())
      return rejected("", {RejectReason::malformed, "expected a hello"});
    v1::Hello hello = std::move(*envelope.mutable_hello());
    if (secure_ && !certified(context, hello.from()))
      return rejected("", {RejectReason::wrong_name, "the certificate carries another name"});
    std::uint64_t session = 0;
    if (const auto violation = links_.admit(hello, session))
      return {violation->reason == RejectReason::duplicate_peer
                  ? grpc::StatusCode::ALREADY_EXISTS
                  : grpc::StatusCode::FAILED_PRECONDITION,
              violation->detail};
    streams_.confirm(stream_id);
    const std::string name = hello.from();
    *envelope.mutable_hello() = links_.hello_to(name);
    v1::Hello().Swap(&hello);  // frees the estimate for the length of the session
    const bool answered = stream.Write(envelope);
    envelope.Clear();
    if (answered)
      run_session(stream, links_, name, session, [&context] { context.TryCancel(); });
    else
      links_.end_session(name, session);
    return grpc::Status::OK;
  }

  grpc::Status rejected(const std::string& name, const Violation& violation) {
    links_.reject(name, violation);
    return {grpc::StatusCode::PERMISSION_DENIED, violation.detail};
  }

  LinkTable& links_;
  StreamRegistry& streams_;
  ServerHandlers handlers_;
  std::string name_;
  bool secure_;
};

namespace {

/// Detects a hung neighbour or a cut connection within seconds.
void set_keepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 2000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  // Otherwise two processes could listen on one port, and nobody would notice the duplicate peer.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  limit_read_buffers([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerSettings& settings, LinkTable& links,
                                              ServerHandlers handlers) {
  auto server = std::unique_ptr<Server>(new Server);
  server->service_ = std::make_unique<Service>(links, server->streams_, std::move(handlers),
                                               settings.name, settings.identity.secure());
  grpc::ServerBuilder builder;
  builder.AddListeningPort(settings.listen, server_credentials(settings.identity), &server->port_);
  builder.RegisterService(server->service_.get());
  builder.SetMaxReceiveMessageSize(receive_limit_bytes(settings.shape));
  grpc::ResourceQuota quota("peer");
  quota.SetMaxThreads(static_cast<int>(2 * settings.neighbours + 16));
  builder.SetResourceQuota(quota);
  set_keepalive(builder);
  server->server_ = builder.BuildAndStart();
  if (!server->server_ || server->port_ == 0)
    return Error{"listen", fmt::format("cannot listen on {}; expected a free HOST:PORT of this "
                                       "machine, and a certificate and key that belong together",
                                       settings.listen)};
  return server;
}

void Server::shut_down() {
  if (!server_) return;
  streams_.cancel_all();
  server_->Shutdown(deadline_in(std::chrono::milliseconds(500)));
  server_->Wait();
  server_.reset();
}

Server::~Server() { shut_down(); }

}  // namespace grove::peer
