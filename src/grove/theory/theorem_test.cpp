#include "grove/theory/theorem.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "grove/network/spectrum.h"
#include "grove/theory/corollary.h"

namespace grove {
namespace {

// Path 0 - 1 - 2 with q = 0 and f_i(x) = h_i x^2 / 2, h = 1, 2, 4:
//   m_f = 1, M_f = 4, largest degree 2.
//   L_u = [1 1 0; 1 2 1; 0 1 1] has eigenvalues 0, 1, 3.
//   L_s + e_0 e_0' = [2 -1 0; -1 2 -1; 0 -1 1] has smallest eigenvalue 2 - 2 cos(pi / 7).
const double sigma = 2 - 2 * std::cos(std::numbers::pi / 7);

Graph path_of_three() {
  return *Graph::from_edges(3, {{AgentId{0}, AgentId{1}}, {AgentId{1}, AgentId{2}}}, "test");
}

TheoremSetting path_setting(double penalty, double theta_penalty) {
  const Graph graph = path_of_three();
  return {.strong_convexity = 1,
          .smoothness = 4,
          .penalty = penalty,
          .theta_penalty = theta_penalty,
          .largest_degree = 2,
          .anchored_min = anchored_laplacian_min(graph, AgentId{0}),
          .unsigned_max = unsigned_laplacian_max(graph),
          .prox = {5, 5, 5},
          .remaining = {0.01, 0.01, 0}};  // c = 0.1, E = 2 at agents 0, 1; agent 2 solves exactly
}

double bound_of(const Rate& rate, const std::string& meaning) {
  for (const RateTerm& term : rate.terms)
    if (term.meaning.starts_with(meaning)) return term.bound;
  return std::nan("");
}

TEST(Theorem, GraphConstantsOfThePathAreThoseWorkedByHand) {
  const TheoremSetting setting = path_setting(2, 1);
  EXPECT_NEAR(setting.anchored_min, sigma, 1e-14);
  EXPECT_NEAR(setting.unsigned_max, 3, 1e-14);
}

// M = 4 + 2*2 + 1 + 5 = 14. With c^E = 0.01 the best xi is 10 - 1 = 9, and
// tau = 196 * (1 + 1/9) * 0.01 / (1 - 10 * 0.01) = 1.96 * (10/9) / 0.9 = 196 / 81.
TEST(Theorem, TauOfThePathIsTheOneWorkedByHand) {
  const TheoremSetting setting = path_setting(2, 1);
  EXPECT_DOUBLE_EQ(model_smoothness(setting), 14);
  EXPECT_DOUBLE_EQ(best_xi(0.01), 9);
  const std::vector<double> tau = residual_weights(setting);
  EXPECT_NEAR(tau[0], 196.0 / 81, 1e-13);
  EXPECT_EQ(tau[2], 0);
  EXPECT_NEAR(residual_weight(0.01, 4), 1.25 * 0.01 / 0.95, 1e-16);  // any xi: the printed formula
  EXPECT_GT(residual_weight(0.01, 8), residual_weight(0.01, 9));
  EXPECT_GT(residual_weight(0.01, 10), residual_weight(0.01, 9));
}

// zeta in (5/8, 5 / (196/81)). At zeta = 1, with mu_z = 2 = 2 mu_theta as the proof assumes:
//   sigma (5 - 196/81) / (5 (196/81 + 25)),  (8/5 - 1) / (5 + 1 (3 + 2)),  (2/5) sigma / 5,
//   sigma / (5 * 3),  1/2
TEST(Theorem, EtaIsThePrintedOneWhereTheProofHolds) {
  const TheoremSetting setting = path_setting(2, 1);
  const ZetaRange zeta = admissible_zeta(setting);
  EXPECT_DOUBLE_EQ(zeta.low, 0.625);
  EXPECT_NEAR(zeta.high, 405.0 / 196, 1e-13);

  const Rate printed = printed_rate(setting, 1), proven = theorem_rate(setting, 1);
  EXPECT_TRUE(printed_rate_applies(setting));
  const double tau = 196.0 / 81;
  EXPECT_NEAR(printed.terms[0].bound, sigma * (5 - tau) / (5 * (tau + 25)), 1e-15);
  EXPECT_NEAR(printed.terms[1].bound, 0.06, 1e-15);
  EXPECT_NEAR(printed.terms[2].bound, 0.08 * sigma, 1e-15);
  EXPECT_NEAR(printed.terms[3].bound, sigma / 15, 1e-15);
  EXPECT_NEAR(printed.eta, 0.00372760137, 1e-11);
  EXPECT_NEAR(proven.eta, printed.eta, 1e-17);
  EXPECT_NEAR(proven.contraction(0.5), 1 - 0.5 * printed.eta / (1 + printed.eta), 1e-15);
}

// The paper's experiments have mu_theta = 2 mu_z. With mu_z = 1: M = 4 + 2 + 2 + 5 = 13,
// tau = 169/81, and the duals' weight is 2 / mu_z = 2, so min(mu_z/2, mu_theta) = 1/2:
//   sigma (5 - tau) / (10 (tau + 25)),  0.6 / (5 + 4 + 3/2),  sigma / 25,
//   z: 2 (1/2) sigma / (5 * 3 * 1) = sigma / 15,  theta: (1/2) sigma / (5 * 2) = sigma / 20
TEST(Theorem, EtaIsSmallerThanPrintedInTheRelationOfTheExperiments) {
  const TheoremSetting setting = path_setting(1, 2);
  EXPECT_FALSE(printed_rate_applies(setting));
  const Rate proven = theorem_rate(setting, 1);
  const double tau = 169.0 / 81;
  EXPECT_NEAR(bound_of(proven, "local work"), sigma * (5 - tau) / (10 * (tau + 25)), 1e-15);
  EXPECT_NEAR(bound_of(proven, "strong convexity"), 0.6 / 10.5, 1e-15);
  EXPECT_NEAR(bound_of(proven, "smoothness"), sigma / 25, 1e-15);
  EXPECT_NEAR(bound_of(proven, "graph: z"), sigma / 15, 1e-15);
  EXPECT_NEAR(bound_of(proven, "graph: theta"), sigma / 20, 1e-15);
  EXPECT_NEAR(printed_rate(setting, 1).eta / proven.eta, 4, 1e-12);
}

// All different: mu_z = 1 = 2 mu_theta, zeta = 2, c^E = 0.01, 1/2500 and 0 at the three agents.
// M = 4 + 2 + 1/2 + 5 = 11.5; tau_0 = 132.25 * 0.01 / 0.81 = 132.25 / 81,
// tau_1 = 132.25 * (1/2500) / (49/50)^2 = 132.25 / 2401. The smallest ratio is agent 0's:
//   first: (1/2) sigma (5 - 2 tau_0) / (5 (tau_0 + 25)),  second: (8/5 - 1/2) / (5 + (1/2)(3 + 2)),
//   third: (2/5)(1/2) sigma / 5,  fourth: sigma / 15
TEST(Theorem, EveryConstantHasItsOwnPlaceInEta) {
  TheoremSetting setting = path_setting(1, 0.5);
  setting.remaining = {0.01, 1.0 / 2500, 0};
  const double tau = 132.25 / 81;
  EXPECT_NEAR(residual_weights(setting)[0], tau, 1e-13);
  EXPECT_NEAR(residual_weights(setting)[1], 132.25 / 2401, 1e-14);
  EXPECT_NEAR(admissible_zeta(setting).high, 5 / tau, 1e-12);
  const Rate printed = printed_rate(setting, 2);
  EXPECT_NEAR(printed.terms[0].bound, 0.5 * sigma * (5 - 2 * tau) / (5 * (tau + 25)), 1e-15);
  EXPECT_NEAR(printed.terms[1].bound, 1.1 / 7.5, 1e-15);
  EXPECT_NEAR(printed.terms[2].bound, sigma / 25, 1e-15);
  EXPECT_NEAR(printed.terms[3].bound, sigma / 15, 1e-15);
  EXPECT_NEAR(theorem_rate(setting, 2).eta, printed.eta, 1e-17);
}

TEST(Theorem, TheBestZetaIsNowhereWorseThanOthers) {
  const TheoremSetting setting = path_setting(2, 1);
  const auto best = best_theorem_rate(setting);
  ASSERT_TRUE(best);
  const ZetaRange range = admissible_zeta(setting);
  for (int k = 1; k < 100; ++k)
    EXPECT_LE(theorem_rate(setting, range.low + (range.high - range.low) * k / 100).eta,
              best->eta * (1 + 1e-9));
}

TEST(Theorem, SaysNothingWithoutStrongConvexityOrLocalContraction) {
  TheoremSetting setting = path_setting(2, 1);
  setting.strong_convexity = 0;
  EXPECT_FALSE(best_theorem_rate(setting));
  EXPECT_FALSE(best_corollary_rate(setting));
  setting = path_setting(2, 1);
  setting.remaining[1] = 1.2;
  EXPECT_FALSE(best_theorem_rate(setting));
}

// Exact local solves everywhere: tau = 0, so the first term is dual sigma / (5 eps) = sigma / 25
// for every zeta, and the second goes to 1.6 / 10 as zeta grows. sigma / 25 is the smallest of all.
TEST(Theorem, WithExactSolvesZetaIsFreeAndEpsAloneDecides) {
  TheoremSetting setting = path_setting(2, 1);
  setting.remaining = {0, 0, 0};
  EXPECT_TRUE(std::isinf(admissible_zeta(setting).high));
  EXPECT_NEAR(theorem_rate(setting, 1e12).terms[1].bound, 0.16, 1e-9);
  const auto best = best_theorem_rate(setting);
  ASSERT_TRUE(best);
  EXPECT_NEAR(best->terms[0].bound, sigma / 25, 1e-15);
  EXPECT_NEAR(best->eta, sigma / 25, 1e-12);
}

// eps = tau + sqrt(tau^2 + tau) at zeta = 1 means tau = eps^2 / (1 + 2 eps): 16/9 for eps = 4.
// M = 4 + 4 + 1 + 4 = 13 there, so c^E / (1 - sqrt(c^E))^2 must be (4 / 39)^2: sqrt(c^E) = 4 / 43.
// The first term of eta is then sigma / (10 eps).
TEST(Corollary, SolvesForTheProxThatItsOwnTauNeeds) {
  TheoremSetting setting = path_setting(2, 1);
  const double remaining = (4.0 / 43) * (4.0 / 43);
  setting.remaining = {remaining, remaining, remaining};
  const auto tuned = corollary_rate(setting, 1);
  ASSERT_TRUE(tuned);
  EXPECT_NEAR(tuned->prox[1], 4, 1e-10);
  EXPECT_NEAR(tuned->residual_weights[1], 16.0 / 9, 1e-10);
  EXPECT_NEAR(tuned->rate.terms[0].bound, sigma / 40, 1e-12);
}

// eps = 2 tau + sqrt(4 tau^2 + tau) at zeta = 2 means tau = eps^2 / (1 + 4 eps): 16/17 for eps = 4.
// With mu_z = 1, mu_theta = 1/2: M = 4 + 2 + 1/2 + 4 = 10.5 there, so sqrt(c^E) / (1 - sqrt(c^E))
// is (4 / sqrt 17) / 10.5. An agent that solves exactly gets eps = 0; one of half that tau, 8/17,
// gets 16/17 + sqrt(256/289 + 8/17).
TEST(Corollary, GivesEveryAgentTheProxOfItsOwnTau) {
  TheoremSetting setting = path_setting(1, 0.5);
  const auto remaining = [](double tau) {
    const double ratio = std::sqrt(tau) / 10.5;
    return ratio * ratio / ((1 + ratio) * (1 + ratio));
  };
  setting.remaining = {remaining(16.0 / 17), remaining(8.0 / 17), 0};
  const auto tuned = corollary_rate(setting, 2);
  ASSERT_TRUE(tuned);
  EXPECT_NEAR(tuned->prox[0], 4, 1e-10);
  EXPECT_NEAR(tuned->prox[1], 16.0 / 17 + std::sqrt(256.0 / 289 + 8.0 / 17), 1e-10);
  EXPECT_EQ(tuned->prox[2], 0);
}

TEST(Corollary, MakesTheFirstTermAsLargeAsItCanBeForItsTau) {
  TheoremSetting setting = path_setting(2, 1);
  const auto tuned = corollary_rate(setting, 1);
  ASSERT_TRUE(tuned);
  const double tau = tuned->residual_weights[0], best = tuned->prox[0];
  const auto first_term = [tau](double eps) { return (eps - tau) / (tau + eps * eps); };
  for (double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0})
    EXPECT_GT(first_term(best), first_term(factor * best));
}

TEST(Corollary, HasNoAnswerWhenLocalWorkIsTooLittle) {
  TheoremSetting setting = path_setting(2, 1);
  setting.remaining = {0.5, 0.5, 0.5};  // eps must outgrow 2 zeta tau > 2 * 5.8 * eps^2
  EXPECT_FALSE(corollary_rate(setting, 1));
}

}  // namespace
}  // namespace grove
