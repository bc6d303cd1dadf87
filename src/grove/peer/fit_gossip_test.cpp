#include "grove/peer/fit_gossip.h"

#include <cmath>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "grove/peer/wire.h"
#include "grove/sums/exact_numbers.h"

namespace grove::peer {
namespace {

/// Members that exchange parts as heartbeats carry them.
class Gossips {
 public:
  explicit Gossips(std::size_t members) : members_(members), all_(members) {}

  void start(std::size_t k, const std::string& table = "table") {
    const std::string name = "site-" + std::to_string(k);
    all_[k] = std::make_unique<FitGossip>(FitGossipOptions{.network = "test",
                                                           .self = name,
                                                           .expected = members_,
                                                           .process = ++processes_,
                                                           .settings = "y ~ x",
                                                           .data = table,
                                                           .secret = random_key()});
    all_[k]->set_summary(table);
  }
  void exchange(int rounds = 5) {
    for (int round = 0; round < rounds; ++round)
      for (const auto& from : all_)
        for (const auto& to : all_)
          if (from && to && from != to) to->merge(sent_by(*from));
  }
  static v1::Heartbeat sent_by(const FitGossip& gossip) {
    v1::Heartbeat heartbeat;
    gossip.add_to(heartbeat);
    EXPECT_FALSE(validate(heartbeat));
    return heartbeat;
  }
  FitGossip& operator[](std::size_t k) { return *all_[k]; }

 private:
  std::size_t members_;
  std::uint64_t processes_ = 0;
  std::vector<std::unique_ptr<FitGossip>> all_;
};

Vector numbers(double a, double b) {
  Vector result(2);
  result << a, b;
  return result;
}

Gossips three_with_a_sum() {
  Gossips sites(3);
  for (std::size_t k = 0; k < 3; ++k) sites.start(k);
  sites.exchange();
  for (std::size_t k = 0; k < 3; ++k)
    sites[k].begin_sum(numbers(std::pow(10, 20 * static_cast<double>(k)), 0.1));
  sites.exchange();
  return sites;
}

/// In exact arithmetic 1 + 1e20 + 1e40 is rounded once, whoever adds in whatever order.
TEST(FitGossip, GivesAllMembersOneTotalToTheLastBit) {
  Gossips sites = three_with_a_sum();
  for (std::size_t k = 0; k < 3; ++k) {
    ASSERT_TRUE(sites[k].total(0));
    EXPECT_EQ((*sites[k].total(0))[0], 1e40);
    EXPECT_EQ((*sites[k].total(0))[1], 0.1 + 0.1 + 0.1);
    EXPECT_EQ(sites[k].held(), sites[0].held());
  }
}

/// No words of a part are those of its numbers; those of two members are where masks cannot hide.
TEST(FitGossip, HidesTheNumbersOfThreeMembersAndNotOfTwo) {
  const auto words_of_first = [](std::size_t members) {
    Gossips sites(members);
    for (std::size_t k = 0; k < members; ++k) sites.start(k);
    sites.exchange();
    for (std::size_t k = 0; k < members; ++k) sites[k].begin_sum(numbers(3, 4));
    sites.exchange();
    const auto part = parse_fit_part(Gossips::sent_by(sites[0]).fits(0));
    const auto& words = part->sums(0).words();
    return std::vector<std::uint64_t>(words.begin(), words.end());
  };
  const Vector plain = numbers(3, 4);
  const auto encoded = [&](std::size_t members) {
    return *ExactNumbers(2, members).encode({plain.data(), 2});
  };
  EXPECT_EQ(words_of_first(2), encoded(2));
  const auto masked = words_of_first(3), open = encoded(3);
  for (std::size_t k = 0; k < masked.size(); ++k) EXPECT_NE(masked[k], open[k]) << k;
}

/// Nobody has a secret in common with a key of small order. A member that says such a key does not
/// make others send their numbers without masks.
TEST(FitGossip, IgnoresAMemberWithoutAMaskKey) {
  Gossips sites(3);
  sites.start(0), sites.start(1);
  sites.exchange();
  v1::FitPart part;
  part.set_name("site-2");
  part.set_process(9);
  part.set_version(1);
  part.set_key(std::string(sizeof(MaskKey), '\0'));
  v1::Heartbeat heartbeat;
  heartbeat.add_fits()->set_member(part.SerializeAsString());
  sites[0].merge(heartbeat);
  sites[0].begin_sum(numbers(3, 4));
  EXPECT_FALSE(sites[0].summaries());
  EXPECT_EQ(parse_fit_part(Gossips::sent_by(sites[0]).fits(0))->sums_size(), 0);
  sites.start(2);  // one of the same name with a key is taken
  sites.exchange();
  EXPECT_TRUE(sites[0].summaries());
}

TEST(FitGossip, WaitsForAllMembers) {
  Gossips sites(3);
  sites.start(0), sites.start(1);
  sites.exchange();
  EXPECT_FALSE(sites[0].summaries());
  sites.start(2);
  sites.exchange();
  EXPECT_EQ(sites[0].summaries()->size(), 3u);
}

/// A member that was killed has other masks, and is given what it lacks; nothing changes for the
/// others, because the totals are what they were.
TEST(FitGossip, GivesARestartedMemberTheSameTotals) {
  Gossips sites = three_with_a_sum();
  const Vector before = *sites[0].total(0);
  sites.start(2);
  sites.exchange();
  sites[2].begin_sum(numbers(1e40, 0.1));
  sites.exchange();
  ASSERT_TRUE(sites[2].total(0));
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(*sites[k].total(0), before);
    EXPECT_FALSE(sites[k].changed());
  }
}

TEST(FitGossip, BeginsAnewWhereATableHasChanged) {
  Gossips sites = three_with_a_sum();
  sites.start(2, "another table");
  sites.exchange();
  EXPECT_TRUE(sites[0].changed());
  for (std::size_t k = 0; k < 2; ++k) sites[k].restart();
  for (std::size_t k = 0; k < 3; ++k) sites[k].begin_sum(numbers(1, 1));
  sites.exchange();
  EXPECT_EQ((*sites[0].total(0))[0], 3);
  EXPECT_FALSE(sites[0].changed());
}

/// Numbers of a member change although its summary is what it was: the totals show it.
TEST(FitGossip, NoticesOtherNumbersUnderTheSameSummary) {
  Gossips sites = three_with_a_sum();
  sites.start(2);
  sites.exchange();
  sites[2].begin_sum(numbers(5, 5));
  sites.exchange();
  EXPECT_TRUE(sites[0].changed());
}

TEST(FitGossip, SaysWhereNumbersDoNotFit) {
  Gossips sites(3);
  for (std::size_t k = 0; k < 3; ++k) sites.start(k);
  sites.exchange();
  for (std::size_t k = 0; k < 3; ++k)
    sites[k].begin_sum(numbers(k == 1 ? std::numeric_limits<double>::infinity() : 1, 1));
  sites.exchange();
  for (std::size_t k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan((*sites[k].total(0))[0]));
}

TEST(FitGossip, SumsTheLastOverThoseWhoAreThere) {
  Gossips sites = three_with_a_sum();
  for (std::size_t k = 0; k < 2; ++k)
    sites[k].begin_last_sum("answer", {"site-0", "site-1"}, numbers(2, 0));
  sites.exchange();
  EXPECT_EQ((*sites[1].last_total())[0], 4);
}

/// Bytes of anybody, older parts and parts of the wrong size change nothing.
TEST(FitGossip, IgnoresWhatIsNoPart) {
  Gossips sites = three_with_a_sum();
  const std::uint64_t held = sites[0].held();
  const v1::Heartbeat good = Gossips::sent_by(sites[1]);
  v1::Heartbeat bad;
  bad.add_fits()->set_member("no part");
  auto part = *parse_fit_part(good.fits(1));
  part.set_key("short");
  bad.add_fits()->set_member(part.SerializeAsString());
  part = *parse_fit_part(good.fits(1));
  part.set_version(0);
  bad.add_fits()->set_member(part.SerializeAsString());
  part.set_name("NO NAME");
  bad.add_fits()->set_member(part.SerializeAsString());
  sites[0].merge(bad);
  EXPECT_EQ(sites[0].held(), held);

  part = *parse_fit_part(good.fits(1));
  part.set_version(part.version() + 1);
  part.mutable_sums(0)->clear_words();
  v1::Heartbeat short_words;
  short_words.add_fits()->set_member(part.SerializeAsString());
  sites[0].merge(short_words);
  EXPECT_NE(sites[0].held(), held);
}

TEST(ExactNumbers, AreExactFromTinyToHuge) {
  const std::vector<double> given{0, -0.1, 1e-40, -3.5e50, 1e57, 4.9e-324, 123456789.123456789};
  const ExactNumbers exact(given.size(), 10);
  const auto words = exact.encode(given);
  ASSERT_TRUE(words);
  const auto back = exact.decode(*words);
  for (std::size_t k = 0; k < given.size(); ++k)
    EXPECT_EQ(back[k], std::abs(given[k]) < 1e-57 ? 0 : given[k]);
  EXPECT_FALSE(ExactNumbers(1, 10).encode(std::vector<double>{1e60}));
  EXPECT_FALSE(ExactNumbers(1, 10).encode(std::vector<double>{std::nan("")}));
}

}  // namespace
}  // namespace grove::peer
