#include "peers/sender.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <spdlog/sinks/null_sink.h>

#include "grove/peer/dialer.h"
#include "grove/peer/peer.grpc.pb.h"

namespace grove::bench {
namespace {

peer::NeighbourAddress receiver_at(int port) {
  return {receiver_name, "127.0.0.1:" + std::to_string(port)};
}

/// Sends a stream of iterates until the receiver closes it.
void flood(const Sender::Job& job, int stream_number, const peer::CertifiedKey& authority) {
  const peer::TlsIdentity identity = identity_of(authority, sender_name(stream_number));
  const auto stub =
      peer::v1::Peer::NewStub(peer::channel_to(receiver_at(job.port), identity, job.dimension));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  const auto stream = stub->Link(&context);
  peer::v1::Envelope envelope;
  auto& hello = *envelope.mutable_hello();
  hello.set_protocol(peer::protocol_version);
  hello.set_network(bench_network);
  hello.set_from(sender_name(stream_number));
  hello.set_to(receiver_name);
  peer::set_schema(bench_schema(), hello);
  stream->Write(envelope);
  const std::vector<double> values(static_cast<std::size_t>(job.dimension), 0.5);
  *envelope.mutable_iterate() =
      peer::encode({.sequence = 1, .vector = values}, job.dimension, false);
  // Both ends of a link read. A client that does not read was measured to be three times as slow,
  // which would make the peer look better.
  std::thread reader([&] {
    for (peer::v1::Envelope received; stream->Read(&received);) {
    }
  });
  for (std::uint64_t sequence = 1; stream->Write(envelope); ++sequence)
    envelope.mutable_iterate()->set_sequence(sequence + 1);
  context.TryCancel();
  reader.join();
  stream->Finish();
}

/// Sends iterates through a link table, the next as soon as the last is sent.
void send_as_peer(const Sender::Job& job, const peer::CertifiedKey& authority) {
  const auto log =
      std::make_shared<spdlog::logger>("sender", std::make_shared<spdlog::sinks::null_sink_mt>());
  peer::LinkTable link_table({.network = bench_network,
                              .self = sender_name(0),
                              .schema = bench_schema(),
                              .shape = job.dimension},
                             log);
  link_table.add_link(receiver_name);
  const peer::TlsIdentity identity = identity_of(authority, sender_name(0));
  const peer::Dialer dialer(receiver_at(job.port), identity, job.dimension, link_table, log);
  const std::vector<double> values(static_cast<std::size_t>(job.dimension), 0.5);
  bool began = false;
  std::uint64_t sent = 0;
  while (true) {
    const peer::LinkStatus link = link_table.statuses().front();
    if (began && !link.connected) break;
    began = link.connected;
    if (link.connected && link.counts.iterates_sent == sent)
      link_table.send(receiver_name, {.sequence = ++sent, .vector = values});
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  link_table.close();
}

void work(const Sender::Job& job, const peer::CertifiedKey& authority) {
  if (job.manner == Sender::Manner::peer) return send_as_peer(job, authority);
  std::vector<std::thread> streams;
  for (int k = 0; k < job.streams; ++k) streams.emplace_back([&, k] { flood(job, k, authority); });
  for (auto& stream : streams) stream.join();
}

}  // namespace

void pin_to_core(int core) {
  if (std::thread::hardware_concurrency() < 2) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
}

peer::TlsIdentity identity_of(const peer::CertifiedKey& authority, const std::string& name) {
  const auto identity = peer::certify(authority, name);
  return {authority.certificate, identity->certificate, identity->key};
}

std::string sender_name(int stream) { return "sender-" + std::to_string(stream); }

Sender::Sender(const peer::CertifiedKey& authority, void (*configure)()) {
  int ends[2];
  if (::pipe(ends) != 0) return;
  process_ = ::fork();
  if (process_ == 0) {
    ::close(ends[1]);
    if (configure != nullptr) configure();
    pin_to_core(1);
    for (Job job; ::read(ends[0], &job, sizeof job) == sizeof job;) work(job, authority);
    ::_exit(0);
  }
  ::close(ends[0]);
  jobs_ = ends[1];
}

Sender::~Sender() {
  ::close(jobs_);
  ::waitpid(process_, nullptr, 0);
}

void Sender::start(const Job& job) {
  if (::write(jobs_, &job, sizeof job) != sizeof job) std::abort();
}

}  // namespace grove::bench
