// Admission of callers, and rejection of their invalid messages.
#include <cmath>

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include "grove/peer/clock.h"
#include "grove/peer/test_endpoints.h"

namespace grove::peer {
namespace {

/// The endpoint b, whose only neighbour is a.
class Rejects : public ::testing::Test {
 protected:
  Rejects() : b("b") { b.link_table.add_link("a"); }

  void expect_untouched() {
    EXPECT_FALSE(b.connected_to("a"));
    EXPECT_EQ(b.link("a").counts.sessions, 0u);
    EXPECT_EQ(b.link_table.statuses().size(), 1u);
    EXPECT_TRUE(b.received().empty());
    EXPECT_TRUE(b.link_table.estimates().empty());
    EXPECT_EQ(b.link_table.newest_received_from_self(), 0u);
  }
  /// Sends the hello of a with this identity. Returns how the call ends.
  grpc::StatusCode status_as_a(const TlsIdentity& identity, Caller::Kind kind) {
    Caller caller(b, identity, kind);
    caller.send(hello_from("a"));
    EXPECT_FALSE(caller.answered());
    return caller.ended_by_other();
  }
  /// Sends the hello with the certificate of a. Returns how the call ends.
  grpc::StatusCode status_of_hello(const v1::Hello& hello) {
    Caller caller(b, identity_of("a"));
    caller.send(hello);
    EXPECT_FALSE(caller.answered());
    return caller.ended_by_other();
  }

  Endpoint b;
};

TEST_F(Rejects, AnyoneWithACertificateOfAnotherAuthority) {
  TlsIdentity forged = identity_of("a", *make_authority("other"));
  EXPECT_EQ(status_as_a(forged, Caller::Kind::stranger),
            grpc::StatusCode::UNAVAILABLE);  // does not trust b's certificate
  forged.ca = test_authority().certificate;  // trusts b, and is not trusted
  EXPECT_EQ(status_as_a(forged, Caller::Kind::stranger), grpc::StatusCode::UNAVAILABLE);
  expect_untouched();
}

TEST_F(Rejects, AnyoneWithoutACertificate) {
  const TlsIdentity plaintext, only_reads{.ca = test_authority().certificate};
  EXPECT_EQ(status_as_a(plaintext, Caller::Kind::stranger), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status_as_a(only_reads, Caller::Kind::stranger), grpc::StatusCode::UNAVAILABLE);
  expect_untouched();
}

TEST_F(Rejects, AMemberThatUsesAnothersName) {
  b.link_table.add_link("c");
  EXPECT_EQ(status_as_a(identity_of("c"), Caller::Kind::member),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(b.strangers(RejectReason::wrong_name), 1u);
  EXPECT_FALSE(b.connected_to("a"));
  EXPECT_FALSE(b.connected_to("c"));
}

TEST_F(Rejects, AMemberThatIsNoNeighbour) {
  Caller caller(b, identity_of("c"));
  caller.send(hello_from("c"));
  EXPECT_FALSE(caller.answered());
  EXPECT_EQ(b.strangers(RejectReason::unknown_peer), 1u);
  expect_untouched();
}

TEST(Dialing, AnAddressWhereSomeoneElseAnswersNeverConnects) {
  Endpoint impostor("x", {.accept_new = true}), a("a");  // listens where b is expected
  a.dial("b", impostor.address());
  ASSERT_TRUE(eventually([&] { return a.log->has("not connected peer=b"); })) << a.log->text();
  EXPECT_EQ(a.link("b").counts.sessions, 0u);
  EXPECT_TRUE(impostor.link_table.statuses().empty());
}

/// Refuses everybody, with text that would clear a terminal and forge a line of the log.
class Rude final : public v1::Peer::Service {
 public:
  grpc::Status Link(grpc::ServerContext*,
                    grpc::ServerReaderWriter<v1::Envelope, v1::Envelope>*) override {
    return {grpc::StatusCode::FAILED_PRECONDITION, "no\x1b[2J\n2026-01-01 info forged"};
  }
};

TEST(Dialing, TextOfTheOtherEndIsCleanedBeforeItIsLogged) {
  Rude rude;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", server_credentials(identity_of("b")), &port);
  builder.RegisterService(&rude);
  const auto server = builder.BuildAndStart();
  Endpoint a("a");
  a.dial("b", "127.0.0.1:" + std::to_string(port));
  ASSERT_TRUE(eventually([&] { return a.log->has("no?[2J?2026-01-01 info forged"); }))
      << a.log->text();
  EXPECT_FALSE(a.log->has("\x1b"));
  server->Shutdown();
}

TEST_F(Rejects, ASecondSessionOfTheSameName) {
  Caller first(b, identity_of("a"));
  ASSERT_TRUE(first.enters_as("a")) << b.log->text();
  EXPECT_NE(status_of_hello(hello_from("a")), grpc::StatusCode::OK);
  EXPECT_EQ(b.rejected("a", RejectReason::duplicate_peer), 1u);
  EXPECT_TRUE(b.connected_to("a"));
  first.end();
  ASSERT_TRUE(eventually([&] { return !b.connected_to("a"); }));
  Caller third(b, identity_of("a"));
  EXPECT_TRUE(third.enters_as("a"));
}

TEST_F(Rejects, HellosOfAnotherProblemNetworkOrProtocolOrWithImpossibleNumbers) {
  const auto expect_rejected = [&](RejectReason reason, const auto& corrupt) {
    v1::Hello hello = hello_from("a");
    corrupt(hello);
    EXPECT_EQ(status_of_hello(hello), grpc::StatusCode::FAILED_PRECONDITION) << name_of(reason);
    EXPECT_EQ(b.rejected("a", reason), 1u) << name_of(reason);
  };
  expect_rejected(RejectReason::wrong_problem,
                  [](auto& hello) { hello.mutable_schema(0)->set_value("another"); });
  expect_rejected(RejectReason::wrong_network, [](auto& hello) { hello.set_network("elm"); });
  expect_rejected(RejectReason::wrong_protocol, [](auto& hello) { hello.set_protocol(99); });
  expect_rejected(RejectReason::absurd_sequence,
                  [](auto& hello) { hello.set_last_received(max_sequence); });
  expect_rejected(RejectReason::wrong_dimension, [](auto& hello) { hello.add_estimate(1); });
  EXPECT_TRUE(b.log->has("problem is 'another' at a and 'test' at b")) << b.log->text();
  expect_untouched();
}

TEST_F(Rejects, InvalidIteratesWithOneLogLineAndNoStateChange) {
  const auto cut_off_after = [&](std::uint64_t sequence, const std::vector<double>& values) {
    Caller a(b, identity_of("a"));
    ASSERT_TRUE(a.enters_as("a")) << b.log->text();
    a.send(sequence, values);
    EXPECT_FALSE(a.answered());
    EXPECT_TRUE(eventually([&] { return !b.connected_to("a"); }));
  };
  cut_off_after(1, {1});
  cut_off_after(1, {1, 2, 3});
  cut_off_after(1, {1, std::nan("")});
  cut_off_after(1, {-std::numeric_limits<double>::infinity(), 1});
  cut_off_after(max_sequence + 1, {1, 2});
  EXPECT_EQ(b.rejected("a", RejectReason::wrong_dimension), 2u);
  EXPECT_EQ(b.rejected("a", RejectReason::not_finite), 2u);
  EXPECT_EQ(b.rejected("a", RejectReason::absurd_sequence), 1u);
  EXPECT_EQ(b.link("a").counts.iterates_received, 0u);
  EXPECT_TRUE(b.received().empty());
  const std::string log = b.log->text();
  EXPECT_NE(log.find("wrong_dimension"), std::string::npos);
  EXPECT_EQ(log.find("wrong_dimension"), log.rfind("wrong_dimension"));
  Caller a(b, identity_of("a"));  // sequence 1 is still new, as nothing was stored
  ASSERT_TRUE(a.enters_as("a"));
  a.send(1, {1, 2});
  EXPECT_TRUE(eventually([&] { return b.received().contains("a"); }));
}

TEST_F(Rejects, MessagesLongerThanTheDimensionAllows) {
  Caller a(b, identity_of("a"));
  ASSERT_TRUE(a.enters_as("a")) << b.log->text();
  const std::size_t too_many = max_message_bytes(test_dimension) / sizeof(double) + 1;
  a.send(1, std::vector<double>(too_many, 1.0));
  EXPECT_FALSE(a.answered());
  // The quota may close the connection before the size is looked at.
  EXPECT_LE(b.rejected("a", RejectReason::too_large), 1u);
  ASSERT_TRUE(eventually([&] { return !b.connected_to("a"); }));
  Caller again(b, identity_of("a"));
  ASSERT_TRUE(again.enters_as("a"));
  again.send(1, std::vector<double>(10 * too_many, 1.0));  // too large to be read
  EXPECT_FALSE(again.answered());
  EXPECT_EQ(again.ended_by_other(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(b.received().empty());
}

/// Sends raw bytes on the stream of a link. Returns how the call ends.
grpc::StatusCode status_of_bytes(const Endpoint& b, const std::string& bytes) {
  const auto channel = channel_to({"b", b.address()}, identity_of("a"), test_dimension);
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  grpc::CompletionQueue queue;
  const auto stream = stub.PrepareCall(&context, "/grove.peer.v1.Peer/Link", &queue);
  const auto wait = [&] {
    void* tag = nullptr;
    bool done = false;
    return queue.Next(&tag, &done) && done;
  };
  stream->StartCall(nullptr);
  EXPECT_TRUE(wait());
  const grpc::Slice slice(bytes);
  stream->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  EXPECT_TRUE(wait());
  grpc::ByteBuffer answer;
  stream->Read(&answer, nullptr);
  EXPECT_FALSE(wait());
  grpc::Status status;
  stream->Finish(&status, nullptr);
  EXPECT_TRUE(wait());
  return status.error_code();
}

TEST_F(Rejects, BytesThatAreNotAnEnvelope) {
  v1::Envelope envelope;
  *envelope.mutable_hello() = hello_from("a");
  const std::string hello = envelope.SerializeAsString();
  for (const std::string& bytes : {std::string(), std::string(50, '\xff'), std::string("\x12\x70x"),
                                   hello.substr(0, hello.size() - 1)})
    EXPECT_EQ(status_of_bytes(b, bytes), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(b.strangers(RejectReason::malformed), 4u);
  expect_untouched();
}

TEST_F(Rejects, ACallerThatNeverSendsAHello) {
  Caller silent(b, identity_of("a"));
  std::atomic<bool> over = false;
  std::thread watch([&] {  // like the heartbeat of a peer, a minute later
    while (!over) b.server->cancel_overdue(monotonic_seconds() + 60);
  });
  EXPECT_FALSE(silent.answered());
  over = true;
  watch.join();
  EXPECT_EQ(silent.ended_by_other(), grpc::StatusCode::CANCELLED);
  expect_untouched();
}

// Nothing of a stranger is read, so its messages take no memory.
TEST_F(Rejects, AStrangerBeforeItReadsAnything) {
  Caller stranger(b, identity_of("x"));
  EXPECT_FALSE(stranger.answered());  // without having sent anything
  EXPECT_EQ(stranger.ended_by_other(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(b.strangers(RejectReason::unknown_peer), 1u);
}

// 100 streams without a hello once used up all threads.
TEST_F(Rejects, MoreThanTwoStreamsOfANameWithoutAHello) {
  std::vector<std::unique_ptr<Caller>> silent;
  for (int k = 0; k < 60; ++k) silent.push_back(std::make_unique<Caller>(b, identity_of("a")));
  int refused = 0;
  b.link_table.add_link("c");
  Caller honest(b, identity_of("c"));
  EXPECT_TRUE(honest.enters_as("c")) << b.log->text();
  // At most two of them wait; which ones is up to the scheduler.
  std::atomic<bool> over = false;
  std::thread watch([&] {
    while (!over) b.server->cancel_overdue(monotonic_seconds() + 60);
  });
  for (auto& one : silent) refused += one->ended_by_other() == grpc::StatusCode::RESOURCE_EXHAUSTED;
  over = true;
  watch.join();
  EXPECT_GE(refused, 40);
}

TEST(Identity, IsCheckedBeforeTheFirstConnectionAndErrorsNameTheKey) {
  const auto other_authority = make_authority("other");
  const auto a = certify(test_authority(), "a"), b = certify(test_authority(), "b"),
             stranger = certify(*other_authority, "a");
  const std::string ca = test_authority().certificate;
  const auto error_of = [&](const CertifiedKey& own, const std::string& authority) {
    const Status status = check_identity(own, authority, "a");
    return status ? std::string() : status.error().text();
  };
  EXPECT_EQ(error_of(*a, ca), "");
  EXPECT_EQ(error_of({a->certificate + stranger->certificate, a->key}, ca), "");  // a chain
  EXPECT_EQ(error_of({b->certificate, a->key}, ca),
            "certificate: belongs to another key than the file of `key` has");
  EXPECT_EQ(error_of(*b, ca), "certificate: carries another name; expected 'a'");
  EXPECT_TRUE(
      error_of(*stranger, ca).starts_with("certificate: is not good for the authority in `ca`: "));
  EXPECT_EQ(error_of({"", a->key}, ca), "certificate: the file has none; expected a PEM file");
  EXPECT_EQ(error_of({a->certificate, "rust"}, ca),
            "key: the file has no private key; expected a PEM file");
  EXPECT_EQ(error_of(*a, "rust"), "ca: the file has no certificate; expected a PEM file");
}

TEST(Stopping, IsForTheOperatorOnly) {
  Endpoint b("b");
  const auto stop = [&](const std::string& name) {
    const auto stub =
        v1::Peer::NewStub(channel_to({"b", b.address()}, identity_of(name), test_dimension));
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
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
