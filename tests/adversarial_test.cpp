// Asynchronous agents in a network with every kind of fault: unequal speeds, loss, delay,
// duplication, overtaking, crashes with rollback, cuts. Every seed is another network; a failing
// seed is printed and replays exactly with GROVE_ADVERSARIAL_SEED=seed.

#include <cstdlib>

#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>

#include "grove/base/test_seeds.h"
#include "grove/runtime/event_simulator.h"
#include "support/network.h"

namespace grove::testing_support {
namespace {

constexpr double trouble_seconds = 100;  ///< virtual; faults but loss and delay end here
constexpr double total_seconds = 700;

double between(KeyedRandom& random, double low, double high) {
  return low + (high - low) * random.uniform();
}

/// A network of its own for each seed.
EventOptions drawn_faults(std::uint64_t seed, std::size_t agents) {
  KeyedRandom random({.seed = seed, .purpose = Purpose::participation});
  EventOptions options{.seed = seed,
                       .latency = between(random, 0.01, 1),
                       .jitter = between(random, 0, 0.9),
                       .loss_rate = between(random, 0, 0.3),
                       .duplicate_rate = between(random, 0, 0.3),
                       .patience = between(random, 0.5, 3),
                       .checkpoint_every = 1 + static_cast<int>(random.below(20))};
  for (std::size_t i = 0; i < agents; ++i) options.speeds.push_back(between(random, 1, 10));
  const auto agent = [&] { return AgentId{static_cast<std::uint32_t>(random.below(agents))}; };
  for (std::uint64_t crash = random.below(5); crash > 0; --crash)
    options.crashes.push_back(
        {agent(), between(random, 0, trouble_seconds), between(random, 0.1, 20)});
  for (std::uint64_t cut = random.below(3); cut > 0; --cut) {
    const double from = between(random, 0, trouble_seconds);
    options.cuts.push_back({from, between(random, from, trouble_seconds), {agent(), agent()}});
  }
  return options;
}

struct Trial {
  Problem problem = make_problem({.agents = 5,
                                  .samples = 30,
                                  .features = 3,
                                  .terms = {.loss = SquaredLoss{}, .l2 = 0.1},
                                  .l1 = 0.05});
  Instance instance = problem.instance();
  Vector optimum = problem.prepared().reference->x;

  /// max_i |x_i - x*| / |x*| at the end.
  double error(const MethodCase& method, std::uint64_t seed) const {
    EventSimulator simulator(make_agents_of(method, instance), instance.graph,
                             std::vector<int>(instance.agents(), 1),
                             drawn_faults(seed, instance.agents()));
    simulator.run_until(total_seconds);
    double largest = 0;
    for (const auto& agent : simulator.agents())
      largest = std::max(largest, (agent->estimate() - optimum).norm() / optimum.norm());
    return largest;
  }
};

MethodCase published(LinkWeightForm form) { return {"", default_druid(form, LinkKind::edge), 1}; }

/// Agents that sum over a tree.
MethodCase summing(bool masked) {
  return {"", FactoryOptions{*Method::tree_newton.factory(), {.masked_sums = masked}}, 1};
}

struct WeightingCase {
  const char* name;
  MethodCase method;
  std::uint64_t seeds;  ///< a seed takes several times as long with published weights
};

class AdversarialNetwork : public testing::TestWithParam<WeightingCase> {};
const DruidOptions fixed_penalty{
    .coupling = {.kind = LinkKind::edge, .weighting = FixedPenalty{.mu = 0.3}},
    .prox = 0.2,
    .theta_penalty = 0.6};
INSTANTIATE_TEST_SUITE_P(
    , AdversarialNetwork,
    testing::Values(WeightingCase{"FixedPenalty", {"", fixed_penalty, 1}, 2000},
                    WeightingCase{"Diagonal", published({LinkWeightShape::diagonal}), 200},
                    WeightingCase{"LowRank", published({LinkWeightShape::low_rank, 1}), 200},
                    WeightingCase{"Full", published({LinkWeightShape::full}), 500},
                    WeightingCase{"TreeNewton", summing(false), 2000},
                    WeightingCase{"MaskedTreeNewton", summing(true), 500}),
    [](const auto& given) { return given.param.name; });

TEST_P(AdversarialNetwork, NeverKeepsTheAgentsFromTheOptimum) {
  const Trial trial;
  ASSERT_LT(optimality_violation(trial.problem, trial.optimum), 1e-11);
  if (const char* replayed = std::getenv("GROVE_ADVERSARIAL_SEED")) {
    EXPECT_LT(trial.error(GetParam().method, std::strtoull(replayed, nullptr, 10)), 1e-8)
        << "seed " << replayed;
    return;
  }
  std::vector<double> errors(seeds_to_run(GetParam().seeds));
  tbb::parallel_for(std::size_t{0}, errors.size(),
                    [&](std::size_t k) { errors[k] = trial.error(GetParam().method, k + 1); });
  for (std::size_t k = 0; k < errors.size(); ++k)
    EXPECT_LT(errors[k], 1e-8) << "replay with GROVE_ADVERSARIAL_SEED=" << k + 1;
}

TEST_P(AdversarialNetwork, ReplaysExactlyFromItsSeed) {
  const Trial trial;
  EXPECT_EQ(trial.error(GetParam().method, 17), trial.error(GetParam().method, 17));
}

}  // namespace
}  // namespace grove::testing_support
