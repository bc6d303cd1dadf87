#pragma once

// Servers and dialers on loopback with TLS, and callers that speak the protocol by hand.

#include <atomic>
#include <map>
#include <memory>
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

/// One end: a hub with its server, its dialers and its log.
class End {
 public:
  explicit End(const std::string& name, HubTerms terms = {},
               const std::string& listen = "127.0.0.1:0")
      : log(std::make_shared<TestLog>()),
        identity_(identity_of(name)),
        hub(complete(name, std::move(terms)), logger_to(log)) {
    server = std::move(*Server::start(
        {.listen = listen, .identity = identity_, .shape = test_dimension, .neighbours = 4}, hub,
        {.status_json = [] { return "{}"; }, .stop = [this] { stopped = true; }}));
  }
  ~End() {
    hub.close();
    dialers_.clear();
    server->shut_down();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(server->port()); }
  void dial(const std::string& name, const std::string& to) {
    hub.add_link(name);
    dialers_.push_back(std::make_unique<Dialer>(NeighbourAddress{name, to}, identity_,
                                                test_dimension, hub, logger_to(log)));
  }
  LinkStatus link(const std::string& name) const {
    for (LinkStatus& one : hub.links())
      if (one.name == name) return one;
    return {};
  }
  bool connected_to(const std::string& name) const { return link(name).connected; }
  std::uint64_t refused(const std::string& name, Refusal kind) const {
    return link(name).counts.refused[static_cast<std::size_t>(kind)];
  }
  std::uint64_t strangers(Refusal kind) const {
    return hub.strangers_refused()[static_cast<std::size_t>(kind)];
  }

  struct Word {
    std::uint64_t sequence;
    std::vector<double> values;
    bool operator==(const Word&) const = default;
  };
  /// What neighbours have said since the last call, by name.
  std::map<std::string, Word> heard() {
    std::map<std::string, Word> words;
    hub.take_iterates([&](const std::string& name, const Message& message) {
      words[name] = {message.sequence, {message.payload.begin(), message.payload.end()}};
    });
    return words;
  }

  std::shared_ptr<TestLog> log;

 private:
  static HubTerms complete(const std::string& name, HubTerms terms) {
    terms.network = "test";
    terms.self = name;
    if (terms.fingerprint.empty()) terms.fingerprint = "problem";
    terms.shape.dimension = test_dimension;
    return terms;
  }
  TlsIdentity identity_;

 public:
  Hub hub;
  std::atomic<bool> stopped = false;
  std::unique_ptr<Server> server;

 private:
  std::vector<std::unique_ptr<Dialer>> dialers_;
};

/// A caller of peer b that speaks the protocol by hand.
class Caller {
 public:
  /// A member waits until it is connected, however busy the machine; a stranger, who never will
  /// be, does not.
  enum class Kind { member, stranger };

  Caller(const End& b, const TlsIdentity& identity, Kind kind = Kind::member)
      : stub_(v1::Peer::NewStub(channel_to({"b", b.address()}, identity, test_dimension))) {
    context_.set_wait_for_ready(kind == Kind::member);
    stream_ = stub_->Link(&context_);
  }
  ~Caller() { end(); }

  bool say(const v1::Hello& hello) {
    v1::Envelope envelope;
    *envelope.mutable_hello() = hello;
    return stream_->Write(envelope);
  }
  bool say(std::uint64_t sequence, const std::vector<double>& values) {
    v1::Envelope envelope;
    pack({.from = {}, .sequence = sequence, .payload = values}, test_dimension, false,
         *envelope.mutable_iterate());
    return stream_->Write(envelope);
  }
  bool hears(v1::Envelope& envelope) { return stream_->Read(&envelope); }
  bool answered() {
    v1::Envelope envelope;
    return hears(envelope);
  }
  /// Says hello and is let in.
  bool enters_as(const std::string& name) { return say(hello_from(name)) && answered(); }
  /// Why the other end closed the stream.
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
