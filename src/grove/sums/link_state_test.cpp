#include "grove/sums/link_state.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

std::vector<AgentId> ids(std::initializer_list<std::uint32_t> values) {
  std::vector<AgentId> all;
  for (const std::uint32_t value : values) all.push_back(AgentId{value});
  return all;
}

/// Everything that `from` knows, as a message to the neighbour in that slot of `to`.
void send_all(LinkState& from, LinkState& to, std::size_t slot_at_from, std::size_t slot_at_to) {
  to.received_from(slot_at_to);
  to.merge(from.entries_for(slot_at_from, true), slot_at_to);
}

/// Agents 0 - 1 - 2 on a path, who know all there is to know.
struct Path {
  LinkState a{AgentId{0}, ids({1}), {.patience = 5}}, b{AgentId{1}, ids({0, 2}), {.patience = 5}},
      c{AgentId{2}, ids({1}), {.patience = 5}};

  Path() { gossip(); }
  void gossip() {
    for (int round = 0; round < 3; ++round) {
      send_all(a, b, 0, 0);
      send_all(c, b, 0, 1);
      send_all(b, a, 0, 0);
      send_all(b, c, 1, 0);
    }
    for (LinkState* state : {&a, &b, &c}) state->refresh();
  }
};

TEST(LinkState, GivesEqualTablesAndEqualTreesToAll) {
  Path path;
  EXPECT_EQ(path.a.digest(), path.b.digest());
  EXPECT_EQ(path.a.digest(), path.c.digest());
  for (const LinkState* state : {&path.a, &path.b, &path.c}) {
    EXPECT_TRUE(state->plan().complete);
    EXPECT_TRUE(state->plan().full);
    EXPECT_EQ(state->plan().members, ids({0, 1, 2}));
    EXPECT_EQ(state->plan().root, AgentId{1});
    EXPECT_EQ(state->plan().id, path.b.plan().id);
  }
  EXPECT_EQ(path.b.plan().children, ids({0, 2}));
  EXPECT_EQ(path.a.plan().parent, AgentId{1});
}

TEST(LinkState, IsIncompleteWhileAMembersNeighbourHasNoEntry) {
  LinkState a(AgentId{0}, ids({1})), b(AgentId{1}, ids({0, 2}));
  a.refresh();
  EXPECT_FALSE(a.plan().complete);
  send_all(b, a, 0, 0);
  a.refresh();
  EXPECT_EQ(a.plan().members, ids({0, 1}));
  EXPECT_FALSE(a.plan().complete);
  EXPECT_EQ(a.plan().id, 0u);
}

// After more than five activations without a message the tree goes on without the silent agent,
// and knows that somebody is missing. When it is back, its neighbour is more patient.
TEST(LinkState, LeavesSilentNeighboursOutAndTakesThemBack) {
  Path path;
  for (int activation = 0; activation < 6; ++activation) {
    path.b.received_from(0);
    path.b.age();
  }
  path.b.refresh();
  EXPECT_EQ(path.b.plan().members, ids({0, 1}));
  EXPECT_TRUE(path.b.plan().complete);
  EXPECT_FALSE(path.b.plan().full);
  path.b.received_from(1);
  path.b.refresh();
  EXPECT_TRUE(path.b.plan().full);
  for (int activation = 0; activation < 10; ++activation) path.b.age();
  path.b.refresh();
  EXPECT_EQ(path.b.plan().members, ids({1, 2})) << "twice as patient with agent 2";
}

TEST(LinkState, ForgetsDroppedNeighboursForGood) {
  Path path;
  path.b.drop_neighbour(1);
  path.b.refresh();
  EXPECT_EQ(path.b.plan().members, ids({0, 1}));
  EXPECT_TRUE(path.b.plan().full);
}

// Agent 1 starts anew with version 1; the others know its version 2. It publishes above that.
TEST(LinkState, PublishesAboveWhatItHadPublishedBeforeItLostItsState) {
  Path path;
  path.b.drop_neighbour(1);
  path.b.add_neighbour(AgentId{2});
  path.gossip();
  ASSERT_EQ(path.a.table().at(AgentId{1}).version, 3u);
  path.b = LinkState(AgentId{1}, ids({0, 2}), {.patience = 5});
  path.gossip();
  EXPECT_EQ(path.b.table().at(AgentId{1}).version, 4u);
  EXPECT_EQ(path.a.table().at(AgentId{1}).version, 4u);
  EXPECT_EQ(path.a.digest(), path.b.digest());
}

TEST(LinkState, SendsWhatANeighbourDoesNotKnowAndOnlyOnce) {
  Path path;
  EXPECT_TRUE(path.b.entries_for(0, false).empty());
  path.b.add_neighbour(AgentId{7});
  const auto news = read_entries(path.b.entries_for(0, false));
  ASSERT_TRUE(news);
  EXPECT_EQ(news->size(), 1u);
  EXPECT_TRUE(news->contains(AgentId{1}));
  EXPECT_TRUE(path.b.entries_for(0, false).empty());
  EXPECT_EQ(read_entries(path.b.entries_for(0, true))->size(), 3u);
}

// Twenty messages for every activation of its own: sixteen times slower, in powers of two.
TEST(LinkState, PublishesThatItIsSlow) {
  Path path;
  for (int activation = 0; activation < 12; ++activation) {
    for (int message = 0; message < 20; ++message)
      for (const std::size_t slot : {0, 1}) path.b.received_from(slot);
    path.b.age();
  }
  EXPECT_GE(path.b.table().at(AgentId{1}).slowness, 2u);
  EXPECT_EQ(path.a.table().at(AgentId{0}).slowness, 0u);
}

TEST(LinkState, RefusesWordsThatAreNoEntries) {
  std::vector<std::uint32_t> words;
  append_entry(AgentId{3}, {.version = 2, .live = ids({1, 2}), .silent = ids({9})}, words);
  ASSERT_TRUE(read_entries(words));
  EXPECT_EQ(read_entries(words)->at(AgentId{3}).silent, ids({9}));
  for (std::size_t size = 1; size < words.size(); ++size)
    EXPECT_FALSE(read_entries(std::span(words).first(size))) << size;
  words[4] = 5;  // names are sorted
  EXPECT_FALSE(read_entries(words));
}

TEST(LinkState, SavingAndLoadingIsTheIdentity) {
  Path path;
  for (int activation = 0; activation < 6; ++activation) path.b.age();
  ByteWriter saved;
  path.b.save(saved);
  LinkState copy(AgentId{1}, ids({0, 2}), {.patience = 5});
  ByteReader reader(saved.bytes());
  copy.load(reader);
  ASSERT_TRUE(reader.finished());
  ByteWriter again;
  copy.save(again);
  EXPECT_EQ(again.bytes(), saved.bytes());
  copy.refresh();
  path.b.refresh();
  EXPECT_EQ(copy.plan().id, path.b.plan().id);
  EXPECT_EQ(copy.digest(), path.b.digest());
}

// Agent 2 was rolled back and has published version 9 twice. 0 knows the first one, 1 the second
// one. They come to keep the same, and 2 a later one.
TEST(LinkState, ResolvesAVersionThatWasPublishedTwice) {
  Path path;
  const auto entry = [](std::vector<AgentId> live) {
    std::vector<std::uint32_t> words;
    append_entry(AgentId{2}, {.version = 9, .live = std::move(live), .silent = {}}, words);
    return words;
  };
  path.a.merge(entry({}), 0);
  path.b.merge(entry(ids({1})), 1);
  path.gossip();
  path.gossip();
  EXPECT_EQ(path.a.table(), path.b.table());
  EXPECT_EQ(path.b.table(), path.c.table());
  EXPECT_EQ(path.a.table().at(AgentId{2}).live, ids({1}));
  EXPECT_GT(path.c.table().at(AgentId{2}).version, 9u);
}

}  // namespace
}  // namespace grove
