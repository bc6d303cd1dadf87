// Servers and dialers on loopback, TLS on: who gets in, and what of what they say is kept.
#include <cmath>
#include <thread>

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include "grove/runtime/peer/certificates.h"
#include "grove/runtime/peer/clock.h"
#include "grove/runtime/peer/dialer.h"
#include "grove/runtime/peer/server.h"

namespace grove::peer {
namespace {

constexpr Index dimension = 2;

const CertifiedKey& authority() {
  static const CertifiedKey made = *make_authority("test");
  return made;
}

TlsIdentity identity_of(const std::string& name, const CertifiedKey& ca = authority()) {
  const auto certified_key = certify(ca, name);
  return {ca.certificate, certified_key->certificate, certified_key->key};
}

template <class Condition>
bool soon(const Condition& condition, double seconds = 20) {
  const double until = monotonic_seconds() + seconds;
  while (monotonic_seconds() < until) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

/// One end: a hub with its server and its log.
class End {
 public:
  explicit End(const std::string& name, HubTerms terms = {}, const TlsIdentity& identity = {})
      : log_(std::make_shared<spdlog::logger>(
            "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_))),
        identity_(identity.secure() ? identity : identity_of(name)),
        hub(
            [&] {
              terms.network = "test";
              terms.self = name;
              terms.fingerprint = terms.fingerprint.empty() ? "problem" : terms.fingerprint;
              terms.dimension = dimension;
              return terms;
            }(),
            log_) {
    server = std::move(*Server::start(
        {.listen = "127.0.0.1:0", .identity = identity_, .dimension = dimension, .neighbours = 4},
        hub, {.status_json = [] { return "{}"; }, .stop = [this] { stopped = true; }}));
  }
  ~End() {
    hub.close();
    dialers.clear();
    server->shut_down();
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(server->port()); }
  void dial(const std::string& name, const std::string& to) {
    hub.add_link(name);
    dialers.push_back(
        std::make_unique<Dialer>(NeighbourAddress{name, to}, identity_, dimension, hub, log_));
  }
  bool connected_to(const std::string& name) const { return link(name).connected; }
  LinkStatus link(const std::string& name) const {
    for (auto& one : hub.links())
      if (one.name == name) return one;
    return {};
  }
  std::uint64_t refused(const std::string& name, Refusal kind) const {
    return link(name).counts.refused[static_cast<std::size_t>(kind)];
  }
  std::uint64_t strangers(Refusal kind) const {
    return hub.strangers_refused()[static_cast<std::size_t>(kind)];
  }
  std::string log_text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> log_;
  TlsIdentity identity_;

 public:
  Hub hub;
  std::atomic<bool> stopped = false;
  std::unique_ptr<Server> server;
  std::vector<std::unique_ptr<Dialer>> dialers;
};

/// A caller that speaks the protocol by hand.
class Caller {
 public:
  Caller(const std::string& expected_name, const std::string& address, const TlsIdentity& identity)
      : stub_(v1::Peer::NewStub(channel_to({expected_name, address}, identity, dimension))) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub_->Link(&context_);
  }
  v1::Hello hello(const std::string& from, const std::string& to) {
    v1::Hello hello;
    hello.set_protocol(protocol_version);
    hello.set_network("test");
    hello.set_from(from);
    hello.set_to(to);
    hello.set_fingerprint("problem");
    return hello;
  }
  bool say(const v1::Hello& hello) {
    v1::Envelope envelope;
    *envelope.mutable_hello() = hello;
    return stream_->Write(envelope);
  }
  bool say(std::uint64_t sequence, std::vector<double> values) {
    v1::Envelope envelope;
    pack(sequence, values, false, *envelope.mutable_iterate());
    return stream_->Write(envelope);
  }
  bool answered() {
    v1::Envelope envelope;
    return stream_->Read(&envelope);
  }
  grpc::Status end() {
    context_.TryCancel();
    return stream_->Finish();
  }
  grpc::Status finish() { return stream_->Finish(); }

 private:
  std::unique_ptr<v1::Peer::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::Envelope, v1::Envelope>> stream_;
};

Message message_of(std::uint64_t sequence, const std::vector<double>& values) {
  return {.sequence = sequence, .payload = values};
}

TEST(Transport, CarriesIteratesAndHeartbeatsBothWays) {
  End a("a"), b("b");
  b.hub.add_link("a");
  a.dial("b", b.address());
  ASSERT_TRUE(soon([&] { return a.connected_to("b") && b.connected_to("a"); }))
      << a.log_text() << b.log_text();
  const std::vector<double> from_a{1, 2}, from_b{3, 4};
  a.hub.say("b", message_of(7, from_a));
  b.hub.say("a", message_of(9, from_b));
  v1::Heartbeat heartbeat;
  heartbeat.add_members()->set_name("a");
  a.hub.say_to_all(heartbeat);
  ASSERT_TRUE(a.hub.wait_for_all(monotonic_seconds() + 20));
  ASSERT_TRUE(b.hub.wait_for_all(monotonic_seconds() + 20));
  std::vector<Heard> heard;
  a.hub.take_iterates(heard);
  EXPECT_EQ(heard.at(0).sequence, 9u);
  EXPECT_EQ(heard.at(0).values, from_b);
  b.hub.take_iterates(heard);
  EXPECT_EQ(heard.at(0).values, from_a);
  EXPECT_TRUE(soon([&] { return b.hub.take_heartbeats().size() == 1; }));
}

TEST(Transport, ComesBackWhenTheOtherEndReturns) {
  End a("a");
  std::string address;
  {
    End b("b");
    b.hub.add_link("a");
    address = b.address();
    a.dial("b", address);
    ASSERT_TRUE(soon([&] { return a.connected_to("b"); }));
  }
  EXPECT_TRUE(soon([&] { return !a.connected_to("b"); }));
}

TEST(Transport, AStrangerOfAnotherAuthorityOrWithoutCertificateGetsNothing) {
  End b("b");
  b.hub.add_link("a");
  const CertifiedKey other = *make_authority("other");
  TlsIdentity forged = identity_of("a", other);
  Caller same_name("b", b.address(), forged);  // does not even believe the server
  same_name.say(same_name.hello("a", "b"));
  EXPECT_FALSE(same_name.answered());
  EXPECT_EQ(same_name.finish().error_code(), grpc::StatusCode::UNAVAILABLE);

  forged.ca = authority().certificate;  // believes the server, but is not believed
  Caller trusting("b", b.address(), forged);
  trusting.say(trusting.hello("a", "b"));
  EXPECT_FALSE(trusting.answered());
  EXPECT_FALSE(trusting.finish().ok());

  Caller plain("b", b.address(), TlsIdentity{});
  plain.say(plain.hello("a", "b"));
  EXPECT_FALSE(plain.answered());
  EXPECT_FALSE(plain.finish().ok());
  EXPECT_FALSE(b.connected_to("a"));
  EXPECT_EQ(b.link("a").counts.sessions, 0u);
}

TEST(Transport, ACertificateOfAnotherNameGetsNothing) {
  End b("b");
  b.hub.add_link("a");
  Caller liar("b", b.address(), identity_of("c"));  // a member that calls itself a
  liar.say(liar.hello("a", "b"));
  EXPECT_FALSE(liar.answered());
  EXPECT_EQ(liar.finish().error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(b.strangers(Refusal::wrong_name), 1u);

  Caller unlisted("b", b.address(), identity_of("c"));  // a member that is no neighbour
  unlisted.say(unlisted.hello("c", "b"));
  EXPECT_FALSE(unlisted.answered());
  EXPECT_EQ(b.strangers(Refusal::unknown_peer), 1u);

  End impostor("x");  // listens where b is expected, with a certificate of its own name
  End a("a");
  a.dial("b", impostor.address());
  EXPECT_FALSE(soon([&] { return a.connected_to("b"); }, 0.5));
}

TEST(Transport, TheSameNameTwiceIsRefusedWhileTheFirstLives) {
  End b("b");
  b.hub.add_link("a");
  Caller first("b", b.address(), identity_of("a"));
  first.say(first.hello("a", "b"));
  ASSERT_TRUE(first.answered());
  Caller second("b", b.address(), identity_of("a"));
  second.say(second.hello("a", "b"));
  EXPECT_FALSE(second.answered());
  EXPECT_EQ(b.refused("a", Refusal::duplicate_peer), 1u);
  EXPECT_TRUE(b.connected_to("a"));
  first.end();
  ASSERT_TRUE(soon([&] { return !b.connected_to("a"); }));
  Caller third("b", b.address(), identity_of("a"));
  third.say(third.hello("a", "b"));
  EXPECT_TRUE(third.answered());
  third.end();
}

TEST(Transport, UnfitIteratesAreCountedLoggedOnceAndNeverKept) {
  End b("b");
  b.hub.add_link("a");
  const auto refused_after = [&](std::uint64_t sequence, std::vector<double> values) {
    Caller a("b", b.address(), identity_of("a"));
    a.say(a.hello("a", "b"));
    EXPECT_TRUE(a.answered());
    a.say(sequence, std::move(values));
    EXPECT_FALSE(a.answered());  // such a neighbour is cut off
    a.end();
    EXPECT_TRUE(soon([&] { return !b.connected_to("a"); }));
  };
  refused_after(1, {1});
  refused_after(1, {1, 2, 3});
  refused_after(1, {1, std::nan("")});
  refused_after(largest_sequence + 1, {1, 2});
  EXPECT_EQ(b.refused("a", Refusal::wrong_dimension), 2u);
  EXPECT_EQ(b.refused("a", Refusal::not_finite), 1u);
  EXPECT_EQ(b.refused("a", Refusal::absurd_sequence), 1u);
  std::vector<Heard> heard;
  b.hub.take_iterates(heard);
  EXPECT_FALSE(heard.at(0).sequence);
  const std::string log = b.log_text();
  EXPECT_NE(log.find("wrong_dimension"), std::string::npos);
  EXPECT_EQ(log.find("wrong_dimension"), log.rfind("wrong_dimension"));
}

TEST(Transport, OldIteratesAreDroppedAndOnlyTheNewestIsKept) {
  End b("b");
  b.hub.add_link("a");
  Caller a("b", b.address(), identity_of("a"));
  a.say(a.hello("a", "b"));
  ASSERT_TRUE(a.answered());
  for (std::uint64_t sequence = 1; sequence <= 50; ++sequence)
    a.say(sequence, {double(sequence), 0});
  a.say(3, {-1, -1});
  ASSERT_TRUE(soon([&] { return b.refused("a", Refusal::stale_sequence) == 1; }));
  std::vector<Heard> heard;
  b.hub.take_iterates(heard);
  EXPECT_EQ(heard.at(0).sequence, 50u);
  EXPECT_EQ(heard.at(0).values, (std::vector<double>{50, 0}));
  EXPECT_TRUE(b.connected_to("a"));
  a.end();
}

TEST(Transport, APeerOfAnotherProblemIsRefusedByBothEnds) {
  End b("b");
  b.hub.add_link("a");
  End a("a", {.fingerprint = "another"});
  a.dial("b", b.address());
  EXPECT_TRUE(soon([&] { return b.refused("a", Refusal::wrong_problem) > 0; }));
  EXPECT_FALSE(a.connected_to("b"));
  EXPECT_NE(b.log_text().find("another"), std::string::npos) << b.log_text();
}

TEST(Transport, ANeighbourThatStopsReadingHoldsNobodyUp) {
  End b("b");
  b.hub.add_link("a");
  Caller a("b", b.address(), identity_of("a"));
  a.say(a.hello("a", "b"));
  ASSERT_TRUE(a.answered());
  const std::vector<double> values{1, 2};
  const double began = monotonic_seconds();
  for (std::uint64_t sequence = 1; sequence <= 200'000; ++sequence)
    b.hub.say("a", message_of(sequence, values));  // far more than any buffer on the way holds
  EXPECT_LT(monotonic_seconds() - began, 10);
  a.end();
}

TEST(Transport, ACallerThatNeverSaysHelloIsCutOff) {
  End b("b");
  Caller silent("b", b.address(), identity_of("a"));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    b.server->cut_overdue(monotonic_seconds() + 60);
  });
  EXPECT_FALSE(silent.answered());
  later.join();
}

TEST(Transport, OnlyTheOperatorMayStopAPeer) {
  End b("b");
  const auto stop = [&](const std::string& name) {
    const auto stub =
        v1::Peer::NewStub(channel_to({"b", b.address()}, identity_of(name), dimension));
    grpc::ClientContext context;
    v1::StopReply reply;
    return stub->Stop(&context, v1::StopRequest(), &reply).error_code();
  };
  EXPECT_EQ(stop("a"), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_FALSE(b.stopped);
  EXPECT_EQ(stop(operator_name), grpc::StatusCode::OK);
  EXPECT_TRUE(b.stopped);
}

}  // namespace
}  // namespace grove::peer
