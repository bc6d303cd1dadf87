// Properties over random graphs, shards and schedules. A failure prints the seed and the smallest
// counter-example found.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <set>

#include "grove/coupling/links.h"
#include "support/network.h"

namespace grove::testing_support {
namespace {

double any_double(double low, double high) {
  return low + (high - low) * 1e-6 * *rc::gen::inRange(0, 1000001);
}

Vector any_vector(Index size) {
  Vector result(size);
  for (double& value : result) value = any_double(-3, 3);
  return result;
}

/// A random tree plus random chords: connected by construction.
Graph any_graph(std::size_t agents) {
  std::set<std::pair<unsigned, unsigned>> edges;
  for (unsigned i = 1; i < agents; ++i) edges.emplace(*rc::gen::inRange(0u, i), i);
  for (int chord = *rc::gen::inRange(0, 5); chord > 0; --chord) {
    const unsigned i = *rc::gen::inRange(0u, static_cast<unsigned>(agents));
    const unsigned j = *rc::gen::inRange(0u, static_cast<unsigned>(agents));
    if (i != j) edges.emplace(std::min(i, j), std::max(i, j));
  }
  return graph_of(agents, {edges.begin(), edges.end()});
}

/// Strongly convex: unequal shards of random rows, an l2 weight, often an l1 weight.
Problem any_problem(std::size_t agents, Index features) {
  const Loss loss =
      *rc::gen::elementOf(std::vector<Loss>{LogisticLoss{}, SquaredLoss{}, HuberLoss{0.7}});
  Problem problem{.graph = any_graph(agents),
                  .shards = {},
                  .terms = {.loss = loss, .l2 = any_double(0.1, 0.5)},
                  .regularizer = {.l1 = *rc::gen::elementOf(std::vector<double>{0, 0.02, 0.1}),
                                  .regularized = features}};
  for (std::size_t i = 0; i < agents; ++i) {
    const Index rows = *rc::gen::inRange(1, 9);
    Samples shard{DenseRows(rows, features), Vector(rows)};
    for (Index j = 0; j < rows; ++j) {
      std::get<DenseRows>(shard.features).row(j) = 0.5 * any_vector(features).transpose();
      shard.targets[j] = is_classification(loss) ? *rc::gen::inRange(0, 2) : any_double(-2, 2);
    }
    problem.shards.push_back(shard);
  }
  return problem;
}

/// One lock-step round of bare links: the active agents step to new random points.
class BareNetwork {
 public:
  BareNetwork(LinkKind kind, Graph graph, Index dimension, const std::vector<double>& penalties)
      : graph_(std::move(graph)), x_(graph_.agents(), Vector::Zero(dimension)) {
    for (std::uint32_t i = 0; i < graph_.agents(); ++i) {
      LinkOptions options{.kind = kind, .penalties = {}};
      for (const AgentId j : graph_.neighbours(AgentId{i}))
        options.penalties.push_back(penalty_between(penalties, AgentId{i}, j));
      links_.push_back(make_links(std::move(options), x_[i]));
    }
  }

  void play(Round round, const std::vector<bool>& active) {
    for (std::uint32_t i = 0; i < x_.size(); ++i) {
      if (!active[i]) continue;
      x_[i] = any_vector(x_[i].size());
      links_[i]->speak(x_[i]);
    }
    for (const auto& [a, b] : graph_.edges()) {
      if (active[a.value]) tell(a, b, round);
      if (active[b.value]) tell(b, a, round);
    }
    for (std::uint32_t i = 0; i < x_.size(); ++i) links_[i]->end_round(x_[i], active[i]);
  }

  /// sum_i of the pull at agent i when all stand at the same x.
  Vector total_pull(const Vector& x) const {
    Vector sum = Vector::Zero(x.size());
    for (const auto& links : links_) links->add_pull(x, sum);
    return sum;
  }

  /// As after a round in which everyone said x.
  void meet_at(const Vector& x, Round round) {
    for (Vector& position : x_) position = x;
    for (auto& links : links_) links->speak(x);
    for (const auto& [a, b] : graph_.edges()) {
      tell(a, b, round);
      tell(b, a, round);
    }
  }

 private:
  double penalty_between(const std::vector<double>& penalties, AgentId i, AgentId j) const {
    const auto edges = graph_.edges();
    const auto edge = std::ranges::find(edges, Edge{std::min(i, j), std::max(i, j)});
    return penalties[static_cast<std::size_t>(edge - edges.begin()) % penalties.size()];
  }

  void tell(AgentId from, AgentId to, Round round) {
    const auto slot_at = [&](AgentId at, AgentId of) {
      const auto list = graph_.neighbours(at);
      return static_cast<std::size_t>(std::ranges::find(list, of) - list.begin());
    };
    const auto& speaker = links_[from.value];
    links_[to.value]->receive(slot_at(to, from),
                              {.from = from,
                               .sequence = round,
                               .payload = speaker->payload_to(slot_at(from, to), x_[from.value])});
  }

  Graph graph_;
  std::vector<Vector> x_;
  std::vector<std::unique_ptr<Links>> links_;
};

std::vector<bool> anyone(std::size_t agents) {
  std::vector<bool> active(agents);
  for (std::size_t i = 0; i < agents; ++i) active[i] = *rc::gen::inRange(0, 2) == 1;
  return active;
}

// sum_i phi_i = 0 whoever was active: at a common point the pulls of broadcast links, which are
// then the phi_i alone, cancel. This is what the printed asynchronous rule loses.
RC_GTEST_PROP(BroadcastLinks, PullsCancelAtACommonPointWhoeverWasActive, ()) {
  const auto agents = static_cast<std::size_t>(*rc::gen::inRange(2, 8));
  const Index dimension = *rc::gen::inRange(1, 4);
  BareNetwork network(LinkKind::broadcast, any_graph(agents), dimension,
                      {any_double(0.1, 2), any_double(0.1, 2), any_double(0.1, 2)});
  const int rounds = *rc::gen::inRange(0, 15);
  for (int round = 1; round <= rounds; ++round)
    network.play(static_cast<Round>(round), anyone(agents));
  const Vector x = any_vector(dimension);
  network.meet_at(x, 100);
  RC_ASSERT(network.total_pull(x).norm() < 1e-11);
}

// The edge form of the same: when both ends of an edge stand at x and hear each other, the new pull
// at one end is mu x - (u_ij + 2 mu x - u_ji) / 2, so that the two ends add up to zero.
RC_GTEST_PROP(EdgeLinks, PullsCancelOnceEveryoneHasSaidTheSame, ()) {
  const auto agents = static_cast<std::size_t>(*rc::gen::inRange(2, 8));
  const Index dimension = *rc::gen::inRange(1, 4);
  BareNetwork network(LinkKind::edge, any_graph(agents), dimension,
                      {any_double(0.1, 2), any_double(0.1, 2)});
  const int rounds = *rc::gen::inRange(0, 15);
  for (int round = 1; round <= rounds; ++round)
    network.play(static_cast<Round>(round), anyone(agents));
  const Vector x = any_vector(dimension);
  network.meet_at(x, 100);
  RC_ASSERT(network.total_pull(x).norm() < 1e-11);
}

/// Unit Newton steps are safe without further damping on a quadratic only. Where the curvature may
/// vanish within a step (Huber) they can cycle for ever unless eps_i covers the curvature.
double safe_prox(const Problem& problem, const Instance& instance) {
  double prox = 0.5;
  if (std::holds_alternative<SquaredLoss>(problem.terms.loss)) return prox;
  for (const auto& objective : instance.objectives) prox = std::max(prox, objective->smoothness());
  return prox;
}

// Whatever the graph, the shards, the loss, the work loads and the participation: augmented
// DRUID-VL with damping of the order of the curvature ends at the optimum of the whole problem.
RC_GTEST_PROP(DruidVl, ConvergesOnEveryStronglyConvexInstance, ()) {
  const auto agents = static_cast<std::size_t>(*rc::gen::inRange(1, 7));
  const Problem problem = any_problem(agents, *rc::gen::inRange(1, 4));
  const PreparedProblem prepared = problem.prepared();
  RC_ASSERT(optimality_violation(problem, prepared.reference->x) < 1e-10);

  std::vector<double> participation;
  std::vector<int> work;
  for (std::size_t i = 0; i < agents; ++i) {
    participation.push_back(any_double(0.3, 1));
    work.push_back(*rc::gen::inRange(1, 6));
  }
  const LinkKind link = *rc::gen::element(LinkKind::broadcast, LinkKind::edge);
  const MethodCase druid{"", DruidOptions{.link = link,
                                          .penalty = 0.3,
                                          .theta_penalty = 0.6,
                                          .prox = safe_prox(problem, prepared.instance)}};
  Simulator simulator(make_agents_of(druid, prepared.instance), problem.graph,
                      Schedule(*rc::gen::arbitrary<std::uint32_t>(), participation, work),
                      {.threads = 1});
  const Vector& optimum = prepared.reference->x;
  double error = 1;
  while (error > 1e-14 && simulator.round() < 20000) {
    for (int round = 0; round < 20; ++round) simulator.advance();
    error = squared_distance(simulator.agents(), optimum) / static_cast<double>(agents);
  }
  RC_ASSERT(error <= 1e-14);
}

// A run is a pure function of the seed: threads, and what other agents do in between, play no part.
RC_GTEST_PROP(Simulator, TheNumberOfThreadsDoesNotMatter, ()) {
  const auto agents = static_cast<std::size_t>(*rc::gen::inRange(2, 9));
  const Problem problem = any_problem(agents, 3);
  const Instance instance = problem.instance();
  const MethodCase druid{
      "",
      DruidOptions{.link = LinkKind::edge,
                   .penalty = 0.3,
                   .theta_penalty = 0.6,
                   .prox = 0.5,
                   .solver = NewtonSteps{MiniBatches{.gradient = 2, .hessian = 3}}},
      3};
  SimulationOptions options{.participation = 0.6,
                            .faults = {.loss_rate = 0.2, .delay = 3},
                            .seed = *rc::gen::arbitrary<std::uint32_t>()};
  Simulator one = simulate(druid, instance, options);
  options.threads = 3;
  Simulator three = simulate(druid, instance, options);
  for (int round = 0; round < 10; ++round) {
    one.advance();
    three.advance();
  }
  for (std::size_t i = 0; i < agents; ++i)
    RC_ASSERT(state_of(*one.agents()[i]) == state_of(*three.agents()[i]));
}

}  // namespace
}  // namespace grove::testing_support
