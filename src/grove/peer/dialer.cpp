#include "grove/peer/dialer.h"

#include <algorithm>

#include <grpcpp/create_channel.h>

#include "grove/peer/clock.h"
#include "grove/peer/session.h"

namespace grove::peer {
namespace {

constexpr double first_wait_seconds = 0.1;
constexpr double longest_wait_seconds = 1;

}  // namespace

std::shared_ptr<grpc::Channel> channel_to(const NeighbourAddress& neighbour,
                                          const TlsIdentity& identity, const LinkShape& shape) {
  grpc::ChannelArguments arguments;
  if (identity.secure()) arguments.SetSslTargetNameOverride(neighbour.name);
  arguments.SetMaxReceiveMessageSize(receive_limit_bytes(shape));
  // gRPC's own back-off is slow: 5 s after 10 s without an answer.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);  // in truth the time to connect
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 2000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 2000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  bound_reads([&](const char* name, int value) { arguments.SetInt(name, value); });
  return grpc::CreateCustomChannel(neighbour.address, client_credentials(identity), arguments);
}

Dialer::Dialer(NeighbourAddress neighbour, const TlsIdentity& identity, const LinkShape& shape,
               Hub& hub, std::shared_ptr<spdlog::logger> log)
    : neighbour_(std::move(neighbour)),
      hub_(hub),
      log_(std::move(log)),
      channel_(channel_to(neighbour_, identity, shape)),
      thread_([this] { keep_dialing(); }) {}

Dialer::~Dialer() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  cancels_.cut_all();
  thread_.join();
}

bool Dialer::sleep_for(double seconds) {
  std::unique_lock lock(mutex_);
  return !ending_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ended_; });
}

void Dialer::keep_dialing() {
  double wait = first_wait_seconds;
  do {
    const double began = monotonic_seconds();
    dial_once();
    const bool lasted = monotonic_seconds() - began > longest_wait_seconds;
    wait = lasted ? first_wait_seconds : std::min(2 * wait, longest_wait_seconds);
  } while (sleep_for(wait));
}

void Dialer::dial_once() {
  grpc::ClientContext context;
  const auto id = cancels_.add([&] { context.TryCancel(); }, monotonic_seconds() + hello_seconds);
  const auto stream = open_link(*channel_, context);
  v1::Envelope envelope;
  *envelope.mutable_hello() = hub_.hello_to(neighbour_.name);
  if (write_to(*stream, envelope) && read_from(*stream, hub_.dimension(), envelope)) {
    std::uint64_t session = 0;
    // The certificate proved the name; a hello in another's name is not from this neighbour.
    if (!envelope.has_hello() || envelope.hello().from() != neighbour_.name)
      hub_.refuse(neighbour_.name, {Refusal::wrong_name, "answered in another name"});
    else if (!hub_.admit(envelope.hello(), session)) {
      cancels_.confirm(id);
      envelope.Clear();  // its estimate is large, and the session long
      log_->info("connected peer={} address={}", neighbour_.name, neighbour_.address);
      converse(*stream, hub_, neighbour_.name, session, [&] { context.TryCancel(); });
    }
    context.TryCancel();
  }
  const grpc::Status status = stream->Finish();
  cancels_.remove(id);
  if (!status.ok() && status.error_code() != grpc::StatusCode::CANCELLED &&
      status.error_message() != last_trouble_) {
    last_trouble_ = status.error_message();
    log_->info("not connected peer={} address={} reason=\"{}\"", neighbour_.name,
               neighbour_.address, last_trouble_);
  }
}

}  // namespace grove::peer
