#include "grove/peer/dialer.h"

#include <algorithm>
#include <random>

#include <grpcpp/create_channel.h>

#include "grove/peer/channel_arguments.h"
#include "grove/peer/clock.h"
#include "grove/peer/session.h"

namespace grove::peer {
namespace {

constexpr double initial_backoff_seconds = 0.1;
constexpr double max_backoff_seconds = 1;

}  // namespace

std::shared_ptr<grpc::Channel> channel_to(const NeighbourAddress& neighbour,
                                          const TlsIdentity& identity, const LinkShape& shape,
                                          const grpc::ResourceQuota* quota) {
  grpc::ChannelArguments arguments;
  if (quota != nullptr) arguments.SetResourceQuota(*quota);
  if (identity.secure()) arguments.SetSslTargetNameOverride(neighbour.name);
  arguments.SetMaxReceiveMessageSize(receive_limit_bytes(shape));
  // The default back-off of gRPC is slow: 5 s after 10 s without an answer.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // gRPC uses this as the timeout of a connection attempt, which takes four round trips.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 25'000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  limit_read_buffers([&](const char* name, int value) { arguments.SetInt(name, value); });
  return grpc::CreateCustomChannel(neighbour.address, client_credentials(identity), arguments);
}

Dialer::Dialer(NeighbourAddress neighbour, const TlsIdentity& identity, const LinkShape& shape,
               LinkTable& links, std::shared_ptr<spdlog::logger> log, double idle_seconds,
               const grpc::ResourceQuota* quota)
    : idle_seconds_(idle_seconds),
      neighbour_(std::move(neighbour)),
      links_(links),
      log_(std::move(log)),
      stub_(v1::Peer::NewStub(channel_to(neighbour_, identity, shape, quota))),
      thread_([this] { keep_dialing(); }) {}

Dialer::~Dialer() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  streams_.cancel_all();
  thread_.join();
}

bool Dialer::sleep_for(double seconds) {
  std::unique_lock lock(mutex_);
  return !ending_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ended_; });
}

void Dialer::keep_dialing() {
  double wait = initial_backoff_seconds;
  std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> jitter(0.5, 1.5);  // peers that started together spread
  do {
    const double began = monotonic_seconds();
    dial_once();
    const bool lasted = monotonic_seconds() - began > max_backoff_seconds;
    wait = lasted ? initial_backoff_seconds : std::min(2 * wait, max_backoff_seconds);
  } while (sleep_for(wait * jitter(random)));
}

void Dialer::dial_once() {
  grpc::ClientContext context;
  const auto id =
      streams_.add([&] { context.TryCancel(); }, monotonic_seconds() + hello_timeout_seconds);
  const auto stream = stub_->Link(&context);
  v1::Envelope envelope;
  *envelope.mutable_hello() = links_.hello_to(neighbour_.name);
  if (links_.record(neighbour_.name, envelope) && stream->Write(envelope) &&
      stream->Read(&envelope)) {
    std::uint64_t session = 0;
    // The certificate proves the neighbour's name, so a hello with another name is not its own.
    if (!envelope.has_hello() || envelope.hello().from() != neighbour_.name)
      links_.reject(neighbour_.name, {RejectReason::wrong_name, "answered with another name"});
    else if (!links_.admit(envelope.hello(), session)) {
      const auto received = [&] {
        streams_.extend(id,
                        monotonic_seconds() + idle_limit(links_, neighbour_.name, idle_seconds_));
      };
      streams_.extend(id, monotonic_seconds() + hello_timeout_seconds);
      envelope.Clear();  // frees the estimate for the length of the session
      log_->info("connected peer={} address={}", neighbour_.name, neighbour_.address);
      run_session(
          *stream, links_, neighbour_.name, session, [&] { context.TryCancel(); }, received);
    }
    context.TryCancel();
  }
  const grpc::Status status = stream->Finish();
  streams_.remove(id);
  if (v1::SignedMember twin; status.error_code() == grpc::StatusCode::ALREADY_EXISTS &&
                             twin.ParseFromString(status.error_details()))
    links_.add_entry(twin);
  if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED &&
      printable(status.error_message()) != last_error_) {
    last_error_ = printable(status.error_message());
    log_->info("not connected peer={} address={} reason=\"{}\"", neighbour_.name,
               neighbour_.address, last_error_);
  }
}

}  // namespace grove::peer
