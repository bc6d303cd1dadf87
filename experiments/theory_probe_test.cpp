#include "experiments/theory_probe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace grove::experiments {
namespace {

/// Least squares on a random graph, random penalties in any relation to each other.
Config random_quadratic() {
  Config config;
  config.loss = SquaredLoss{};
  config.data = fmt::format("synthetic:gaussian,samples={},features={},condition=4",
                            *rc::gen::inRange(120, 200), *rc::gen::inRange(2, 5));
  config.agents = *rc::gen::inRange<std::uint64_t>(2, 7);
  config.graph = "erdos-renyi:0.6";
  config.seed = *rc::gen::inRange<std::uint64_t>(1, 100'000);
  config.l1 = *rc::gen::element(0.0, 1e-3, 0.1);
  config.l2 = 0.3;
  const auto some = [](double unit) { return unit * *rc::gen::inRange(1, 40) / 10; };
  config.penalty = some(0.3);
  config.theta_penalty = some(0.3);
  config.prox = some(0.3);
  config.rounds = 25;
  config.threads = 1;
  return config;
}

/// Largest V(t+1) / V(t) while V is far from rounding.
double worst_early(const TheoryReport& report) {
  double worst = 0;
  for (std::size_t t = 1; t < report.lyapunov.size(); ++t)
    if (report.lyapunov[t - 1] > 1e-9 * report.lyapunov[0])
      worst = std::max(worst, report.lyapunov[t] / report.lyapunov[t - 1]);
  return worst;
}

// One Newton step solves a quadratic sub-problem exactly: tau = 0.
RC_GTEST_PROP(TheoremOne, LyapunovContractsAsPredictedWithExactLocalSolves, ()) {
  Config config = random_quadratic();
  config.method = Method::druid_vl;
  config.work = "2";
  const auto report = examine(config);
  RC_ASSERT(bool(report));
  RC_ASSERT(report->rate.has_value());
  RC_ASSERT(report->lyapunov.size() > 2);
  RC_ASSERT(*std::ranges::max_element(report->setting.remaining) == 0);
  RC_ASSERT(worst_early(*report) <= report->rate->contraction() * (1 + 1e-10));
}

// One gradient step leaves the share (h / s)^2 of the squared distance, s being the stiffness:
// tau > 0, and admissible when eps is large against M_f^2 / m_f.
RC_GTEST_PROP(TheoremOne, LyapunovContractsAsPredictedWithInexactLocalSolves, ()) {
  Config config = random_quadratic();
  config.method = Method::druid_gd;
  config.prox = 1.0 * *rc::gen::inRange(60, 200);
  const auto report = examine(config);
  RC_ASSERT(bool(report));
  RC_ASSERT(*std::ranges::max_element(report->setting.remaining) > 0);
  RC_ASSERT(report->rate.has_value());
  RC_ASSERT(worst_early(*report) <= report->rate->contraction() * (1 + 1e-10));
}

Config small_path() {
  Config config;
  config.loss = SquaredLoss{};
  config.data = "synthetic:gaussian,samples=90,features=3";
  config.agents = 3;
  config.graph = "path";
  config.l1 = 0.01;
  config.l2 = 0.25;
  config.penalty = 0.5;
  config.theta_penalty = 0.25;
  config.rounds = 40;
  return config;
}

// f_i = ((x - a_i)^2 + l2 x^2) / 2 on a path, worked apart in lyapunov_test and theorem_test; here:
// the constants that examine() collects from a run are the ones that can be seen in the data.
TEST(Theory, ConstantsOfLeastSquaresAreTheEigenvaluesOfItsHessians) {
  const Config config = small_path();
  const auto problem = prepare(config);
  ASSERT_TRUE(problem);
  const auto report = examine(config, *problem);
  ASSERT_TRUE(report) << report.error().text();
  double smoothness = 0;
  for (const auto& objective : problem->instance.objectives)
    smoothness = std::max(smoothness, objective->smoothness());
  EXPECT_NEAR(report->setting.smoothness, smoothness, 1e-6 * smoothness);
  EXPECT_GT(report->setting.strong_convexity, 0.25);
  EXPECT_EQ(report->setting.largest_degree, 2);
  EXPECT_NEAR(report->setting.unsigned_max, 3, 1e-12);
  EXPECT_TRUE(report->violations.empty()) << report->violations.front();
  ASSERT_TRUE(report->rate && report->printed);
  EXPECT_NEAR(report->rate->eta, report->printed->eta, 1e-15);  // mu_z = 2 mu_theta
  EXPECT_NE(text_of(*report).find("<- decides"), std::string::npos);
}

std::string all_violations(const TheoryReport& report) {
  std::string text;
  for (const std::string& violation : report.violations) text += violation + "\n";
  return text;
}

TEST(Theory, NamesWhatAnInstanceViolates) {
  Config config;
  config.data = "synthetic:gaussian,samples=12,features=8";  // fewer samples than agents * features
  config.agents = 3;
  config.graph = "path";
  config.rounds = 10;
  config.participation = "0.5";
  const auto separable = examine(config);
  ASSERT_TRUE(separable) << separable.error().text();
  const std::string text = all_violations(*separable);
  EXPECT_NE(text.find("no positive strong convexity that holds everywhere"), std::string::npos);
  EXPECT_NE(text.find("m_f = 0"), std::string::npos);
  EXPECT_NE(text.find("separable"), std::string::npos);
  EXPECT_NE(text.find("partial participation"), std::string::npos);
  EXPECT_FALSE(separable->rate);

  config.method = Method::p2d2;
  config.participation = "1";
  const auto other = examine(config);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().where, "--method");
}

TEST(Theory, SaysWhichStrongConvexityHoldsEverywhere) {
  Config config = small_path();
  config.loss = LogisticLoss{};
  const auto report = examine(config);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_EQ(report->strong_convexity_everywhere, 0.25);
  EXPECT_NE(all_violations(*report).find("everywhere only m_f = l2 = 0.25"), std::string::npos);
}

TEST(Theory, GivesNoRateForWhatItHasNotSeen) {
  Config config = small_path();
  config.rounds = 0;
  const auto unplayed = examine(config);
  ASSERT_TRUE(unplayed) << unplayed.error().text();
  EXPECT_FALSE(unplayed->rate || unplayed->tuned);
  EXPECT_NE(all_violations(*unplayed).find("never active"), std::string::npos);
  EXPECT_NE(text_of(*unplayed).find("no round was run"), std::string::npos);

  config = small_path();
  config.no_reference = true;
  const std::string text = all_violations(*examine(config));
  EXPECT_NE(text.find("--no-reference"), std::string::npos);
  EXPECT_EQ(text.find("separable"), std::string::npos);
}

TEST(Theory, GivesNoRateToOneAgentAloneOrToEigenvaluesThatAreRounding) {
  Config config = small_path();
  config.agents = 1;
  config.l1 = 0;
  const auto alone = examine(config);
  ASSERT_TRUE(alone) << alone.error().text();
  EXPECT_FALSE(alone->rate || alone->tuned);
  EXPECT_NE(all_violations(*alone).find("neither links nor theta"), std::string::npos);

  config.data = "synthetic:gaussian,samples=7,features=8";  // rank 7: an eigenvalue of 0, rounded
  config.l1 = 0.01;
  config.l2 = 0;
  const auto singular = examine(config);
  ASSERT_TRUE(singular) << singular.error().text();
  EXPECT_EQ(singular->setting.strong_convexity, 0);
  EXPECT_FALSE(singular->rate || singular->tuned);
  EXPECT_NE(text_of(*singular).find("Corollary 1: no rate; for the same reason"),
            std::string::npos);
}

// Squared loss: the Hessian is the same everywhere, so its mean diagonal can be worked out from
// gradients; a path of 3 has 4/3 links an agent.
TEST(Theory, SaysWhichNumberItTookForAuto) {
  Config config = small_path();
  config.penalty = {};
  config.rounds = 3;
  const auto problem = prepare(config);
  ASSERT_TRUE(problem);
  const Objective& mean = *problem->instance.mean;
  ObjectiveScratch scratch;
  const Vector start = problem->instance.start();
  Vector at_start, beside;
  mean.evaluate(start, Batch::all(), &at_start, nullptr, scratch);
  double trace = 0;
  for (Index k = 0; k < start.size(); ++k) {
    mean.evaluate(start + Vector::Unit(start.size(), k), Batch::all(), &beside, nullptr, scratch);
    trace += beside[k] - at_start[k];
  }
  const auto report = examine(config, *problem);
  ASSERT_TRUE(report) << report.error().text();
  const double expected = trace / static_cast<double>(start.size()) / 4 / (4.0 / 3);
  EXPECT_NEAR(report->setting.penalty, expected, 1e-9 * expected);
  EXPECT_NE(text_of(*report).find("--penalty auto"), std::string::npos);

  config.penalty = 0.5;
  const auto given = examine(config, *problem);
  ASSERT_TRUE(given);
  EXPECT_EQ(given->setting.penalty, 0.5);
  EXPECT_EQ(text_of(*given).find("--penalty auto"), std::string::npos);
}

TEST(Theory, NamesARunThatDiverges) {
  Config config = small_path();
  config.l1 = 0;
  config.local_model = LocalModelKind::linearized;
  config.work = "10";
  config.penalty = 20;
  config.prox = 0.5;
  config.rounds = 1000;
  const auto report = examine(config);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_NE(all_violations(*report).find("diverged"), std::string::npos);
}

TEST(Theory, LinearizedStepsAreSaidNotToAimAtTheSubProblem) {
  Config config = small_path();
  config.l1 = 0;
  config.penalty = 2;
  config.prox = 0.5;
  config.work = "10";
  config.rounds = 5;
  config.local_model = LocalModelKind::linearized;
  const auto report = examine(config);
  ASSERT_TRUE(report) << report.error().text();
  EXPECT_NE(all_violations(*report).find("linearized local steps"), std::string::npos);
  EXPECT_FALSE(report->linearized.guaranteed);
}

}  // namespace
}  // namespace grove::experiments
