// Gossip is signed by the member that it is about, and claims of neighbours need a proof.
#include "grove/peer/signer.h"

#include <gtest/gtest.h>

#include "grove/peer/certificates.h"
#include "grove/peer/link_table.h"
#include "grove/peer/members.h"
#include "grove/peer/test_hello.h"
#include "grove/peer/test_log.h"

namespace grove::peer {
namespace {

using v1::Member;

TlsIdentity identity_of(const CertifiedKey& authority, const std::string& name) {
  const auto made = certify(authority, name);
  return {authority.certificate, made->certificate, made->key};
}

Member member_of(const std::string& name, std::uint64_t heartbeats, std::uint32_t epoch = 0) {
  Member member;
  member.set_name(name);
  member.set_heartbeats(heartbeats);
  member.set_epoch(epoch);
  return member;
}

class Signatures : public testing::Test {
 protected:
  CertifiedKey authority = *make_authority("test");
  TlsIdentity of_a = identity_of(authority, "a"), of_b = identity_of(authority, "b");
  Signer a{of_a, "test", "a"}, b{of_b, "test", "b"};
};

TEST_F(Signatures, AreVerifiedAgainstTheNameInTheCertificate) {
  const v1::SignedMember entry = a.sign(member_of("a", 3));
  EXPECT_TRUE(b.verify(entry, "a"));
  EXPECT_FALSE(b.verify(entry, "c"));
  v1::SignedMember changed = entry;
  changed.set_member(member_of("a", 4).SerializeAsString());
  EXPECT_FALSE(b.verify(changed, "a"));
  changed = entry;
  changed.clear_signature();
  EXPECT_FALSE(b.verify(changed, "a"));
  v1::SignedMember without = entry;
  without.clear_certificate();
  EXPECT_TRUE(b.verify(without, "a"));  // known by now
  EXPECT_FALSE(Signer(of_b, "test", "b").verify(without, "a"));
  EXPECT_FALSE(Signer(of_b, "other", "b").verify(entry, "a"));  // of another network
  const Signer stranger(identity_of(*make_authority("test"), "a"), "test", "a");
  EXPECT_FALSE(b.verify(stranger.sign(member_of("a", 3)), "a"));
}

// b forges entries of a, of a ghost and of itself under another name; nobody believes it.
TEST_F(Signatures, KeepGhostsAndForgedHeartbeatsOut) {
  Members members({.self = "c", .holder = "c", .expected = 3, .signer = &a}, 0);
  v1::Heartbeat forged;
  Member stopped = member_of("a", 1'000'000);
  stopped.set_phase(Member::STOPPED);
  *forged.add_members() = b.sign(stopped);
  *forged.add_members() = b.sign(member_of("ghost", 1));
  v1::SignedMember& unsigned_entry = *forged.add_members();
  unsigned_entry.set_member(member_of("d", 1).SerializeAsString());
  *forged.add_members() = b.sign(member_of("b", 1));
  members.merge(forged, 1);
  EXPECT_EQ(members.live(1), (std::vector<std::string>{"b", "c"}));
}

// A neighbour sends the certificate of a once a session. It did so with an entry of this process of
// a, before the second process began: once nobody could verify the second one, and both went on.
TEST_F(Signatures, OfASecondProcessAreVerifiedWithoutItsCertificate) {
  Members first({.self = "a", .holder = "a", .expected = 2, .process = 1, .signer = &a}, 0);
  Member entry = member_of("a", 1);
  entry.set_process(2);
  v1::Heartbeat forwarded;
  *forwarded.add_members() = Signer(of_a, "test", "a").sign(entry);
  forwarded.mutable_members(0)->clear_certificate();
  first.merge(forwarded, 1);
  EXPECT_EQ(parse_member(first.heartbeat(1).members(0))->twin(), 2u);
}

// 512 hellos once pushed the sequence numbers of a peer beyond what its neighbours accept.
TEST_F(Signatures, OfThePeerItselfLimitTheEpochThatANeighbourMayClaim) {
  LinkTable table(
      {.network = "test", .self = "b", .schema = {{"problem", "test"}}, .shape = 2, .signer = &b},
      logger_to(std::make_shared<TestLog>()));
  table.add_link("a");
  std::uint64_t session = 0;
  for (int k = 0; k < 1000; ++k) {
    v1::Hello hello = hello_from("a", std::min(max_sequence / 2, (k + 1) * max_sequence_jump));
    *hello.mutable_proof() = a.sign(member_of("b", 1, 1 << 29));  // signed by the wrong key
    ASSERT_FALSE(table.admit(hello, session));
    table.end_session("a", session);
  }
  EXPECT_EQ(table.newest_received_from_self(), 0u);
  const std::uint64_t last = (std::uint64_t{7} << epoch_shift) + 5;
  v1::Hello hello = hello_from("a", last);
  *hello.mutable_proof() = b.sign(member_of("b", 9, 7));
  ASSERT_FALSE(table.admit(hello, session));
  EXPECT_EQ(table.newest_received_from_self(), last);  // b lost its state, and a knows its epoch
}

// a lost its state and connects first. Its own hello, of epoch 0, once took the place of the proof,
// so that a did not believe the answer and its numbers stayed behind those that b had received.
TEST_F(Signatures, OfALaterEpochAreReturnedToAPeerThatLostItsState) {
  LinkTable table(
      {.network = "test", .self = "b", .schema = {{"problem", "test"}}, .shape = 2, .signer = &b},
      logger_to(std::make_shared<TestLog>()));
  table.add_link("a");
  std::uint64_t session = 0;
  for (const std::uint32_t epoch : {7u, 0u}) {
    v1::Hello hello = hello_from("a");
    *hello.mutable_self() = a.sign(member_of("a", 9, epoch));
    ASSERT_FALSE(table.admit(hello, session));
    const auto proof = parse_member(table.hello_to("a").proof());
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->epoch(), 7u);
    EXPECT_TRUE(a.verify(table.hello_to("a").proof(), "a"));
    v1::SignedMember newest;
    ASSERT_TRUE(newest.ParseFromString(table.newest_entry_of("a")));
    EXPECT_EQ(parse_member(newest)->epoch(), epoch);
    table.end_session("a", session);
  }
}

// The digest in the gossip does not let a neighbour test guesses about the data.
TEST_F(Signatures, KeyTheDigestOfTheDataWithASecret) {
  EXPECT_EQ(a.keyed("digest"), a.keyed("digest"));
  EXPECT_NE(a.keyed("digest"), b.keyed("digest"));
  EXPECT_NE(a.keyed("digest"), a.keyed("other"));
}

}  // namespace
}  // namespace grove::peer
