// How and when a peer ends, as a function of facts. Times are seconds.
#include "grove/peer/ending.h"

#include <gtest/gtest.h>

#include "grove/peer/waiting.h"

namespace grove::peer {
namespace {

using v1::Member;

constexpr EndingOptions options{.linger_seconds = 30, .forget_seconds = 600, .members = 3};

EndingOptions resumed(SavedPhase phase) {
  EndingOptions result = options;
  result.resumed = phase;
  return result;
}

TEST(Ending, FollowsThreeHeartbeatsAfterEverybodyStopped) {
  Ending ending(options, 0);
  EndingFacts facts{.now = 1, .phase = Member::READY_TO_STOP};
  EXPECT_FALSE(ending.decide(facts));
  facts.phase = Member::STOPPED;
  EXPECT_FALSE(ending.decide(facts));
  facts.everyone_stopped = true;
  EXPECT_FALSE(ending.decide(facts));
  EXPECT_FALSE(ending.decide(facts));
  EXPECT_EQ(ending.decide(facts), PeerOutcome::converged);
}

// Heartbeats of 0.2 s on links with round trips of 5 s: what is under way is lost when the peer
// ends.
TEST(Ending, GivesItsGoodbyesTheTimeOfTwoRoundTrips) {
  for (const auto phase : {Member::STOPPED, Member::LEFT}) {
    Ending ending(options, 0);
    EndingFacts facts{.phase = phase, .everyone_stopped = true, .round_trip = 5};
    for (facts.now = 1; facts.now < 10.9; facts.now += 0.2) ASSERT_FALSE(ending.decide(facts));
    facts.now = 11.1;
    EXPECT_TRUE(ending.decide(facts));
  }
}

TEST(Ending, WaitsForThoseThatStillNeedItsMessagesButNotForEver) {
  Ending ending(options, 0);
  EndingFacts facts{.phase = Member::STOPPED};
  for (facts.now = 1; facts.now < 500; facts.now += 1) {
    facts.last_unfinished = facts.now - 1;  // somebody works
    ASSERT_FALSE(ending.decide(facts)) << facts.now;
  }
  facts.now = facts.last_unfinished + 31;
  EXPECT_EQ(ending.decide(facts), PeerOutcome::converged);
  Ending long_ago(options, 0);
  facts = {.now = 1, .phase = Member::STOPPED};
  EXPECT_FALSE(long_ago.decide(facts));
  facts.now = facts.last_unfinished = 700;
  EXPECT_EQ(long_ago.decide(facts), PeerOutcome::converged);
}

TEST(Ending, DoesNotComeByItselfForAPeerThatStays) {
  EndingOptions staying = options;
  staying.stay = true;
  Ending ending(staying, 0);
  EndingFacts facts{.phase = Member::STOPPED, .everyone_stopped = true};
  for (facts.now = 1; facts.now < 2000; facts.now += 1) ASSERT_FALSE(ending.decide(facts));
  facts.alone = true;
  EXPECT_FALSE(ending.decide(facts));
  facts.asked_to_stop = true;
  EXPECT_EQ(ending.decide(facts), PeerOutcome::stopped);
}

// A peer that had stopped was disturbed, for example by a new weight, when the others had ended.
TEST(Ending, OfAPeerThatIsDisturbedAfterTheAgreementIsThatOfTheAgreement) {
  const auto end_of = [](const std::string& run_after, double last_unfinished, double silence) {
    Ending ending(options, 0);
    EXPECT_FALSE(ending.decide({.now = 1, .phase = Member::STOPPED, .last_heard = 1, .run = "a"}));
    return ending.decide({.now = 2 + silence,
                          .phase = Member::WORKING,
                          .last_unfinished = last_unfinished,
                          .last_heard = 2,
                          .run = run_after});
  };
  EXPECT_EQ(end_of("a", -1, 31), PeerOutcome::converged);
  EXPECT_FALSE(end_of("a", -1, 29)) << "the others may still help";
  EXPECT_EQ(end_of("a", 2, 31), PeerOutcome::converged) << "the last word of a member is old";
  EXPECT_FALSE(end_of("b", -1, 31)) << "the data have changed";
  Ending never_agreed(options, 0);
  EXPECT_FALSE(never_agreed.decide({.now = 99, .last_heard = 1, .run = "a"}));
}

TEST(Ending, WithMembersMissingIsAnOutcomeOfItsOwn) {
  Ending ending(options, 0);
  EndingFacts facts{.phase = Member::STOPPED, .complete = false};
  EXPECT_FALSE(ending.decide(facts));
  facts.now = 40;
  EXPECT_EQ(ending.decide(facts), PeerOutcome::converged_without);
}

// A peer that was killed after it was ready to stop finds nobody when it is started again.
TEST(Ending, OfAPeerThatIsAloneDependsOnWhatTheNetworkHadAgreedOn) {
  const auto alone_for = [](SavedPhase phase, double seconds) {
    return Ending(resumed(phase), 0).decide({.now = seconds, .alone = true});
  };
  EXPECT_FALSE(alone_for(SavedPhase::stopped, 29));
  EXPECT_EQ(alone_for(SavedPhase::stopped, 31), PeerOutcome::converged);
  EXPECT_EQ(alone_for(SavedPhase::ready, 31), PeerOutcome::converged_without);
  EXPECT_FALSE(alone_for(SavedPhase::working, 599));
  EXPECT_EQ(alone_for(SavedPhase::working, 601), PeerOutcome::peer_lost);
}

TEST(Ending, DoesNotTrustItsCheckpointOnceItHasMetOthers) {
  Ending ending(resumed(SavedPhase::stopped), 0);
  EXPECT_FALSE(ending.decide({.now = 1}));
  EXPECT_FALSE(ending.decide({.now = 100, .alone = true}));
  EXPECT_EQ(ending.decide({.now = 700, .alone = true}), PeerOutcome::peer_lost);
}

TEST(Ending, OfATwinAndOfAPeerThatLeaves) {
  EXPECT_EQ(Ending(options, 0).decide({.duplicate = true}), PeerOutcome::duplicate);
  Ending leaving(options, 0);
  const EndingFacts facts{.phase = Member::LEFT};
  EXPECT_FALSE(leaving.decide(facts));
  EXPECT_FALSE(leaving.decide(facts));
  EXPECT_EQ(leaving.decide(facts), PeerOutcome::left);
}

TEST(Waiting, NamesWhomAndHowLong) {
  EXPECT_EQ(waiting_text({}, 600, 5), "");
  EXPECT_EQ(waiting_text({{.name = "peer-3"}, {.name = "peer-4", .silent_seconds = 42}}, 600, 5),
            "peer-3 (silent for 5 s; 595 s left), peer-4 (silent for 42 s; 558 s left)");
  EXPECT_EQ(
      waiting_text({{.name = "b", .silent_seconds = 0, .working = true}, {.count = 2}}, 60, 9),
      "b (still working), 2 more that nobody has seen (silent for 9 s; 51 s left)");
}

TEST(Waiting, IsLoggedAtGrowingIntervals) {
  WaitingLog log;
  int lines = 0;
  for (double now = 0; now < 640; now += 1) lines += log.is_due("peer-3", now);
  EXPECT_EQ(lines, 6);  // after 10, 20, 40, ... 320 s
  EXPECT_FALSE(log.is_due("", 700));
  EXPECT_FALSE(log.is_due("peer-3", 701));  // starts over
}

}  // namespace
}  // namespace grove::peer
