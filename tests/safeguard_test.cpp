// Safeguards that act, each within bounds: links that prove too soft are raised, and curvatures are
// told anew only so often.

#include <gtest/gtest.h>

#include "grove/coupling/curvature.h"
#include "grove/setup/method_setup.h"
#include "support/network.h"

namespace grove::testing_support {
namespace {

/// Two cliques joined by one link: hops from agent 0 say that the network is three links deep, but
/// news passes the one link a 24th at a time.
Problem dumbbell() {
  constexpr std::uint32_t clique = 12;
  Problem problem =
      make_problem({.agents = 2 * clique, .samples = std::size_t{60} * clique, .features = 4});
  std::vector<std::pair<unsigned, unsigned>> edges{{clique - 1, clique}};
  for (const unsigned first : {0u, clique})
    for (unsigned i = 0; i < clique; ++i)
      for (unsigned j = i + 1; j < clique; ++j) edges.emplace_back(first + i, first + j);
  problem.graph = graph_of(2 * clique, edges);
  return problem;
}

struct Ending {
  Round rounds = 0;                   ///< until the error was below 1e-10 of its scale; 1500: never
  std::vector<std::uint32_t> raised;  ///< agents that raised their links, once for every time
};

Ending play(const Problem& problem, bool balance_residuals, LinkKind link = LinkKind::broadcast,
            double loss_rate = 0) {
  const Instance instance = problem.instance();
  const Vector optimum = problem.prepared().reference->x;
  EXPECT_LT(optimality_violation(problem, optimum), 1e-10);
  Config config;
  config.agents = problem.agents();
  config.link = link;
  MethodSetup setup = *set_up_method(config, instance);
  for (MethodOptions& options : setup.options)
    std::get<CurvatureDruidOptions>(options).balance_residuals = balance_residuals;
  Simulator simulator(make_agents(instance, setup), instance.graph,
                      Schedule(1, setup.participation, setup.work_loads),
                      {.faults = {.loss_rate = loss_rate}, .threads = 1});
  const double scale = static_cast<double>(problem.agents()) * optimum.squaredNorm();
  while (squared_distance(simulator.agents(), optimum) > 1e-10 * scale && simulator.round() < 1500)
    simulator.advance();
  Ending ending{.rounds = simulator.round()};
  for (std::uint32_t i = 0; i < problem.agents(); ++i)
    ending.raised.insert(ending.raised.end(), simulator.agents()[i]->events().size(), i);
  return ending;
}

TEST(StallSafeguard, RaisesTheLinksAtABottleneckSoThatTheRunConverges) {
  for (const LinkKind link : {LinkKind::broadcast, LinkKind::edge}) {
    const Ending without = play(dumbbell(), false, link), with = play(dumbbell(), true, link);
    EXPECT_TRUE(without.raised.empty());
    EXPECT_LT(2 * with.rounds, without.rounds) << with.rounds << " and " << without.rounds;
    EXPECT_FALSE(with.raised.empty());
    for (const std::uint32_t agent : with.raised) EXPECT_TRUE(agent == 11 || agent == 12) << agent;
  }
}

// With a tenth of the messages lost, all of an agent's twelve neighbours are heard only every few
// rounds, and what it moves meanwhile counts: the watch acts later, but it acts. With a fifth lost
// it does not.
TEST(StallSafeguard, RaisesLinksUnderLossToo) {
  const Ending without = play(dumbbell(), false, LinkKind::edge, 0.1);
  const Ending with = play(dumbbell(), true, LinkKind::edge, 0.1);
  EXPECT_LT(with.rounds, without.rounds);
  EXPECT_FALSE(with.raised.empty());
  for (const std::uint32_t agent : with.raised) EXPECT_TRUE(agent == 11 || agent == 12) << agent;
}

TEST(StallSafeguard, LeavesRunsAloneThatMakeProgress) {
  for (const char* graph : {"ring", "star", "complete", "path"}) {
    const Problem problem =
        make_problem({.agents = 12, .samples = 240, .features = 4, .graph = graph});
    for (const LinkKind link : {LinkKind::broadcast, LinkKind::edge}) {
      const Ending without = play(problem, false, link), with = play(problem, true, link);
      EXPECT_TRUE(with.raised.empty()) << graph;
      EXPECT_EQ(with.rounds, without.rounds) << graph;
    }
  }
}

/// f(x) = 500 x^2 right of zero and x^2 / 2 left of it: a thousand times as stiff on one side.
class Lopsided final : public Objective {
 public:
  Index dimension() const override { return 1; }
  Index samples() const override { return 1; }
  double evaluate(const Vector& x, Batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch&) const override {
    const double h = x[0] > 0 ? 1000 : 1;
    if (gradient) *gradient = h * x;
    if (hessian) *hessian = Matrix::Constant(1, 1, h);
    return 0.5 * h * x[0] * x[0];
  }
  double evaluate_curvatures(const Vector&, Batch, Vector*, std::span<double>,
                             ObjectiveScratch&) const override {
    return 0;
  }
  void weighted_hessian_times(std::span<const double>, Batch, const Vector&, Vector&,
                              ObjectiveScratch&) const override {}
  double smoothness() const override { return 1000; }
};

// A neighbour that sits now far on one side and now far on the other drags the agent back and forth
// over the kink, so that every Hessian contradicts the one before. The limit on their ratio starts
// at 3 and passes 1000 after so many times that they fit into the first half of the run.
TEST(CurvatureRefresh, ComesToAnEndWhateverTheHessianDoes) {
  const CurvatureForm form{CurvatureShape::full};
  CurvatureDruidAgent agent(
      {.form = form, .stop_when_quadratic = false, .balance_residuals = false},
      {.id = AgentId{0},
       .neighbours = {{AgentId{1}}},
       .objective = std::make_shared<Lopsided>(),
       .regularizer = {.regularized = 1},
       .network_size = 2,
       .start = Vector::Constant(1, 1.0)});
  Workspace workspace;
  const auto hear = [&](double x, bool with_curvature, std::uint64_t sequence) {
    std::vector<double> said{NetworkDepth(false, 2).word(), x};
    if (with_curvature) Curvature(form, Matrix::Constant(1, 1, 10)).append_words(said);
    agent.receive(0, {AgentId{1}, sequence, said});
  };
  constexpr int half = 12000;
  int told[2] = {0, 0};
  std::uint64_t bytes = 0;
  for (int k = 1; k <= 2 * half; ++k) {
    agent.activate({.round = static_cast<Round>(k), .local_steps = 3}, workspace);
    const std::uint64_t sent = agent.cost().bytes_sent - bytes;
    bytes += sent;
    told[k <= half ? 0 : 1] += sent > 2 * sizeof(double);  // depth and x_i are always there
    hear(k % 2 == 0 ? 1e3 : -1e3, k == 1, static_cast<std::uint64_t>(k));
    agent.end_round();
  }
  EXPECT_GT(told[0], 20) << "the Hessian was to contradict itself";
  EXPECT_EQ(told[1], 0);
}

}  // namespace
}  // namespace grove::testing_support
