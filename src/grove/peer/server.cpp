#include "grove/peer/server.h"

#include <fmt/format.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include "grove/peer/clock.h"
#include "grove/peer/peer.grpc.pb.h"
#include "grove/peer/session.h"

namespace grove::peer {

class Server::Service final : public v1::Peer::Service {
  using Handler = grpc::internal::BidiStreamingHandler<Service, grpc::ByteBuffer, grpc::ByteBuffer>;
  static constexpr int link_method = 0;  ///< its place in peer.proto

 public:
  Service(Hub& hub, StreamRegistry& cancels, ServerAnswers answers, bool secure)
      : hub_(hub), cancels_(cancels), answers_(std::move(answers)), secure_(secure) {
    MarkMethodStreamed(
        link_method,
        new Handler([](Service* service, grpc::ServerContext* context,
                       ServerStream* stream) { return service->link(context, stream); },
                    this));
  }

  grpc::Status Status(grpc::ServerContext*, const v1::StatusRequest*,
                      v1::StatusReply* reply) override {
    reply->set_json(answers_.status_json());
    return grpc::Status::OK;
  }

  grpc::Status Stop(grpc::ServerContext* context, const v1::StopRequest*, v1::StopReply*) override {
    if (secure_ && !certified(*context, operator_name))
      return {grpc::StatusCode::PERMISSION_DENIED, "only the operator may stop a peer"};
    answers_.stop();
    return grpc::Status::OK;
  }

 private:
  grpc::Status link(grpc::ServerContext* context, ServerStream* stream) {
    const auto cancel = [context] { context->TryCancel(); };
    const auto id = cancels_.add(cancel, monotonic_seconds() + hello_seconds);
    grpc::Status status = talk(*context, *stream, id);
    cancels_.remove(id);
    return status;
  }

  grpc::Status talk(grpc::ServerContext& context, ServerStream& stream, std::uint64_t cancel_id) {
    v1::Envelope envelope;
    if (!read_from(stream, hub_.dimension(), envelope) || !envelope.has_hello())
      return refused("", {Refusal::malformed, "no hello came"});
    v1::Hello hello = std::move(*envelope.mutable_hello());
    if (secure_ && !certified(context, hello.from()))
      return refused("", {Refusal::wrong_name, "the certificate carries another name"});
    std::uint64_t session = 0;
    if (const auto flaw = hub_.admit(hello, session))
      return {grpc::StatusCode::FAILED_PRECONDITION, flaw->detail};
    cancels_.confirm(cancel_id);
    const std::string name = hello.from();
    *envelope.mutable_hello() = hub_.hello_to(name);
    v1::Hello().Swap(&hello);  // the estimate is large, and the session long
    const bool answered = write_to(stream, envelope);
    if (answered)
      converse(stream, hub_, name, session, [&context] { context.TryCancel(); });
    else
      hub_.end_session(name, session);
    return grpc::Status::OK;
  }

  grpc::Status refused(const std::string& name, const Flaw& flaw) {
    hub_.refuse(name, flaw);
    return {grpc::StatusCode::PERMISSION_DENIED, flaw.detail};
  }

  Hub& hub_;
  StreamRegistry& cancels_;
  ServerAnswers answers_;
  bool secure_;
};

namespace {

/// A neighbour that hangs, or a cut, is found within some seconds.
void watch_connections(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 2000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  // Without it several processes could share the port, and a duplicate peer would go unnoticed.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  bound_reads([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerSettings& settings, Hub& hub,
                                              ServerAnswers answers) {
  auto server = std::unique_ptr<Server>(new Server);
  server->service_ = std::make_unique<Service>(hub, server->cancels_, std::move(answers),
                                               settings.identity.secure());
  grpc::ServerBuilder builder;
  builder.AddListeningPort(settings.listen, server_credentials(settings.identity), &server->port_);
  builder.RegisterService(server->service_.get());
  builder.SetMaxReceiveMessageSize(receive_limit_bytes(settings.shape));
  grpc::ResourceQuota quota("peer");
  quota.SetMaxThreads(static_cast<int>(2 * settings.neighbours + 16));
  builder.SetResourceQuota(quota);
  watch_connections(builder);
  server->server_ = builder.BuildAndStart();
  if (!server->server_ || server->port_ == 0)
    return Error{"listen", fmt::format("cannot listen on {}; expected a free HOST:PORT of this "
                                       "machine, and a certificate and key that belong together",
                                       settings.listen)};
  return server;
}

void Server::shut_down() {
  if (!server_) return;
  cancels_.cut_all();
  server_->Shutdown(deadline_in(std::chrono::milliseconds(500)));
  server_->Wait();
  server_.reset();
}

Server::~Server() { shut_down(); }

}  // namespace grove::peer
