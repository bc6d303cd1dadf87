#include "grove/peer/members.h"

#include <vector>

#include <gtest/gtest.h>

#include "grove/peer/link_table.h"
#include "grove/peer/mask_directory.h"
#include "grove/peer/wire.h"

namespace grove::peer {
namespace {

using v1::Member;

std::vector<Member> entries_of(const v1::Heartbeat& heartbeat) {
  std::vector<Member> members;
  for (const v1::SignedMember& entry : heartbeat.members())
    members.push_back(parse_member(entry).value_or(Member()));
  return members;
}

/// Members on a path 0 - 1 - ... - n-1 that exchange heartbeats once per second.
class Path {
 public:
  explicit Path(std::size_t count, double forget = 100) {
    for (std::size_t k = 0; k < count; ++k)
      members.emplace_back(MembersOptions{.self = name(k),
                                          .holder = name(0),
                                          .expected = count,
                                          .forget_seconds = forget,
                                          .tolerance = 1e-8,
                                          .data = "data of " + name(k),
                                          .process = k + 1},
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

v1::Heartbeat heartbeat_of(const std::string& name, std::uint64_t heartbeats,
                           const std::string& data) {
  Member entry;
  entry.set_name(name);
  entry.set_heartbeats(heartbeats);
  entry.set_data(data);
  v1::Heartbeat heartbeat;
  heartbeat.add_members()->set_member(entry.SerializeAsString());
  return heartbeat;
}

Members pair_with_certificates() {
  return Members({.self = "a",
                  .holder = "a",
                  .expected = 2,
                  .tolerance = 1e-6,
                  .data = "data of a",
                  .process = 1},
                 0);
}

// Where sums are quicker than heartbeats, other data of b are certified before a has reported that
// it works again. It once kept its answer for the data before.
TEST(Members, AgreeAnewOnOtherDataWithinOneHeartbeat) {
  Members a = pair_with_certificates();
  a.set_certified(true);
  std::uint64_t heartbeats = 0;
  for (const char* data : {"first", "second"}) {
    a.merge(heartbeat_of("b", ++heartbeats, data), 1);
    a.report(1e-9, true, 1, 1);
    EXPECT_EQ(a.phase(), Member::STOPPED);
    EXPECT_TRUE(a.agreed_anew()) << data;
    a.report(1e-9, true, 1, 1);
    EXPECT_EQ(a.phase(), Member::STOPPED);
    EXPECT_FALSE(a.agreed_anew()) << data;
  }
}

// The certificate of an answer for the first data of b is none after b has announced other data.
TEST(Members, AreCountedWithTheDataThatTheyAnnounce) {
  Members a = pair_with_certificates();
  a.merge(heartbeat_of("b", 1, "first"), 1);
  std::vector<AgentId> ids{AgentId{agent_number("a")}, AgentId{agent_number("b")}};
  std::vector<std::uint32_t> tags{data_tag("data of a", ""), data_tag("first", "")};
  if (ids[1] < ids[0]) std::swap(ids[0], ids[1]), std::swap(tags[0], tags[1]);
  EXPECT_TRUE(a.are_exactly(ids, tags, 1));
  EXPECT_FALSE(a.are_exactly(std::span(ids).first(1), std::span(tags).first(1), 1));
  a.merge(heartbeat_of("b", 2, "second"), 1);
  EXPECT_FALSE(a.are_exactly(ids, tags, 1));
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
      {.self = "peer-1", .holder = "peer-0", .expected = 2, .forget_seconds = 20, .process = 9},
      path.now);
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
    Member member;
    member.set_name(name);
    member.set_heartbeats(std::uint64_t{1} << 61);
    forged.add_members()->set_member(member.SerializeAsString());
  }
  path.members[0].merge(forged, path.now);
  for (const Member& member : entries_of(path.members[0].heartbeat(path.now)))
    EXPECT_LT(member.heartbeats(), 10u) << member.name();
  path.converged = {true, true};
  path.seconds(30);
  EXPECT_EQ(path.members[1].phase(), Member::STOPPED);
}

// A peer with other data than before takes part in another computation, so what the others had
// agreed on no longer counts.
TEST(Members, StartOverWhenAMemberReturnsWithOtherData) {
  Path path(3);
  path.converged.assign(3, true);
  path.seconds(20);
  for (const Members& one : path.members) ASSERT_EQ(one.phase(), Member::STOPPED);
  const std::string run = path.members[0].run();
  path.members[2] = Members({.self = "peer-2",
                             .holder = "peer-0",
                             .expected = 3,
                             .tolerance = 1e-8,
                             .data = "other data",
                             .process = 9},
                            path.now);
  path.converged[2] = false;
  path.seconds(10);
  for (const Members& one : path.members) EXPECT_NE(one.phase(), Member::STOPPED);
  path.converged[2] = true;
  path.seconds(20);
  for (const Members& one : path.members) {
    EXPECT_EQ(one.phase(), Member::STOPPED);
    EXPECT_NE(one.run(), run);
    EXPECT_EQ(one.run(), path.members[0].run());
  }
}

// A stop that one peer remembers from an earlier run does not stop the others.
TEST(Members, CountAStopOnlyInTheirOwnRunAndWithASmallResidual) {
  Path path(3);
  path.converged.assign(3, true);
  path.running[2] = false;
  path.seconds(5);
  const auto claim = [&](const std::string& run, double residual) {
    Member member;
    member.set_name("peer-2");
    member.set_heartbeats(static_cast<std::uint64_t>(++path.now));
    member.set_data("data of peer-2");
    member.set_run(run);
    member.set_residual(residual);
    member.set_phase(Member::STOPPED);
    v1::Heartbeat heartbeat;
    heartbeat.add_members()->set_member(member.SerializeAsString());
    path.members[1].merge(heartbeat, path.now);
    path.members[1].report(1e-9, true, 1, path.now);
    return path.members[1].phase();
  };
  EXPECT_NE(claim("of an earlier run", 1e-9), Member::STOPPED);
  const std::string run = path.members[1].run();
  EXPECT_NE(claim(run, 1e-3), Member::STOPPED);
  EXPECT_EQ(claim(run, 1e-9), Member::STOPPED);
}

TEST(Members, NameThoseThatAreMissingAndThoseThatLeft) {
  Path path(4, 20);
  path.seconds(5);
  EXPECT_TRUE(path.members[0].missing(path.now).empty());
  path.members[3].leave();
  path.second();
  path.running[3] = false;
  path.seconds(4);
  EXPECT_EQ(path.members[0].missing(path.now), std::vector<std::string>{"peer-3"});
  EXPECT_TRUE(path.members[0].is_gone("peer-3", path.now));
  EXPECT_EQ(path.members[0].live(path.now).size(), 3u);  // without waiting for 20 s
  path.running[2] = false;
  path.seconds(25);
  EXPECT_EQ(path.members[0].missing(path.now), (std::vector<std::string>{"peer-2", "peer-3"}));
}

// Two processes with one name and key: exactly one of them gives way.
TEST(Members, NoticeAnotherProcessWithTheirName) {
  Path path(2);
  Members twin({.self = "peer-1", .holder = "peer-0", .expected = 2, .process = 9}, 0.0);
  for (int k = 0; k < 15; ++k) {
    path.second();
    twin.report(1e-2, false, 1, path.now);
    const auto to_twin = path.members[0].heartbeat(path.now), of_twin = twin.heartbeat(path.now);
    twin.merge(to_twin, path.now);
    path.members[0].merge(of_twin, path.now);
  }
  EXPECT_FALSE(path.members[1].is_duplicate());
  EXPECT_TRUE(twin.is_duplicate());  // process 9 started after process 2
}

// A path 1 - 2 - 3 whose ends have one twin each of peer-0. The earlier twin has counted more
// heartbeats, and is always ahead. All of them have converged, on data that count twice.
TEST(Members, DoNotStopWithTwoProcessesOfOneMember) {
  const auto options = [](const std::string& name, std::uint64_t process) {
    return MembersOptions{.self = name,
                          .holder = "peer-0",
                          .expected = 4,
                          .forget_seconds = 100,
                          .tolerance = 1e-8,
                          .process = process,
                          .twin_seconds = 5};
  };
  std::vector<Members> line;
  for (const auto& [name, process] :
       {std::pair{"peer-0", 1}, {"peer-1", 2}, {"peer-2", 3}, {"peer-3", 4}, {"peer-0", 5}})
    line.emplace_back(options(name, static_cast<std::uint64_t>(process)), 0.0);
  for (int k = 0; k < 20; ++k) line[0].beat();
  double now = 0;
  const auto second = [&](std::size_t running) {
    ++now;
    for (std::size_t k = 0; k < running; ++k) line[k].report(1e-9, true, 1, now);
    std::vector<v1::Heartbeat> sent;
    for (std::size_t k = 0; k < running; ++k) sent.push_back(line[k].heartbeat(now));
    for (std::size_t k = 0; k + 1 < running; ++k) {
      line[k].merge(sent[k + 1], now);
      line[k + 1].merge(sent[k], now);
    }
  };
  for (int k = 0; k < 30; ++k) {
    second(5);
    for (const Members& one : line) ASSERT_NE(one.phase(), Member::STOPPED) << k;
  }
  EXPECT_TRUE(line[4].is_duplicate());
  EXPECT_FALSE(line[0].is_duplicate());
  for (int k = 0; k < 30; ++k) second(4);  // the later one has ended
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(line[k].phase(), Member::STOPPED);
}

// A neighbour recorded what an earlier process of peer-1 signed, and repeats it one by one.
TEST(Members, AreNotEndedByEntriesOfAProcessThatHasEnded) {
  Path path(2);
  std::vector<v1::Heartbeat> recorded;
  for (int k = 0; k < 40; ++k) {
    path.second();
    recorded.push_back(path.members[1].heartbeat(path.now));
  }
  path.members[1] =
      Members({.self = "peer-1", .holder = "peer-0", .expected = 2, .process = 9}, path.now);
  for (const v1::Heartbeat& one : recorded) {
    path.members[1].merge(one, path.now);
    path.second();
    ASSERT_FALSE(path.members[1].is_duplicate());
  }
}

TEST(Members, DoNotMistakeAnEarlierProcessForATwin) {
  Path path(2);
  path.seconds(50);
  path.members[1] = Members(
      {.self = "peer-1", .holder = "peer-0", .expected = 2, .data = "data of peer-1"}, path.now);
  path.seconds(50);
  EXPECT_FALSE(path.members[1].is_duplicate());
}

TEST(Members, LimitAndForgetInventedNames) {
  Path path(2, 100);
  for (int round = 0; round < 3; ++round) {
    v1::Heartbeat invented;
    for (int k = 0; k < 6000; ++k) {
      Member member;
      member.set_name("x" + std::to_string(6000 * round + k));
      invented.add_members()->set_member(member.SerializeAsString());
    }
    path.members[0].merge(invented, path.now);
  }
  EXPECT_EQ(path.members[0].heartbeat(path.now).members_size(), 10'000);
  path.seconds(250);
  EXPECT_EQ(path.members[0].heartbeat(path.now).members_size(), 2);
}

}  // namespace
}  // namespace grove::peer
