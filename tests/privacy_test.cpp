// Differential privacy: what one row may change, how much noise there is, what a member answers,
// and what comes of it.

#include <cmath>

#include <gtest/gtest.h>

#include "grove/base/random.h"
#include "grove/methods/private_newton.h"
#include "grove/network/topology.h"
#include "grove/runtime/simulator.h"
#include "grove/train/run.h"
#include "support/glm_objective.h"

namespace grove::testing_support {
namespace {

/// Agents without noise, unless options say so, on a graph.
class PrivateNetwork {
 public:
  PrivateNetwork(const std::vector<std::shared_ptr<const Objective>>& parts,
                 const std::string& graph, const PrivateNewtonOptions& options,
                 const Regularizer& regularizer, std::uint64_t seed = 1, LinkFaults faults = {},
                 double participation = 1) {
    const Graph drawn = *make_graph(graph, parts.size(), 1);
    std::vector<std::unique_ptr<Agent>> agents;
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
      AgentContext context{.id = AgentId{i},
                           .seed = seed,
                           .neighbours = {},
                           .objective = parts[i],
                           .regularizer = regularizer,
                           .network_size = parts.size(),
                           .start = Vector::Zero(parts[i]->dimension())};
      for (const AgentId id : drawn.neighbours(AgentId{i})) context.neighbours.push_back({id});
      PrivateNewtonOptions own = options;
      own.noise = simulated_noise(seed, AgentId{i});
      own.masks = simulated_masks(seed, AgentId{i});
      agents.push_back(std::make_unique<PrivateNewtonAgent>(own, std::move(context)));
    }
    simulator_.emplace(std::move(agents), drawn,
                       Schedule(seed, std::vector<double>(parts.size(), participation),
                                std::vector<int>(parts.size(), 1)),
                       SimulatorOptions{.seed = seed, .faults = faults, .threads = 1});
  }
  void run(Round most) {
    while (!finished() && simulator_->round() < most) simulator_->advance();
    EXPECT_TRUE(finished()) << "after " << most << " rounds";
  }
  const PrivateNewtonAgent& agent(std::size_t k) const {
    return dynamic_cast<const PrivateNewtonAgent&>(*simulator_->agents()[k]);
  }

 private:
  bool finished() const {
    for (std::size_t k = 0; k < simulator_->agents().size(); ++k)
      if (!agent(k).finished()) return false;
    return true;
  }
  std::optional<Simulator> simulator_;
};

GlmObjective::Data logistic_rows(std::uint64_t agent, double length) {
  KeyedRandom random({.seed = 3, .purpose = Purpose::synthetic, .agent = agent});
  GlmObjective::Data data{Matrix(30, 4), Vector(30), GlmFamily::logistic, 1e-3};
  for (Index row = 0; row < 30; ++row) {
    for (Index column = 0; column < 4; ++column) data.rows(row, column) = random.normal();
    data.rows.row(row) *= length / data.rows.row(row).norm();
    data.targets[row] = random.uniform() < 0.5 + 0.3 * data.rows(row, 1) / length ? 1 : 0;
  }
  return data;
}

/// The optimum is that of another program, in tests/support.
TEST(PrivateNewton, WithoutNoiseEndsAtTheOptimumUnderFaults) {
  Glms glms;
  std::vector<std::shared_ptr<const Objective>> parts;
  for (std::uint64_t k = 0; k < 5; ++k) {
    glms.push_back(std::make_shared<GlmObjective>(logistic_rows(k, 2)));
    parts.push_back(glms.back());
  }
  for (const double l1 : {0.0, 0.02}) {
    const Vector optimum = glm_optimum(glms, l1);
    for (const double participation : {1.0, 0.5}) {
      PrivateNetwork network(parts, "ring", {.steps = 200, .row_bound = 2},
                             {.l1 = l1, .regularized = 4}, 1, {.loss_rate = 0.2, .delay = 2},
                             participation);
      network.run(60'000);
      for (std::size_t k = 0; k < 5; ++k) {
        EXPECT_LT((network.agent(k).estimate() - optimum).norm(), 1e-6 * optimum.norm()) << l1;
        EXPECT_LE(network.agent(k).gradients_given(), 200);
      }
    }
  }
}

/// Rows of all lengths are shortened. Leaving any one out changes the gradient, at any point, and
/// the Hessian at zero by no more than the noise was made for, and by nearly as much somewhere.
TEST(PrivateNewton, ARowChangesSumsByAtMostItsWeight) {
  constexpr Index rows = 12, features = 3;
  constexpr double bound = 1.5;
  KeyedRandom random({.seed = 4, .purpose = Purpose::synthetic});
  Samples samples{DenseRows(rows, features), Vector(rows)};
  auto& dense = std::get<DenseRows>(samples.features);
  for (Index row = 0; row < rows; ++row) {
    for (Index column = 0; column < features; ++column) dense(row, column) = random.normal();
    dense.row(row) *= std::pow(10.0, 6 * random.uniform() - 2);
    samples.targets[row] = row % 2 == 0 ? 1 : 0;
  }
  shorten_rows(samples, bound);
  const double length = bound_with_intercept(bound, true);
  const auto sums_without = [&](Index left_out, const Vector& x) {
    ShardTerms terms{.intercept = true, .weights = Vector::Ones(rows)};
    if (left_out >= 0) terms.weights[left_out] = 0;
    Samples copy = samples;
    const auto objective = make_shard_objective(std::move(copy), terms);
    ObjectiveScratch scratch;
    Vector gradient;
    Matrix hessian;
    objective->evaluate(x, Batch::all(), &gradient, nullptr, scratch);
    objective->evaluate(Vector::Zero(x.size()), Batch::all(), nullptr, &hessian, scratch);
    return std::pair(gradient, hessian);
  };
  const double weight = 1.0 / rows;
  double largest = 0;
  for (int draw = 0; draw < 20; ++draw) {
    Vector x(features + 1);
    for (double& number : x) number = 10 * random.normal();
    const auto [gradient, hessian] = sums_without(-1, x);
    for (Index row = 0; row < rows; ++row) {
      const auto [less_gradient, less_hessian] = sums_without(row, x);
      const double change = (gradient - less_gradient).norm() / length;
      largest = std::max(largest, change);
      EXPECT_LE(change, weight * (1 + 1e-12));
      EXPECT_LE((hessian - less_hessian).norm() / (length * length), 0.25 * weight * (1 + 1e-12));
    }
  }
  EXPECT_GT(largest, 0.9 * weight);
}

/// f_k = c |x|^2 / 2 without noise in the curvature: one gradient with noise moves the answer by
/// the noise over c. Its variance is what was asked for, times n/(n-1), because the noise of the
/// n-1 others alone has to be enough.
TEST(PrivateNewton, ATotalHasTheNoiseOfAllMembersButOne) {
  constexpr Index d = 4;
  constexpr double c = 0.5, deviation = 0.3, bound = 2;
  constexpr int draws = 1500;
  for (const std::size_t members : {3u, 5u}) {
    GlmObjective::Data empty{Matrix::Zero(1, d), Vector::Zero(1), GlmFamily::logistic, c};
    const std::vector<std::shared_ptr<const Objective>> parts(
        members, std::make_shared<GlmObjective>(empty));
    double squares = 0;
    for (int draw = 0; draw < draws; ++draw) {
      PrivateNetwork network(parts, "path",
                             {.steps = 1, .row_bound = bound, .gradient_deviation = deviation},
                             {.regularized = d}, static_cast<std::uint64_t>(draw));
      network.run(200);
      squares += network.agent(0).estimate().squaredNorm();
    }
    const double n = static_cast<double>(members);
    const double expected = std::pow(bound * deviation / (c * n), 2) * n / (n - 1);
    const double spread = std::sqrt(2.0 / (draws * d));
    EXPECT_NEAR(squares / (draws * d) / expected, 1, 5 * spread) << members;
  }
}

/// The noise that a promise needs, by its definition: the squares of mu of all answers add up.
TEST(PrivateNewton, SpendsWhatWasPromised) {
  for (const int steps : {2, 50, 1000}) {
    const auto options = private_newton_options({1, 1e-6}, steps, 0.01, 5, 0.25);
    const double mu_gradient = 0.01 / options.gradient_deviation;
    const double mu_curvature = 0.25 * 0.01 / options.curvature_deviation;
    const double mu = std::sqrt(steps * mu_gradient * mu_gradient + mu_curvature * mu_curvature);
    EXPECT_NEAR(epsilon_of(mu, 1e-6), 1, 1e-6);
  }
}

Config private_run(const char* promise) {
  Config config;
  config.data = "synthetic:ijcnn-like,samples=3000";
  config.agents = 6;
  config.graph = "ring";
  config.l2 = 1e-3;
  config.intercept = true;
  config.weighting = Weighting::sample;
  config.method = Method::tree_newton;
  config.sums = SumsKind::masked;
  config.dp = promise;
  config.rounds = 2000;
  config.threads = 1;
  return config;
}

TEST(PrivateRun, IsTheCloserTheLessIsPromised) {
  double last = 1e9;
  for (const char* promise : {"epsilon=0.05,delta=1e-6,bound=3", "epsilon=1,delta=1e-6,bound=3",
                              "epsilon=50,delta=1e-6,bound=3,steps=150"}) {
    const auto record = run(private_run(promise));
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_EQ(record->outcome.status, RunStatus::budget_spent) << record->outcome.detail;
    EXPECT_FALSE(record->outcome.gap_bound);
    EXPECT_LT(record->trace.back().consensus_error, 1e-12);
    const double gap = *record->trace.back().objective_gap;
    EXPECT_LT(gap, last / 2) << promise;
    last = gap;
  }
  EXPECT_LT(last, 1e-3);
}

TEST(PrivateRun, SaysWhatThePromiseNeeds) {
  const auto refusal = [](auto change) {
    Config config = private_run("epsilon=1,delta=1e-6,bound=3");
    change(config);
    const auto record = run(config);
    return record ? std::string("ran") : record.error().text();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_PRED2(has,
               refusal([](Config& c) { c.method = Method::druid_vl, c.sums = SumsKind::open; }),
               "--dp: needs --method tree-newton");
  EXPECT_PRED2(has, refusal([](Config& c) { c.loss = SquaredLoss{}; }), "needs --loss logistic");
  EXPECT_PRED2(has, refusal([](Config& c) { c.weighting = Weighting::agent; }),
               "needs --weighting sample");
  EXPECT_PRED2(has, refusal([](Config& c) { c.sums = SumsKind::open; }), "needs --sums masked");
  EXPECT_PRED2(has, refusal([](Config& c) { c.free_running = true; }), "--free-running");
  EXPECT_PRED2(has, refusal([](Config& c) { c.checkpoint = "x"; }), "--checkpoint");
  EXPECT_PRED2(has,
               refusal([](Config& c) { c.data = "synthetic:gaussian,samples=60,features=301"; }),
               "at most 300");
}

TEST(PrivacySpec, IsReadWhole) {
  const PrivacySpec spec("epsilon=0.5, delta=1e-7, bound=2.5, steps=80");
  ASSERT_TRUE(spec.meaning());
  EXPECT_EQ(spec.meaning()->epsilon, 0.5);
  EXPECT_EQ(spec.meaning()->delta, 1e-7);
  EXPECT_EQ(spec.meaning()->bound, 2.5);
  EXPECT_EQ(spec.meaning()->steps, 80);
  for (const char* bad :
       {"epsilon=1", "epsilon=1,delta=0,bound=1", "epsilon=0,delta=1e-6,bound=1",
        "epsilon=1,delta=1e-6,bound=-1", "epsilon=1,delta=1e-6,bound=1,steps=1.5",
        "epsilon=1,delta=1e-6,bound=1,bound=2", "epsilon=nan,delta=1e-6,bound=1",
        "epsilon=1,delta=1e-6,bound=inf", "eps=1,delta=1e-6,bound=1", "epsilon,delta,bound", ","})
    EXPECT_FALSE(PrivacySpec(bad).meaning()) << bad;
}

}  // namespace
}  // namespace grove::testing_support
