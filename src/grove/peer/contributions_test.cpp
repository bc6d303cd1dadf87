// Signed gradients at the answer: who contributed what, and whether the sum vanishes.
#include "grove/peer/contributions.h"

#include <gtest/gtest.h>

#include "grove/peer/certificates.h"
#include "grove/peer/members.h"

namespace grove::peer {
namespace {

TlsIdentity identity_for(const CertifiedKey& authority, const std::string& name) {
  const auto made = certify(authority, name);
  return {authority.certificate, made->certificate, made->key};
}

/// The answer of a and b is 1 with l1 = 0.5: their gradients must sum to -2 l1 = -1.
class ContributionsTest : public testing::Test {
 protected:
  v1::AnswerAudit audit_of(double gradient_a, double gradient_b) {
    of_a.set_own("run", Vector::Constant(1, gradient_a));
    of_b.set_own("run", Vector::Constant(1, gradient_b));
    v1::Heartbeat heartbeat;
    of_b.add_to(heartbeat);
    *heartbeat.mutable_contributions(0)->mutable_certificate() = identity_b.certificate;
    of_a.merge(heartbeat, "run");
    v1::AnswerAudit audit =
        make_audit("test", "run", Vector::Ones(1), {.l1 = 0.5, .regularized = 1}, 3);
    audit.add_members("a");
    audit.add_members("b");
    for (auto& entry : of_a.entries()) *audit.add_entries() = std::move(entry);
    return audit;
  }

  CertifiedKey authority = *make_authority("test");
  TlsIdentity identity_b = identity_for(authority, "b");
  Signer a{identity_for(authority, "a"), "test", "a"}, b{identity_b, "test", "b"};
  Contributions of_a{a, "a", 1}, of_b{b, "b", 1};
};

TEST_F(ContributionsTest, OfTheAnswerSumToASubgradientOfTheRegularizer) {
  const auto report = *check_contributions(audit_of(1.5, -2.5), authority.certificate);
  EXPECT_TRUE(report.sum_vanishes());
  EXPECT_FALSE(report.any_beyond_bound());
  ASSERT_EQ(report.members.size(), 2u);
  EXPECT_EQ(report.members[1].name, "b");
  EXPECT_DOUBLE_EQ(report.members[1].length, 2.5);
}

TEST_F(ContributionsTest, ThatDoNotFitTheAnswerAreNoticed) {
  const auto lie = *check_contributions(audit_of(1.5, -2), authority.certificate);
  EXPECT_FALSE(lie.sum_vanishes());
  EXPECT_NEAR(lie.residual, 0.5, 1e-12);
  const auto large = *check_contributions(audit_of(3.5, -4.5), authority.certificate);
  EXPECT_TRUE(large.sum_vanishes());
  EXPECT_TRUE(large.any_beyond_bound());
}

TEST_F(ContributionsTest, ThatNobodySignedAreErrors) {
  v1::AnswerAudit changed = audit_of(1.5, -2.5);
  v1::Contribution forged;
  ASSERT_TRUE(forged.ParseFromString(changed.entries(1).member()));
  forged.set_gradient(0, -2);
  changed.mutable_entries(1)->set_member(forged.SerializeAsString());
  EXPECT_FALSE(check_contributions(changed, authority.certificate));
  EXPECT_FALSE(check_contributions(audit_of(1.5, -2.5), make_authority("test")->certificate));
  v1::AnswerAudit other_run = audit_of(1.5, -2.5);
  other_run.set_run("other");
  EXPECT_FALSE(check_contributions(other_run, authority.certificate));
  v1::AnswerAudit incomplete = audit_of(1.5, -2.5);
  incomplete.mutable_entries()->RemoveLast();
  const auto report = *check_contributions(incomplete, authority.certificate);
  EXPECT_EQ(report.missing, std::vector<std::string>{"b"});
  EXPECT_FALSE(report.sum_vanishes());
}

// A signature of an entry of the gossip does not pass as one of a contribution.
TEST_F(ContributionsTest, AreSignedApartFromGossip) {
  v1::Member member;
  member.set_name("a");
  const v1::SignedMember entry = a.sign(member);
  EXPECT_TRUE(b.verify(entry, "a"));
  EXPECT_FALSE(b.verify_contribution(entry, "a"));
}

TEST_F(ContributionsTest, OfAnotherRunOrDimensionAreNotTaken) {
  of_b.set_own("run", Vector::Constant(1, -1.0));
  v1::Heartbeat heartbeat;
  of_b.add_to(heartbeat);
  *heartbeat.mutable_contributions(0)->mutable_certificate() = identity_b.certificate;
  of_a.merge(heartbeat, "another run");
  EXPECT_FALSE(of_a.complete({"b"}, "another run"));
  Contributions wide(a, "a", 2);
  wide.merge(heartbeat, "run");
  EXPECT_FALSE(wide.complete({"b"}, "run"));
  of_a.merge(heartbeat, "run");
  EXPECT_TRUE(of_a.complete({"b"}, "run"));
  EXPECT_FALSE(of_a.complete({"a", "b"}, "run"));
}

}  // namespace
}  // namespace grove::peer
