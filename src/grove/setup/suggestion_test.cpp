#include "grove/setup/suggestion.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

const std::vector<std::string> known = {"l1", "l2", "penalty", "rounds", "batch-gradient"};

TEST(Suggestion, NamesTheSettingThatOtherProgramsCallDifferently) {
  EXPECT_EQ(suggestion("lambda", known, "--"), "; did you mean --l1 or --l2?");
  EXPECT_EQ(suggestion("max_iter", known), "; did you mean rounds?");
  EXPECT_EQ(suggestion("epsilon", known), "") << "neither prox nor tolerance is known here";
}

TEST(Suggestion, NamesTheNearestSpelling) {
  EXPECT_EQ(suggestion("penalti", known), "; did you mean penalty?");
  EXPECT_EQ(suggestion("Batch_Gradient", known), "; did you mean batch-gradient?");
  EXPECT_EQ(suggestion("zzzzzz", known), "");
}

}  // namespace
}  // namespace grove
