// Properties over random graphs, shards and schedules. A failure prints the seed and the smallest
// counter-example found.

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "grove/coupling/coupling.h"
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

/// Couplings without agents: in a round the active ones move to new random points.
class BareNetwork {
 public:
  BareNetwork(LinkKind kind, double penalty, Graph graph, Index dimension)
      : graph_(std::move(graph)), x_(graph_.agents(), Vector::Zero(dimension)) {
    const CouplingOptions options{.kind = kind, .weighting = FixedPenalty{penalty}};
    for (std::uint32_t i = 0; i < graph_.agents(); ++i)
      couplings_.push_back(make_coupling(options, x_[i], graph_.degree(AgentId{i})));
  }

  void play(Round round, const std::vector<bool>& active) {
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (active[i]) x_[i] = any_vector(x_[i].size());
    exchange(round, active);
  }

  /// A round in which everyone is active and moves to x.
  void meet_at(const Vector& x, Round round) {
    for (Vector& position : x_) position = x;
    exchange(round, std::vector<bool>(x_.size(), true));
  }

  /// Sum over all agents of the gradient of the coupling, every agent being at x.
  Vector total_gradient(const Vector& x) const {
    Vector sum = Vector::Zero(x.size());
    for (const auto& coupling : couplings_) coupling->add_gradient(x, sum);
    return sum;
  }

 private:
  void exchange(Round round, const std::vector<bool>& active) {
    for (std::size_t i = 0; i < x_.size(); ++i)
      if (active[i]) couplings_[i]->prepare_messages(x_[i]);
    for (const auto& [a, b] : graph_.edges()) {
      if (active[a.value]) deliver(a, b, round);
      if (active[b.value]) deliver(b, a, round);
    }
    for (std::size_t i = 0; i < x_.size(); ++i) couplings_[i]->end_round(x_[i], active[i]);
  }

  void deliver(AgentId from, AgentId to, Round round) {
    Message message{.sender = from, .sequence = round};
    couplings_[from.value]->fill_message(graph_.slot_of(from, to), x_[from.value], message);
    couplings_[to.value]->receive(graph_.slot_of(to, from), message, x_[to.value]);
  }

  Graph graph_;
  std::vector<Vector> x_;
  std::vector<std::unique_ptr<Coupling>> couplings_;
};

std::vector<bool> anyone(std::size_t agents) {
  std::vector<bool> active(agents);
  for (std::size_t i = 0; i < agents; ++i) active[i] = *rc::gen::inRange(0, 2) == 1;
  return active;
}

/// Plays some rounds with anyone active, then one in which all agents are at the same point.
Vector total_gradient_after_meeting(LinkKind kind) {
  const auto agents = static_cast<std::size_t>(*rc::gen::inRange(2, 8));
  const Index dimension = *rc::gen::inRange(1, 4);
  BareNetwork network(kind, any_double(0.1, 2), any_graph(agents), dimension);
  const int rounds = *rc::gen::inRange(0, 15);
  for (int round = 1; round <= rounds; ++round)
    network.play(static_cast<Round>(round), anyone(agents));
  const Vector x = any_vector(dimension);
  network.meet_at(x, 100);
  return network.total_gradient(x);
}

// The duals of the two ends of a link stay opposite whoever was active. Once everyone is at x, so
// is z_ij, and the gradients are the duals alone: they cancel. The printed asynchronous rule does
// not have this property.
RC_GTEST_PROP(BroadcastCoupling, GradientsCancelAtACommonPointWhoeverWasActive, ()) {
  RC_ASSERT(total_gradient_after_meeting(LinkKind::broadcast).norm() < 1e-11);
}

// The same with edge coupling: when both ends of a link are at x and receive each other's message,
// the new gradient at one end is mu x - (u_ij + 2 mu x - u_ji) / 2, so that the two add up to zero.
RC_GTEST_PROP(EdgeCoupling, GradientsCancelOnceEveryoneHasSentTheSamePoint, ()) {
  RC_ASSERT(total_gradient_after_meeting(LinkKind::edge).norm() < 1e-11);
}

/// Unit Newton steps are safe without further damping on a quadratic only. Where the Hessian may
/// vanish within a step (Huber) they can cycle for ever unless eps_i covers the Hessian.
double safe_prox(const Problem& problem, const Instance& instance) {
  double prox = 0.5;
  if (std::holds_alternative<SquaredLoss>(problem.terms.loss)) return prox;
  for (const auto& objective : instance.objectives) prox = std::max(prox, objective->smoothness());
  return prox;
}

// Whatever the graph, the shards, the loss, the work loads and the participation: augmented
// DRUID-VL with damping of the order of the Hessian ends at the optimum of the whole problem.
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
  const LinkKind kind = *rc::gen::element(LinkKind::broadcast, LinkKind::edge);
  const MethodCase druid{"",
                         DruidOptions{.coupling = {.kind = kind, .weighting = FixedPenalty{0.3}},
                                      .prox = safe_prox(problem, prepared.instance),
                                      .theta_penalty = 0.6}};
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
      DruidOptions{.coupling = {.kind = LinkKind::edge, .weighting = FixedPenalty{0.3}},
                   .prox = 0.5,
                   .theta_penalty = 0.6,
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
