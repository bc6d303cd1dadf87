#pragma once

// Loopback endpoints with TLS, and clients that send arbitrary messages of the protocol.

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grove/peer/certificates.h"
#include "grove/peer/dialer.h"
#include "grove/peer/peer.grpc.pb.h"
#include "grove/peer/server.h"
#include "grove/peer/test_hello.h"
#include "grove/peer/test_log.h"
#include "grove/peer/test_wait.h"

namespace grove::peer {

constexpr Index test_dimension = 2;

inline const CertifiedKey& test_authority() {
  static const CertifiedKey made = *make_authority("test");
  return made;
}

inline TlsIdentity identity_of(const std::string& name, const CertifiedKey& ca = test_authority()) {
  const auto certified_key = certify(ca, name);
  return {ca.certificate, certified_key->certificate, certified_key->key};
}

/// A link table with its server, its dialers and its log.
class Endpoint {
 public:
  explicit Endpoint(const std::string& name, LinkTableOptions options = {},
                    const std::string& listen = "127.0.0.1:0")
      : log(std::make_shared<TestLog>()),
        identity_(identity_of(name)),
        link_table(complete(name, std::move(options)), logger_to(log)) {
    server = std::move(*Server::start(
        {.name = name,
         .listen = listen,
         .identity = identity_,
         .shape = test_dimension,
         .neighbours = 4},
        link_table, {.status_json = [] { return "{}"; }, .stop = [this] { stopped = true; }}));
  }
  ~Endpoint() {
    link_table.close();
    dialers_.clear();
    server->shut_down();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(server->port()); }
  void dial(const std::string& name, const std::string& to) {
    link_table.add_link(name);
    dialers_.push_back(std::make_unique<Dialer>(NeighbourAddress{name, to}, identity_,
                                                test_dimension, link_table, logger_to(log)));
  }
  LinkStatus link(const std::string& name) const {
    for (LinkStatus& one : link_table.statuses())
      if (one.name == name) return one;
    return {};
  }
  bool connected_to(const std::string& name) const { return link(name).connected; }
  std::uint64_t rejected(const std::string& name, RejectReason reason) const {
    return link(name).counts.rejected[static_cast<std::size_t>(reason)];
  }
  std::uint64_t strangers(RejectReason reason) const {
    return link_table.strangers_rejected()[static_cast<std::size_t>(reason)];
  }

  struct Received {
    std::uint64_t sequence = 0;
    std::vector<double> values = {};
    std::optional<HopCounts> hops = {};
    std::optional<WeightPair> weights = {};
    std::vector<float> weight_update = {};
    bool operator==(const Received&) const = default;
  };
  /// The messages of neighbours since the last call, by name.
  std::map<std::string, Received> received() {
    std::map<std::string, Received> messages;
    link_table.take_iterates([&](const std::string& name, const Message& message) {
      messages[name] = {
          .sequence = message.sequence,
          .values = {message.vector.begin(), message.vector.end()},
          .hops = message.hops,
          .weights = message.weights,
          .weight_update = {message.weight_update.begin(), message.weight_update.end()}};
    });
    return messages;
  }

  std::shared_ptr<TestLog> log;

 private:
  static LinkTableOptions complete(const std::string& name, LinkTableOptions options) {
    options.network = "test";
    options.self = name;
    if (options.schema.empty()) options.schema = {{"problem", "test"}};
    options.shape.dimension = test_dimension;
    return options;
  }
  TlsIdentity identity_;

 public:
  LinkTable link_table;
  std::atomic<bool> stopped = false;
  std::unique_ptr<Server> server;

 private:
  std::vector<std::unique_ptr<Dialer>> dialers_;
};

/// A client of peer b that sends given messages.
class Caller {
 public:
  /// A member waits until it is connected. A stranger does not, because it never will be.
  enum class Kind { member, stranger };

  Caller(const Endpoint& b, const TlsIdentity& identity, Kind kind = Kind::member)
      : stub_(v1::Peer::NewStub(channel_to({"b", b.address()}, identity, test_dimension))) {
    context_.set_wait_for_ready(kind == Kind::member);
    stream_ = stub_->Link(&context_);
  }
  ~Caller() { end(); }

  bool send(const v1::Hello& hello) {
    v1::Envelope envelope;
    *envelope.mutable_hello() = hello;
    return stream_->Write(envelope);
  }
  bool send(std::uint64_t sequence, const std::vector<double>& values) {
    v1::Envelope envelope;
    *envelope.mutable_iterate() =
        encode({.sender = {}, .sequence = sequence, .vector = values}, test_dimension, false);
    return stream_->Write(envelope);
  }
  bool reads(v1::Envelope& envelope) { return stream_->Read(&envelope); }
  bool answered() {
    v1::Envelope envelope;
    return reads(envelope);
  }
  /// Sends a hello. Returns true if b admits it.
  bool enters_as(const std::string& name) { return send(hello_from(name)) && answered(); }
  /// The status with which the other end closed the stream.
  grpc::StatusCode ended_by_other() {
    finished_ = true;
    return stream_->Finish().error_code();
  }
  void end() {
    if (finished_) return;
    finished_ = true;
    context_.TryCancel();
    stream_->Finish();
  }

 private:
  std::unique_ptr<v1::Peer::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::Envelope, v1::Envelope>> stream_;
  bool finished_ = false;
};

}  // namespace grove::peer
