#include "experiments/participation.h"

#include <limits>

#include <gtest/gtest.h>

namespace grove::experiments {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// At participation 0.4 two of five seeds reach the goal, so that the median is infinite. The limit
// there is 250 / 0.4 = 625 rounds, 250 broadcasts per agent.
TEST(CostFigure, DrawsPointsThatAreNotReachedAsOpenMarkersWithTheNumberOfSeeds) {
  CostFigure figure{.number = 3, .setting = {.title = "t", .rounds = 250}, .seeds = 5};
  figure.lines = {{.name = "line",
                   .participation = {0.2, 0.4, 1},
                   .rounds = {{90, 100, 110}, {500, infinity, infinity}, {50, 60, infinity}},
                   .broadcasts = {{18, 20, 22}, {200, infinity, infinity}, {50, 60, infinity}},
                   .reached = {5, 2, 3}}};
  const Figure drawn = figure.draw();
  ASSERT_EQ(drawn.curves.size(), 1u) << "no line along the limit";
  const Curve& curve = drawn.curves[0];
  ASSERT_EQ(curve.marks.size(), 1u);
  EXPECT_EQ(curve.marks[0].x, 0.4);
  EXPECT_EQ(curve.marks[0].y, 625);
  EXPECT_EQ(curve.marks[0].text, "2 of 5");
  ASSERT_EQ(curve.x.size(), 3u);
  EXPECT_TRUE(std::isnan(curve.y[1])) << "no line bridges the gap";
  EXPECT_EQ(curve.y[2], 60);
  EXPECT_EQ(curve.high[2], 250) << "the limit at full participation";
  figure.number = 2;
  EXPECT_EQ(figure.draw().curves[0].marks[0].y, 250);
}

}  // namespace
}  // namespace grove::experiments
