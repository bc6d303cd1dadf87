#include "grove/peer/members.h"

#include <vector>

#include <gtest/gtest.h>

namespace grove::peer {
namespace {

using v1::Member;

/// Members on a path 0 - 1 - ... - n-1 that exchange heartbeats once per second.
class Path {
 public:
  explicit Path(std::size_t count, double forget = 100) {
    for (std::size_t k = 0; k < count; ++k)
      members.emplace_back(
          MembersOptions{
              .self = name(k), .holder = name(0), .expected = count, .forget_seconds = forget},
          0.0);
    converged.assign(count, false);
    running.assign(count, true);
  }
  static std::string name(std::size_t k) { return "peer-" + std::to_string(k); }

  void second() {
    ++now;
    for (std::size_t k = 0; k < members.size(); ++k)
      if (running[k]) members[k].report(converged[k] ? 1e-9 : 1e-2, converged[k], 1, now);
    for (std::size_t k = 0; k + 1 < members.size(); ++k) {
      if (!running[k] || !running[k + 1]) continue;
      const auto left = members[k].heartbeat(now), right = members[k + 1].heartbeat(now);
      members[k].merge(right, now);
      members[k + 1].merge(left, now);
    }
  }
  void seconds(int count) {
    for (int k = 0; k < count; ++k) second();
  }
  bool any_stopped() const {
    for (const Members& one : members)
      if (one.phase() == Member::STOPPED) return true;
    return false;
  }

  std::vector<Members> members;
  std::vector<bool> converged, running;
  double now = 0;
};

TEST(Members, StopOnlyWhenTheLastOfThemHasConverged) {
  Path path(5);
  path.converged = {true, true, true, true, false};
  path.seconds(30);
  EXPECT_FALSE(path.any_stopped());
  path.converged[4] = true;
  path.seconds(30);
  for (const Members& one : path.members) {
    EXPECT_EQ(one.phase(), Member::STOPPED);
    EXPECT_TRUE(one.everyone_stopped(path.now));
  }
}

TEST(Members, DoNotStopWhileSomeoneIsDisturbedNowAndThen) {
  Path path(6);
  path.converged.assign(6, true);
  for (int k = 0; k < 50; ++k) {
    path.converged[k % 6] = false;
    path.second();
    path.converged[k % 6] = true;
  }
  EXPECT_FALSE(path.any_stopped());
}

TEST(Members, WaitForThoseThatHaveNotStartedYet) {
  Path path(3);
  path.converged.assign(3, true);
  path.running[2] = false;
  path.seconds(50);
  EXPECT_FALSE(path.any_stopped());
  EXPECT_EQ(path.members[0].count(path.now), 3u);
  path.seconds(60);  // after forget_seconds, nobody waits for the missing member
  EXPECT_TRUE(path.any_stopped());
  EXPECT_EQ(path.members[0].count(path.now), 2u);
}

TEST(Members, AgreeOnAnotherHolderWhileTheFirstIsGone) {
  Path path(4, 20);
  path.seconds(10);
  for (const Members& one : path.members) EXPECT_EQ(one.holder(path.now), "peer-0");
  path.running[0] = false;
  path.seconds(15);
  EXPECT_EQ(path.members[3].holder(path.now), "peer-0");  // still a member
  path.seconds(15);
  for (std::size_t k = 1; k < 4; ++k) {
    EXPECT_EQ(path.members[k].holder(path.now), "peer-1");
    EXPECT_EQ(path.members[k].count(path.now), 3u);
    EXPECT_TRUE(path.members[k].is_gone("peer-0", path.now));
  }
  path.running[0] = true;
  path.seconds(5);
  for (const Members& one : path.members) {
    EXPECT_EQ(one.holder(path.now), "peer-0");
    EXPECT_EQ(one.count(path.now), 4u);
  }
}

TEST(Members, AcceptAMemberThatLostItsState) {
  Path path(2, 20);
  path.seconds(40);
  path.members[1] = Members(
      {.self = "peer-1", .holder = "peer-0", .expected = 2, .forget_seconds = 20}, path.now);
  path.seconds(25);
  EXPECT_FALSE(path.members[0].is_gone("peer-1", path.now));
  EXPECT_EQ(path.members[0].count(path.now), 2u);
}

TEST(Members, ReportTheLargestResidualOfTheLiveMembers) {
  Path path(3, 20);
  path.converged = {true, true, false};
  path.seconds(5);
  EXPECT_EQ(path.members[0].worst_residual(path.now), 1e-2);
  path.running[2] = false;
  path.seconds(30);
  EXPECT_EQ(path.members[0].worst_residual(path.now), 1e-9);
}

TEST(Members, IgnoreAHeartbeatCountThatJumps) {
  Path path(2);
  path.seconds(3);
  v1::Heartbeat forged;
  for (const char* name : {"peer-0", "peer-1"}) {
    forged.add_members()->set_name(name);
    forged.mutable_members()->rbegin()->set_heartbeats(std::uint64_t{1} << 61);
  }
  path.members[0].merge(forged, path.now);
  const v1::Heartbeat sent = path.members[0].heartbeat(path.now);
  for (const Member& member : sent.members()) EXPECT_LT(member.heartbeats(), 10u) << member.name();
  path.converged = {true, true};
  path.seconds(30);
  EXPECT_EQ(path.members[1].phase(), Member::STOPPED);
}

TEST(Members, LimitAndForgetInventedNames) {
  Path path(2, 100);
  for (int round = 0; round < 3; ++round) {
    v1::Heartbeat invented;
    for (int k = 0; k < 6000; ++k)
      invented.add_members()->set_name("x" + std::to_string(6000 * round + k));
    path.members[0].merge(invented, path.now);
  }
  EXPECT_EQ(path.members[0].heartbeat(path.now).members_size(), 10'000);
  path.seconds(250);
  EXPECT_EQ(path.members[0].heartbeat(path.now).members_size(), 2);
}

}  // namespace
}  // namespace grove::peer
