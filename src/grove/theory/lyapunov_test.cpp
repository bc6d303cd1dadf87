#include "grove/theory/lyapunov.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

Graph path_of_three() {
  return *Graph::from_edges(3, {{AgentId{0}, AgentId{1}}, {AgentId{1}, AgentId{2}}}, "test");
}

Vector scalar(double value) { return Vector::Constant(1, value); }

// f_i = (x - a_i)^2 / 2 with a = (0, 0, 3): x* = 1, gradients (1, 1, -2). Without r:
//   alpha_01 = -1, -alpha_01 + alpha_12 = -1 so alpha_12 = -2, and -alpha_12 = 2 closes it.
TEST(Lyapunov, TheSaddlePointOfThreeQuadraticsIsTheOneWorkedByHand) {
  const std::vector<Vector> gradients = {scalar(1), scalar(1), scalar(-2)};
  const NetworkState best = optimal_state(path_of_three(), scalar(1), gradients, std::nullopt);
  EXPECT_NEAR(best.alpha[0][0], -1, 1e-14);
  EXPECT_NEAR(best.alpha[1][0], -2, 1e-14);
  EXPECT_FALSE(best.theta);
}

// With r = |x| / 3 and n = 3, sum f_i + 3 r has x* = 2/3: gradients (2/3, 2/3, -7/3) sum to -1,
// so lambda* = 1 = n r'(x*) at q = 0; then alpha_01 = -2/3 - 1 = -5/3, alpha_12 = -7/3.
TEST(Lyapunov, TheMultiplierOfTheRegularizerBalancesTheGradients) {
  const std::vector<Vector> gradients = {scalar(2.0 / 3), scalar(2.0 / 3), scalar(-7.0 / 3)};
  const NetworkState best = optimal_state(path_of_three(), scalar(2.0 / 3), gradients, AgentId{0});
  EXPECT_NEAR((*best.lambda)[0], 1, 1e-14);
  EXPECT_NEAR(best.alpha[0][0], -5.0 / 3, 1e-14);
  EXPECT_NEAR(best.alpha[1][0], -7.0 / 3, 1e-14);
}

// mu_z = 2, mu_theta = 4, eps = (1, 2, 3); x = (1, 2, 4), alpha = (1, 0), theta = 2, lambda = 6,
// all measured from 0:
//   x: 1 + 8 + 48 = 57;  z = (1.5, 3): 4 (2.25 + 9) = 45;  alpha: (2/2) 1 = 1;
//   theta: 4 * 4 = 16;  lambda: 36 / 4 = 9.   Sum 128.
TEST(Lyapunov, WeighsEveryPartAsTheTheoremDoes) {
  const Graph graph = path_of_three();
  LyapunovWeights weights{.penalty = 2,
                          .theta_penalty = 4,
                          .prox = {1, 2, 3},
                          .participation = {1, 1, 1},
                          .holder = AgentId{0}};
  const NetworkState zero = start_state(graph, scalar(0), true);
  NetworkState state = zero;
  state.x = {scalar(1), scalar(2), scalar(4)};
  state.z = {scalar(1.5), scalar(3)};
  state.alpha[0] = scalar(1);
  state.theta = scalar(2);
  state.lambda = scalar(6);
  EXPECT_DOUBLE_EQ(lyapunov(graph, weights, state, zero), 128);

  // p = (1, 1/2, 1/2): x gives 1 + 16 + 96, link 1-2 has 1 - 1/4 = 3/4, so 4 * 9 / 0.75 = 48.
  weights.participation = {1, 0.5, 0.5};
  EXPECT_DOUBLE_EQ(lyapunov(graph, weights, state, zero), 113 + (9 + 1) + 48 + 25);
}

// One round with everyone active: alpha += (mu/2)(x_i - x_j), lambda += mu_theta (x_q - theta), and
// z = (x_i + x_j)/2. Then agent 2 alone moves from 4 to 5: z of its link goes halfway from 3 to 5,
// and alpha by mu times as much.
TEST(Lyapunov, FollowsTheDualsOfActiveLinksOnly) {
  const Graph graph = path_of_three();
  const LyapunovWeights weights{
      .penalty = 2, .theta_penalty = 4, .prox = {0, 0, 0}, .participation = {1, 1, 1}};
  NetworkState state = start_state(graph, scalar(0), true);
  const Vector theta = scalar(0.5);
  follow_round(graph, weights, {scalar(1), scalar(2), scalar(4)}, &theta, {true, true, true},
               state);
  EXPECT_EQ(state.alpha[0][0], -1);
  EXPECT_EQ(state.alpha[1][0], -2);
  EXPECT_EQ((*state.lambda)[0], 2);
  follow_round(graph, weights, {scalar(1), scalar(2), scalar(5)}, &theta, {false, false, true},
               state);
  EXPECT_EQ(state.alpha[0][0], -1);
  EXPECT_EQ(state.alpha[1][0], -4);
  EXPECT_EQ(state.z[0][0], 1.5);
  EXPECT_EQ(state.z[1][0], 4);
  EXPECT_EQ((*state.lambda)[0], 2);
}

}  // namespace
}  // namespace grove
