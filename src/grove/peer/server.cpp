#include "grove/peer/server.h"

#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/server_builder.h>

#include "grove/peer/channel_arguments.h"
#include "grove/peer/clock.h"
#include "grove/peer/peer.grpc.pb.h"
#include "grove/peer/session.h"
#include "grove/peer/wire_sums.h"

namespace grove::peer {

class Server::Service final : public v1::Peer::Service {
  using Stream = grpc::ServerReaderWriter<v1::Envelope, v1::Envelope>;

 public:
  Service(LinkTable& links, StreamRegistry& streams, ServerHandlers handlers,
          const ServerSettings& settings)
      : links_(links),
        streams_(streams),
        handlers_(std::move(handlers)),
        name_(settings.name),
        secure_(settings.identity.secure()),
        idle_seconds_(settings.idle_seconds) {}

  /// Looks at the certificate before it reads anything: a stranger's message takes no memory, and a
  /// name has few streams, so that threads remain for the neighbours.
  grpc::Status Link(grpc::ServerContext* context, Stream* stream) override {
    const std::string caller = caller_name(*context);
    if (secure_ && !links_.may_connect(caller))
      return rejected("", {RejectReason::unknown_peer,
                           fmt::format("'{}' is not a neighbour", printable(caller))});
    const Waiting waiting(*this, caller);
    if (secure_ && !waiting.admitted())
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams without a hello"};
    const auto cancel = [context] { context->TryCancel(); };
    const auto id = streams_.add(cancel, monotonic_seconds() + hello_timeout_seconds);
    grpc::Status status = serve_link(*context, *stream, id, waiting);
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

  grpc::Status Retrain(grpc::ServerContext* context, const v1::RetrainRequest*,
                       v1::RetrainReply*) override {
    if (secure_ && !certified(*context, operator_name) && !certified(*context, name_))
      return {grpc::StatusCode::PERMISSION_DENIED,
              "only the operator and the peer itself may ask it to train anew"};
    if (const auto accepted = handlers_.retrain(); !accepted)
      return {grpc::StatusCode::FAILED_PRECONDITION, printable(accepted.error().text())};
    return grpc::Status::OK;
  }

 private:
  /// Counts a stream of the name until its hello has arrived.
  class Waiting {
   public:
    Waiting(Service& service, std::string name) : service_(service), name_(std::move(name)) {
      const std::lock_guard lock(service_.waiting_mutex_);
      admitted_ = service_.waiting_[name_] < max_waiting_streams;
      service_.waiting_[name_] += admitted_;
    }
    ~Waiting() { end(); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    bool admitted() const { return admitted_; }
    void end() const {
      const std::lock_guard lock(service_.waiting_mutex_);
      if (std::exchange(admitted_, false) && --service_.waiting_[name_] == 0)
        service_.waiting_.erase(name_);
    }

   private:
    static constexpr int max_waiting_streams = 2;
    Service& service_;
    std::string name_;
    mutable bool admitted_ = false;
  };

  grpc::Status serve_link(grpc::ServerContext& context, Stream& stream, std::uint64_t stream_id,
                          const Waiting& waiting) {
    v1::Envelope envelope;
    if (!stream.Read(&envelope) || !envelope.has_hello())
      return rejected("", {RejectReason::malformed, "expected a hello"});
    v1::Hello hello = std::move(*envelope.mutable_hello());
    if (secure_ && !certified(context, hello.from()))
      return rejected("", {RejectReason::wrong_name, "the certificate carries another name"});
    std::uint64_t session = 0;
    if (const auto violation = links_.admit(hello, session)) {
      if (violation->reason != RejectReason::duplicate_peer)
        return {grpc::StatusCode::FAILED_PRECONDITION, violation->detail};
      // The entry of the process that is connected: the caller may be its twin.
      return {grpc::StatusCode::ALREADY_EXISTS, violation->detail,
              links_.newest_entry_of(hello.from())};
    }
    waiting.end();
    streams_.extend(stream_id, monotonic_seconds() + hello_timeout_seconds);
    const std::string name = hello.from();
    const auto received = [&] {
      streams_.extend(stream_id, monotonic_seconds() + idle_limit(links_, name, idle_seconds_));
    };
    *envelope.mutable_hello() = links_.hello_to(name);
    v1::Hello().Swap(&hello);  // frees the estimate for the length of the session
    const bool answered = links_.record(name, envelope) && stream.Write(envelope);
    envelope.Clear();
    if (answered)
      run_session(
          stream, links_, name, session, [&context] { context.TryCancel(); }, received);
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
  double idle_seconds_;
  std::mutex waiting_mutex_;
  std::map<std::string, int> waiting_;  ///< streams without a hello, by name of the certificate
};

namespace {

/// Silent streams are ended by the timeout that follows the round trip. Keepalive only closes
/// connections that have no stream. gRPC cannot change it for a connection that is open, so that it
/// is long enough for any round trip at which a hello arrives in time.
void set_keepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  // Otherwise two processes could listen on one port, and nobody would notice the duplicate peer.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Connections that send nothing are closed. A handshake takes three round trips.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 8);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
  limit_read_buffers([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
}

/// Memory for the messages of all connections. gRPC buffers a message before it looks at its size,
/// and closes connections that exceed the quota.
std::size_t quota_bytes(const ServerSettings& settings) {
  constexpr std::size_t fixed = 6 << 20;         // connections, requests; 2 MB cut off honest peers
  constexpr std::size_t member_bytes = 8 << 10;  // its entry and certificate, with copies
  const LinkShape& shape = settings.shape;
  const std::size_t sums = shape.sums ? max_sums_bytes(shape) : 0;
  const std::size_t iterate = number_bytes(shape) + sums;
  const std::size_t fits = shape.fits ? 2 * max_fit_bytes : 0;
  return fixed + fits + (settings.neighbours + 1) * (2 * iterate + member_bytes);
}

}  // namespace

Result<std::unique_ptr<Server>> Server::start(const ServerSettings& settings, LinkTable& links,
                                              ServerHandlers handlers) {
  auto server = std::unique_ptr<Server>(new Server);
  server->service_ =
      std::make_unique<Service>(links, server->streams_, std::move(handlers), settings);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(settings.listen, server_credentials(settings.identity), &server->port_);
  builder.RegisterService(server->service_.get());
  builder.SetMaxReceiveMessageSize(receive_limit_bytes(settings.shape));
  server->quota_.SetMaxThreads(static_cast<int>(4 * settings.neighbours + 16));
  server->quota_.Resize(quota_bytes(settings));
  builder.SetResourceQuota(server->quota_);
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
