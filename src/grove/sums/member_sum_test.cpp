#include "grove/sums/member_sum.h"

#include <cmath>

#include <gtest/gtest.h>

namespace grove {
namespace {

/// Members on a path, with one round per call.
class Path {
 public:
  explicit Path(const std::vector<std::vector<double>>& numbers, bool masked = false) {
    const auto size = static_cast<std::uint32_t>(numbers.size());
    for (std::uint32_t k = 0; k < size; ++k) {
      auto& neighbours = neighbours_.emplace_back();
      if (k > 0) neighbours.push_back(AgentId{k - 1});
      if (k + 1 < size) neighbours.push_back(AgentId{k + 1});
      members.emplace_back(AgentId{k}, neighbours, numbers[k], LinkStateOptions{},
                           masked ? std::optional(simulated_masks(3, AgentId{k})) : std::nullopt);
    }
  }
  void round() {
    ++round_;
    for (MemberSum& member : members) member.activate();
    for (std::uint32_t k = 0; k < members.size(); ++k)
      for (std::size_t slot = 0; slot < neighbours_[k].size(); ++slot) {
        const std::uint32_t to = neighbours_[k][slot].value;
        const std::size_t back = k > to && to > 0 ? 1 : 0;
        members[to].receive(back, round_, members[k].fields_to(slot));
      }
  }

  std::vector<MemberSum> members;

 private:
  std::vector<std::vector<AgentId>> neighbours_;
  std::uint64_t round_ = 0;
};

// Rows 1, 2, 3 and 7 of one column, at two members: mean 13/4, variance 63/4 - (13/4)^2.
TEST(MemberSum, GivesAllMembersTheScalesOfAllRows) {
  for (const bool masked : {false, true}) {
    Path path({column_sums(3, std::vector{6.0}, std::vector{14.0}),
               column_sums(1, std::vector{7.0}, std::vector{49.0}),
               column_sums(0, std::vector{0.0}, std::vector{0.0})},
              masked);
    EXPECT_FALSE(path.members[0].result());
    for (int round = 0; round < 15; ++round) path.round();
    for (const MemberSum& member : path.members) {
      const auto result = member.result();
      ASSERT_TRUE(result);
      EXPECT_EQ(result->members, (std::vector{AgentId{0}, AgentId{1}, AgentId{2}}));
      const auto scales = column_scales(result->total);
      ASSERT_TRUE(scales);
      EXPECT_EQ(scales->rows, 4);
      EXPECT_DOUBLE_EQ(scales->means[0], 13.0 / 4);
      EXPECT_DOUBLE_EQ(scales->deviations[0], std::sqrt(63.0 / 4 - 169.0 / 16));
    }
  }
}

TEST(MemberSum, SaysWhoWasCountedAfterAMemberLeft) {
  Path path({{1}, {10}, {100}});
  for (int round = 0; round < 15; ++round) path.round();
  ASSERT_TRUE(path.members[0].result());
  EXPECT_EQ(path.members[0].result()->total, std::vector{111.0});
  path.members[1].sums().drop_neighbour(1);
  path.members.pop_back();
  for (int round = 0; round < 15; ++round) {
    path.members[0].activate();
    path.members[1].activate();
    path.members[0].receive(0, 100 + static_cast<std::uint64_t>(round),
                            path.members[1].fields_to(0));
    path.members[1].receive(0, 100 + static_cast<std::uint64_t>(round),
                            path.members[0].fields_to(0));
  }
  for (const MemberSum& member : path.members) {
    ASSERT_TRUE(member.result());
    EXPECT_EQ(member.result()->total, std::vector{11.0});
    EXPECT_EQ(member.result()->members.size(), 2u);
  }
}

TEST(ColumnScales, AreNoneOfNoRowsOrOtherNumbers) {
  EXPECT_FALSE(column_scales(std::vector{0.0, 0.0, 0.0}));
  EXPECT_FALSE(column_scales(std::vector{2.0, 1.0}));
}

}  // namespace
}  // namespace grove
