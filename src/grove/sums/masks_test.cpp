#include "grove/sums/masks.h"

#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

namespace grove {
namespace {

// ---- Fixed point ----

TEST(FixedPointNumbers, ComeBackToTheUnit) {
  const FixedPoint shape{.numbers = 4, .elements = 3};
  const std::vector<double> numbers{1.0 / 3, -2.5, 1e12, -1e-20}, matrix{0.1, -7, 1e8};
  const auto decoded = shape.decode(shape.encode(numbers, matrix));
  for (std::size_t k = 0; k < 4; ++k)
    EXPECT_NEAR(decoded.numbers[k], numbers[k], std::ldexp(1, -81)) << k;
  EXPECT_EQ(decoded.numbers[2], 1e12);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(decoded.matrix[k], matrix[k], std::ldexp(1, -33)) << k;
  EXPECT_EQ(decoded.overflowed, 0u);
}

// What does not fit is counted, and stays at the largest number, whose sum over all members fits.
TEST(FixedPointNumbers, CountTheMembersThatOverflow) {
  FixedPoint shape{.numbers = 2, .elements = 1, .members = 3};
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<std::uint64_t> sum(shape.words());
  add_words(shape, shape.encode(std::vector<double>{1e30, 1}, std::vector<double>{1}), sum);
  add_words(shape, shape.encode(std::vector<double>{infinity, 1}, std::vector<double>{1e30}), sum);
  add_words(shape, shape.encode(std::vector<double>{2, 1}, std::vector<double>{-1}), sum);
  auto decoded = shape.decode(sum);
  EXPECT_EQ(decoded.overflowed, 2u);
  EXPECT_GT(decoded.numbers[0], 4e13);
  EXPECT_EQ(decoded.numbers[1], 3);
  shape.coarseness = 4;
  decoded = shape.decode(shape.encode(std::vector<double>{1e30, 1}, std::vector<double>{1e20}));
  EXPECT_EQ(decoded.overflowed, 0u);
  EXPECT_NEAR(decoded.numbers[0], 1e30, 1e14);
  EXPECT_NEAR(decoded.matrix[0], 1e20, std::ldexp(1, 32));
}

// ---- Masks ----

/// Members with secrets of their own, who know each other's public keys.
class Members {
 public:
  explicit Members(std::size_t size, bool random = false) {
    for (std::uint32_t k = 0; k < size; ++k) {
      members_.push_back({.id = AgentId{k}, .data = k});
      secrets_.push_back(random ? random_key() : simulated_secret(9, AgentId{k}));
    }
  }
  void set_secret(std::size_t k, const MaskKey& secret) { secrets_[k] = secret; }
  Masks masks_of(std::uint32_t k) const {
    return Masks(AgentId{k},
                 {.secret = secrets_[k], .public_key = [this](AgentId member, std::uint32_t) {
                    return std::optional(public_key_of(secrets_[member.value]));
                  }});
  }
  std::vector<std::uint64_t> masked(std::uint32_t k, const MaskKey& context,
                                    const FixedPoint& shape,
                                    const std::vector<double>& numbers) const {
    auto words = shape.encode(numbers, {});
    masks_of(k).add(members_, context, shape, words);
    return words;
  }
  const std::vector<MaskedMember>& all() const { return members_; }

 private:
  std::vector<MaskedMember> members_;
  std::vector<MaskKey> secrets_;
};

/// Pearson's statistic of the bytes against equal frequencies, in standard deviations from its
/// mean: within some 5 for uniform bytes.
double unevenness(const std::vector<std::uint64_t>& words) {
  std::array<double, 256> counts{};
  for (const std::uint64_t word : words)
    for (int k = 0; k < 64; k += 8) counts[word >> k & 255] += 1;
  const double expected = static_cast<double>(8 * words.size()) / 256;
  double statistic = 0;
  for (const double count : counts) statistic += (count - expected) * (count - expected) / expected;
  return (statistic - 255) / std::sqrt(2 * 255.0);
}

TEST(Masks, CancelInTheSumOverAllMembersAndNowhereElse) {
  const Members members(6);
  const FixedPoint shape{.numbers = 2, .members = 6};
  const MaskKey context = context_of("a wave");
  std::vector<std::uint64_t> sum(shape.words());
  for (const std::uint32_t k : {4u, 0u, 5u, 2u, 1u}) {
    add_words(shape, members.masked(k, context, shape, {1.5 * k, -1}), sum);
    const auto partial = shape.decode(sum);
    EXPECT_GT(std::abs(partial.numbers[1]), 1e6);  // -1 with a chance of 1e-7
  }
  add_words(shape, members.masked(3, context, shape, {4.5, -1}), sum);
  const auto total = shape.decode(sum);
  EXPECT_EQ(total.numbers, (std::vector<double>{22.5, -6}));
  EXPECT_EQ(total.refused, 0u);
}

TEST(Masks, AreNewForEveryContext) {
  const Members members(3);
  const FixedPoint shape{.numbers = 1, .members = 3};
  const auto one = members.masked(0, context_of("wave 1"), shape, {1});
  EXPECT_EQ(one, members.masked(0, context_of("wave 1"), shape, {1}));  // after a rollback
  const auto other = members.masked(0, context_of("wave 2"), shape, {1});
  for (std::size_t k = 0; k < one.size(); ++k) EXPECT_NE(one[k], other[k]);
}

TEST(Masks, AreNotReadyBeforeAllKeysAreKnown) {
  bool known = false;
  const Masks masks(AgentId{0}, {.secret = random_key(), .public_key = [&](AgentId, std::uint32_t) {
                                   return known ? std::optional(public_key_of(random_key()))
                                                : std::nullopt;
                                 }});
  const std::vector<MaskedMember> members{{AgentId{0}}, {AgentId{1}}, {AgentId{2}}};
  EXPECT_FALSE(masks.ready_for(members));
  known = true;
  EXPECT_TRUE(masks.ready_for(members));
}

// A key whose common secret does not depend on ours (a point of small order) is refused.
TEST(Masks, RefuseAPublicKeyOfSmallOrder) {
  const Masks masks(AgentId{0}, {.secret = random_key(), .public_key = [](AgentId, std::uint32_t) {
                                   return std::optional(MaskKey{});
                                 }});
  EXPECT_FALSE(masks.ready_for(std::vector<MaskedMember>{{AgentId{0}}, {AgentId{1}}}));
}

// What a member sends has the distribution of uniform words, whatever its data are. The others'
// secrets are the same for both data sets.
TEST(Masks, HideTheDataOfAMemberInDistribution) {
  const FixedPoint shape{.numbers = 20, .members = 3};
  const std::vector<double> zeros(20, 0.0);
  std::vector<double> large;
  for (int k = 0; k < 20; ++k) large.push_back(1000.0 * k);
  for (const auto& data : {zeros, large}) {
    std::vector<std::uint64_t> sent;
    for (int wave = 0; wave < 400; ++wave) {
      const Members members(3);
      const auto words = members.masked(0, context_of("wave " + std::to_string(wave)), shape, data);
      sent.insert(sent.end(), words.begin(), words.end());
    }
    EXPECT_LT(std::abs(unevenness(sent)), 5);
    // Without masks the same words are far from uniform.
    std::vector<std::uint64_t> open;
    for (int wave = 0; wave < 400; ++wave)
      for (const std::uint64_t word : shape.encode(data, {})) open.push_back(word);
    EXPECT_GT(unevenness(open), 100);
  }
}

// Reconstruction by the only neighbour of a leaf: it subtracts the mask that it has in common with
// the leaf, and is left with uniform words, because it does not know the mask of the leaf and the
// third member. The answers are constant, which a weak cipher would show.
TEST(Masks, HideALeafFromItsOnlyNeighbour) {
  const FixedPoint shape{.numbers = 5, .members = 3};
  const std::vector<double> answer{0.25, -0.125, 1, 3, 7};
  const Members members(3, true);
  const std::vector<MaskedMember> pair{members.all()[0], members.all()[1]};
  std::vector<std::uint64_t> rest;
  for (int wave = 0; wave < 1000; ++wave) {
    const MaskKey context = context_of("wave " + std::to_string(wave));
    auto words = members.masked(0, context, shape, answer);
    members.masks_of(1).add(pair, context, shape, words);  // cancels the mask of 0 and 1
    rest.insert(rest.end(), words.begin(), words.end());
    EXPECT_NE(shape.decode(words).numbers[0], answer[0]);
  }
  EXPECT_LT(std::abs(unevenness(rest)), 5);
}

// All others together know all masks of a member: what they learn is its answer, as they would
// from the total.
TEST(Masks, DoNotHideAMemberFromAllOthersTogether) {
  const FixedPoint shape{.numbers = 1, .members = 3};
  const Members members(3);
  const MaskKey context = context_of("a wave");
  auto words = members.masked(0, context, shape, {42});
  for (const std::uint32_t other : {1u, 2u})
    members.masks_of(other).add(std::vector{members.all()[0], members.all()[other]}, context, shape,
                                words);
  EXPECT_EQ(shape.decode(words).numbers[0], 42);
}

// A member that refuses spoils the total, and the root learns only that somebody refused.
TEST(Masks, ReplaceARefusedAnswerByNoise) {
  const Members members(3);
  const FixedPoint shape{.numbers = 8, .members = 3};
  const MaskKey context = context_of("a wave");
  auto sum = members.masks_of(1).noise(context, shape);
  members.masks_of(1).add(members.all(), context, shape, sum);
  for (const std::uint32_t k : {0u, 2u})
    add_words(shape, members.masked(k, context, shape, std::vector<double>(8, 1.0)), sum);
  const auto total = shape.decode(sum);
  EXPECT_EQ(total.refused, 1u);
  for (const double number : total.numbers) EXPECT_GT(std::abs(number), 1e3);
}

}  // namespace
}  // namespace grove
