// Who gets in, and what of what they say changes anything.
#include <cmath>

#include <gtest/gtest.h>

#include "grove/peer/clock.h"
#include "grove/peer/test_endpoints.h"

namespace grove::peer {
namespace {

/// b, whose only neighbour is a.
class Refusing : public ::testing::Test {
 protected:
  Refusing() : b("b") { b.hub.add_link("a"); }

  void expect_untouched() {
    EXPECT_FALSE(b.connected_to("a"));
    EXPECT_EQ(b.link("a").counts.sessions, 0u);
    EXPECT_EQ(b.hub.links().size(), 1u);
    EXPECT_TRUE(b.heard().empty());
    EXPECT_TRUE(b.hub.estimates().empty());
    EXPECT_EQ(b.hub.newest_heard_of_self(), 0u);
  }
  /// Someone says hello as a and sees how the call ends.
  grpc::StatusCode refused_as_a(const TlsIdentity& identity, Caller::Kind kind) {
    Caller caller(b, identity, kind);
    caller.say(hello_from("a"));
    EXPECT_FALSE(caller.answered());
    return caller.ended_by_other();
  }
  /// a, with its right certificate, says that hello.
  grpc::StatusCode refused_hello(const v1::Hello& hello) {
    Caller caller(b, identity_of("a"));
    caller.say(hello);
    EXPECT_FALSE(caller.answered());
    return caller.ended_by_other();
  }

  End b;
};

TEST_F(Refusing, AnyoneWithACertificateOfAnotherAuthority) {
  TlsIdentity forged = identity_of("a", *make_authority("other"));
  EXPECT_EQ(refused_as_a(forged, Caller::Kind::stranger),
            grpc::StatusCode::UNAVAILABLE);  // does not even believe b
  forged.ca = test_authority().certificate;  // believes b, is not believed
  EXPECT_EQ(refused_as_a(forged, Caller::Kind::stranger), grpc::StatusCode::UNAVAILABLE);
  expect_untouched();
}

TEST_F(Refusing, AnyoneWithoutACertificate) {
  const TlsIdentity plaintext, only_reads{.ca = test_authority().certificate};
  EXPECT_EQ(refused_as_a(plaintext, Caller::Kind::stranger), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(refused_as_a(only_reads, Caller::Kind::stranger), grpc::StatusCode::UNAVAILABLE);
  expect_untouched();
}

TEST_F(Refusing, AMemberThatUsesAnothersName) {
  EXPECT_EQ(refused_as_a(identity_of("c"), Caller::Kind::member),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(b.strangers(Refusal::wrong_name), 1u);
  expect_untouched();
}

TEST_F(Refusing, AMemberThatIsNoNeighbour) {
  Caller caller(b, identity_of("c"));
  caller.say(hello_from("c"));
  EXPECT_FALSE(caller.answered());
  EXPECT_EQ(b.strangers(Refusal::unknown_peer), 1u);
  expect_untouched();
}

TEST(Dialing, AnAddressWhereSomeoneElseAnswersNeverConnects) {
  End impostor("x", {.accept_new = true}), a("a");  // listens where b is expected
  a.dial("b", impostor.address());
  ASSERT_TRUE(eventually([&] { return a.log->has("not connected peer=b"); })) << a.log->text();
  EXPECT_EQ(a.link("b").counts.sessions, 0u);
  EXPECT_TRUE(impostor.hub.links().empty());
}

TEST_F(Refusing, TheSameNameTwiceWhileTheFirstLives) {
  Caller first(b, identity_of("a"));
  ASSERT_TRUE(first.enters_as("a")) << b.log->text();
  EXPECT_NE(refused_hello(hello_from("a")), grpc::StatusCode::OK);
  EXPECT_EQ(b.refused("a", Refusal::duplicate_peer), 1u);
  EXPECT_TRUE(b.connected_to("a"));
  first.end();
  ASSERT_TRUE(eventually([&] { return !b.connected_to("a"); }));
  Caller third(b, identity_of("a"));
  EXPECT_TRUE(third.enters_as("a"));
}

TEST_F(Refusing, HellosOfAnotherProblemNetworkOrProtocolOrWithAbsurdNumbers) {
  const auto expect_refused = [&](Refusal kind, const auto& spoil) {
    v1::Hello hello = hello_from("a");
    spoil(hello);
    EXPECT_EQ(refused_hello(hello), grpc::StatusCode::FAILED_PRECONDITION) << name_of(kind);
    EXPECT_EQ(b.refused("a", kind), 1u) << name_of(kind);
  };
  expect_refused(Refusal::wrong_problem, [](auto& hello) { hello.set_fingerprint("another"); });
  expect_refused(Refusal::wrong_network, [](auto& hello) { hello.set_network("elm"); });
  expect_refused(Refusal::wrong_protocol, [](auto& hello) { hello.set_protocol(99); });
  expect_refused(Refusal::absurd_sequence, [](auto& hello) { hello.set_heard(largest_sequence); });
  expect_refused(Refusal::wrong_dimension, [](auto& hello) { hello.add_estimate(1); });
  EXPECT_TRUE(b.log->has("another"));  // the log names the problem that came
  expect_untouched();
}

TEST_F(Refusing, UnfitIteratesOnceInTheLogAndWithoutATrace) {
  const auto cut_off_after = [&](std::uint64_t sequence, const std::vector<double>& values) {
    Caller a(b, identity_of("a"));
    ASSERT_TRUE(a.enters_as("a")) << b.log->text();
    a.say(sequence, values);
    EXPECT_FALSE(a.answered());
    EXPECT_TRUE(eventually([&] { return !b.connected_to("a"); }));
  };
  cut_off_after(1, {1});
  cut_off_after(1, {1, 2, 3});
  cut_off_after(1, {1, std::nan("")});
  cut_off_after(1, {-std::numeric_limits<double>::infinity(), 1});
  cut_off_after(largest_sequence + 1, {1, 2});
  EXPECT_EQ(b.refused("a", Refusal::wrong_dimension), 2u);
  EXPECT_EQ(b.refused("a", Refusal::not_finite), 2u);
  EXPECT_EQ(b.refused("a", Refusal::absurd_sequence), 1u);
  EXPECT_EQ(b.link("a").counts.iterates_received, 0u);
  EXPECT_TRUE(b.heard().empty());
  const std::string log = b.log->text();
  EXPECT_NE(log.find("wrong_dimension"), std::string::npos);
  EXPECT_EQ(log.find("wrong_dimension"), log.rfind("wrong_dimension"));
  Caller a(b, identity_of("a"));  // sequence 1 is still to come: nothing was remembered
  ASSERT_TRUE(a.enters_as("a"));
  a.say(1, {1, 2});
  EXPECT_TRUE(eventually([&] { return b.heard().contains("a"); }));
}

TEST_F(Refusing, MessagesLongerThanTheDimensionAllows) {
  Caller a(b, identity_of("a"));
  ASSERT_TRUE(a.enters_as("a")) << b.log->text();
  const std::size_t too_many = largest_message_bytes(test_dimension) / sizeof(double) + 1;
  a.say(1, std::vector<double>(too_many, 1.0));
  EXPECT_FALSE(a.answered());
  EXPECT_EQ(b.refused("a", Refusal::too_large), 1u);
  ASSERT_TRUE(eventually([&] { return !b.connected_to("a"); }));
  Caller again(b, identity_of("a"));
  ASSERT_TRUE(again.enters_as("a"));
  again.say(1, std::vector<double>(10 * too_many, 1.0));  // not even read
  EXPECT_FALSE(again.answered());
  EXPECT_EQ(again.ended_by_other(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(b.heard().empty());
}

TEST_F(Refusing, ACallerThatNeverSaysHello) {
  Caller silent(b, identity_of("a"));
  std::atomic<bool> over = false;
  std::thread watch([&] {  // as a peer's heartbeat does, a minute later
    while (!over) b.server->cut_overdue(monotonic_seconds() + 60);
  });
  EXPECT_FALSE(silent.answered());
  over = true;
  watch.join();
  EXPECT_EQ(silent.ended_by_other(), grpc::StatusCode::CANCELLED);
  expect_untouched();
}

TEST(Identity, IsCheckedBeforeAnybodyIsSpokenToAndNamesTheKeyThatIsWrong) {
  const auto other_authority = make_authority("other");
  const auto a = certify(test_authority(), "a"), b = certify(test_authority(), "b"),
             stranger = certify(*other_authority, "a");
  const std::string ca = test_authority().certificate;
  const auto trouble = [&](const CertifiedKey& own, const std::string& authority) {
    const Status status = check_identity(own, authority, "a");
    return status ? std::string() : status.error().text();
  };
  EXPECT_EQ(trouble(*a, ca), "");
  EXPECT_EQ(trouble({a->certificate + stranger->certificate, a->key}, ca), "");  // a chain
  EXPECT_EQ(trouble({b->certificate, a->key}, ca),
            "certificate: belongs to another key than the file of `key` has");
  EXPECT_EQ(trouble(*b, ca), "certificate: carries another name; expected 'a'");
  EXPECT_TRUE(
      trouble(*stranger, ca).starts_with("certificate: is not good for the authority in `ca`: "));
  EXPECT_EQ(trouble({"", a->key}, ca), "certificate: the file has none; expected a PEM file");
  EXPECT_EQ(trouble({a->certificate, "rust"}, ca),
            "key: the file has no private key; expected a PEM file");
  EXPECT_EQ(trouble(*a, "rust"), "ca: the file has no certificate; expected a PEM file");
}

TEST(Stopping, IsForTheOperatorOnly) {
  End b("b");
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
