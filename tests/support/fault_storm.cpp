#include "support/fault_storm.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace grove::testing_support {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;
using Edges = std::vector<Edge>;

/// Random numbers of one instance.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t stream)
      : random_(RandomKey{.seed = seed, .purpose = Purpose::synthetic, .agent = stream}) {}
  double uniform(double low, double high) { return low + (high - low) * random_.uniform(); }
  bool chance(double probability) { return random_.uniform() < probability; }
  std::uint64_t between(std::uint64_t low, std::uint64_t end) {  // end excluded
    return low + random_.below(end - low);
  }
  double normal() { return random_.normal(); }
  Vector normals(Index size) {
    Vector all(size);
    for (double& number : all) number = normal();
    return all;
  }
  double poisson(double mean) {  // by inversion; normal above 500
    if (mean > 500) return std::max(0.0, std::round(mean + std::sqrt(mean) * normal()));
    double count = 0, term = std::exp(-mean), sum = term;
    const double u = random_.uniform();
    while (u > sum && count < 2000) {
      count += 1;
      term *= mean / count;
      sum += term;
    }
    return count;
  }
  template <class Value>
  const Value& pick(const std::vector<Value>& from) {
    return from[between(0, from.size())];
  }

 private:
  KeyedRandom random_;
};

bool connected(const std::vector<std::uint32_t>& nodes, const Edges& edges) {
  if (nodes.empty()) return true;
  std::vector<std::uint32_t> found{nodes.front()};
  const auto inside = [&](std::uint32_t node) {
    return std::ranges::find(nodes, node) != nodes.end();
  };
  for (std::size_t k = 0; k < found.size(); ++k)
    for (const auto& [a, b] : edges)
      for (const auto& [from, to] : {Edge{a, b}, Edge{b, a}})
        if (from == found[k] && inside(to) && std::ranges::find(found, to) == found.end())
          found.push_back(to);
  return found.size() == nodes.size();
}

std::vector<std::uint32_t> all_but(std::vector<std::uint32_t> nodes, std::uint32_t node) {
  std::erase(nodes, node);
  return nodes;
}

Edges random_graph(Dice& dice, std::uint32_t n, double probability) {
  std::vector<std::uint32_t> nodes(n);
  std::iota(nodes.begin(), nodes.end(), 0u);
  for (;;) {
    Edges edges;
    for (std::uint32_t i = 0; i < n; ++i)
      for (std::uint32_t j = i + 1; j < n; ++j)
        if (dice.chance(probability)) edges.emplace_back(i, j);
    if (connected(nodes, edges)) return edges;
  }
}

double sigmoid(double t) { return 0.5 * (1 + std::tanh(0.5 * t)); }

double draw_target(Dice& dice, GlmFamily family, double margin) {
  switch (family) {
    case GlmFamily::logistic:
      return dice.chance(sigmoid(margin)) ? 1 : 0;
    case GlmFamily::poisson:
      return dice.poisson(std::exp(std::clamp(0.4 * margin, -3.0, 3.0)));
    case GlmFamily::squared:
      break;
  }
  return margin + dice.normal();
}

Glms random_parts(Dice& dice, std::uint32_t n, Index d, GlmFamily family) {
  Glms parts;
  const Vector truth = dice.normals(d);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto m = static_cast<Index>(dice.between(10, 60));
    const Vector shift = 0.7 * dice.normals(d);
    GlmObjective::Data data{Matrix(m, d), Vector(m), family, 1e-2};
    for (Index j = 0; j < m; ++j) {
      data.rows.row(j) = dice.normals(d) + shift;
      data.targets[j] = draw_target(dice, family, data.rows.row(j).dot(truth));
    }
    parts.push_back(std::make_shared<GlmObjective>(std::move(data)));
  }
  return parts;
}

/// What happens before which round.
struct Script {
  std::map<std::uint64_t, std::function<void(TreeNetwork&)>> acts;
  std::string description;

  void add(std::uint64_t round, std::string name, std::function<void(TreeNetwork&)> act) {
    while (acts.contains(round)) ++round;
    acts[round] = std::move(act);
    description += fmt::format(" {}@{}", name, round);
  }
};

/// The cast of a storm.
struct Cast {
  std::vector<std::uint32_t> all, live;  ///< live: from the start
  std::optional<std::uint32_t> joiner, leaver;
  Edges edges;  ///< at first
  Edges cut_for_good;
};

void add_fault(Dice& dice, Cast& cast, Script& script) {
  const std::uint64_t round = dice.between(10, 300);
  const std::uint64_t later = round + dice.between(20, 800);
  const std::uint32_t agent = dice.pick(cast.live);
  switch (dice.between(0, 4)) {
    case 0:
      return script.add(round, fmt::format("rollback{}", agent),
                        [=](TreeNetwork& net) { net.roll_back(agent); });
    case 1:
      return script.add(round, fmt::format("lost{}", agent),
                        [=](TreeNetwork& net) { net.lose_state(agent); });
    case 2:
      script.add(round, fmt::format("down{}", agent), [=](TreeNetwork& net) { net.pause(agent); });
      return script.add(later, fmt::format("up{}", agent),
                        [=](TreeNetwork& net) { net.wake(agent); });
    default:
      break;
  }
  const Edge edge = dice.pick(cast.edges);
  script.add(round, fmt::format("cut{}-{}", edge.first, edge.second),
             [=](TreeNetwork& net) { net.cut(edge.first, edge.second); });
  Edges rest = cast.edges;
  std::erase(rest, edge);
  if (dice.chance(0.5) || !connected(cast.all, rest))
    script.add(later, fmt::format("heal{}-{}", edge.first, edge.second),
               [=](TreeNetwork& net) { net.heal(edge.first, edge.second); });
  else
    cast.cut_for_good.push_back(edge);
}

void choose_joiner(Dice& dice, Cast& cast) {
  std::vector<std::uint32_t> able;
  for (const std::uint32_t k : cast.all)
    if (connected(all_but(cast.all, k), cast.edges)) able.push_back(k);
  if (able.empty()) return;
  cast.joiner = dice.pick(able);
  cast.live = all_but(cast.all, *cast.joiner);
}

void add_leaver(Dice& dice, Cast& cast, Script& script) {
  std::vector<std::uint32_t> able;
  for (const std::uint32_t k : cast.live)
    if (connected(all_but(cast.live, k), cast.edges) && connected(all_but(cast.all, k), cast.edges))
      able.push_back(k);
  if (able.empty()) return;
  const std::uint32_t leaver = dice.pick(able);
  cast.leaver = leaver;
  const std::uint64_t round = dice.between(10, 300);
  script.add(round, fmt::format("leave{}", leaver), [=](TreeNetwork& net) { net.leave(leaver); });
  script.add(round + dice.between(5, 200), fmt::format("forget{}", leaver),
             [=](TreeNetwork& net) { net.forget(leaver); });
}

}  // namespace

std::optional<StormOutcome> fault_storm(std::uint64_t seed, HessianWaves hessians, bool masked) {
  constexpr std::uint64_t most_rounds = 8000;
  Dice dice(seed, 1);
  const auto n = static_cast<std::uint32_t>(dice.between(4, 11));
  const auto d = static_cast<Index>(dice.between(2, 7));
  Cast cast{.all = std::vector<std::uint32_t>(n), .edges = random_graph(dice, n, 0.35)};
  std::iota(cast.all.begin(), cast.all.end(), 0u);
  cast.live = cast.all;
  TreeProblem problem{.parts = random_parts(dice, n, d, static_cast<GlmFamily>(seed % 3)),
                      .edges = cast.edges,
                      .l1 = seed / 3 % 2 == 1 ? 1e-2 : 0.0,
                      .masked = masked};
  TreeFaults faults{.seed = seed};
  const double common = dice.uniform(0.1, 1);
  const bool unequal = dice.chance(0.5);
  for (std::uint32_t i = 0; i < n; ++i)
    faults.participation.push_back(unequal ? dice.uniform(0.1, 1) : common);
  faults.loss = dice.uniform(0, 0.5);
  faults.delay = dice.between(0, 11);
  faults.duplicates = dice.uniform(0, 0.3);
  Script script;
  if (dice.chance(0.5)) choose_joiner(dice, cast);
  for (std::uint64_t k = dice.between(1, 5); k > 0; --k) add_fault(dice, cast, script);
  if (dice.chance(0.5)) add_leaver(dice, cast, script);
  if (cast.joiner)
    script.add(dice.between(20, 300), fmt::format("join{}", *cast.joiner),
               [joiner = *cast.joiner](TreeNetwork& net) { net.join(joiner); });
  const auto end = cast.leaver ? all_but(cast.all, *cast.leaver) : cast.all;
  Edges left = cast.edges;
  for (const Edge& edge : cast.cut_for_good) std::erase(left, edge);
  if (!connected(end, left)) return std::nullopt;

  std::set<std::uint32_t> absent;
  if (cast.joiner) absent.insert(*cast.joiner);
  TreeNetwork network(problem,
                      {.tolerance = 1e-8, .hessians = hessians, .intro = seed / 6 % 2 == 1}, faults,
                      absent);
  const std::uint64_t last_act = script.acts.empty() ? 0 : script.acts.rbegin()->first;
  while (network.round() < most_rounds && !(network.finished() && network.round() >= last_act)) {
    if (const auto act = script.acts.find(network.round() + 1); act != script.acts.end())
      act->second(network);
    network.advance();
  }
  Glms parts;
  for (const std::uint32_t i : end) parts.push_back(problem.parts[i]);
  const Vector optimum = glm_optimum(parts, problem.l1);
  StormOutcome outcome{.rounds = network.round(),
                       .description = fmt::format("n {} d {} loss {:.2f} delay {}{}", n, d,
                                                  faults.loss, faults.delay, script.description)};
  for (const TreeNewtonAgent* agent : network.agents()) {
    outcome.squared_error += (agent->estimate() - optimum).squaredNorm() / optimum.squaredNorm() /
                             static_cast<double>(network.agents().size());
    outcome.refused_totals += agent->sums().refused_totals();
  }
  outcome.exact = network.present() == end && network.finished() && outcome.squared_error < 1e-14;
  return outcome;
}

namespace {

/// A hard instance before its rows are dealt to agents.
struct Hard {
  Matrix X;
  Vector y;
  GlmFamily family = GlmFamily::logistic;
  double l1 = 0, l2 = 0;
  Vector start;
  bool sorted = false;
  std::string name;
};

Vector margins_of(const Hard& hard, const Vector& truth) { return hard.X * truth; }

void draw_labels(Dice& dice, const Vector& margins, Vector& y) {
  for (Index j = 0; j < y.size(); ++j) y[j] = dice.chance(sigmoid(margins[j])) ? 1 : 0;
}

void draw_counts(Dice& dice, const Vector& margins, double most, Vector& y) {
  for (Index j = 0; j < y.size(); ++j)
    y[j] = dice.poisson(std::exp(std::clamp(margins[j], -5.0, most)));
}

Hard draw_hard(Dice& dice, std::uint64_t kind, Index rows, Index d) {
  Hard hard{.X = Matrix(rows, d), .y = Vector(rows), .start = Vector::Zero(d)};
  for (Index j = 0; j < rows; ++j) hard.X.row(j) = dice.normals(d);
  hard.X.col(0).setOnes();
  const Vector truth = 3 * dice.normals(d);
  const Vector margins = margins_of(hard, truth);
  const auto separate = [&] { hard.y = (margins.array() > 0).cast<double>(); };
  switch (kind) {
    case 0:
      separate();
      hard.l2 = std::pow(10, dice.uniform(-8, -5));
      hard.sorted = true;
      hard.name = "separable, l2 1e-8..1e-5, sorted";
      break;
    case 1:
      draw_labels(dice, margins, hard.y);
      hard.y.head(3).array() = 1 - hard.y.head(3).array();
      hard.l2 = 1e-8;
      hard.start = std::pow(10, dice.uniform(1, 2)) * dice.normals(d);
      hard.name = "far start |x| 10..100, l2 1e-8";
      break;
    case 2:
      for (Index k = 1; k < d; ++k) hard.X.col(k) *= std::pow(10, dice.uniform(-3, 3));
      draw_labels(dice, Vector::Constant(rows, std::log(0.3 / 0.7)), hard.y);
      hard.l2 = 1e-10;
      hard.sorted = true;
      hard.start =
          5 * dice.normals(d).cwiseQuotient(hard.X.cwiseAbs().colwise().maxCoeff().transpose());
      hard.name = "columns 1e-3..1e3, sorted";
      break;
    case 3:
      hard.family = GlmFamily::poisson;
      draw_counts(dice, margins, 8, hard.y);
      hard.l2 = 1e-6;
      hard.name = "Poisson counts to e^8";
      break;
    case 4:
      hard.family = GlmFamily::poisson;
      draw_counts(dice, margins, 4, hard.y);
      hard.l2 = 1e-6;
      hard.start = 8 * dice.normals(d);
      hard.name = "Poisson far start";
      break;
    case 5:
      hard.family = GlmFamily::poisson;
      draw_counts(dice, margins, 6, hard.y);
      hard.sorted = true;
      hard.start[0] = -20;
      hard.l2 = 1e-6;
      hard.name = "Poisson start e^-20, sorted";
      break;
    case 6:
      separate();
      hard.l1 = std::pow(10, dice.uniform(-5, -3));
      hard.sorted = true;
      hard.name = "separable, l1 1e-5..1e-3, sorted";
      break;
    default:
      draw_labels(dice, 0.3 * margins, hard.y);
      hard.X.row(static_cast<Index>(dice.between(0, static_cast<std::uint64_t>(rows)))) *= 1000;
      hard.l2 = 1e-6;
      hard.start = dice.normals(d);
      hard.name = "one row times 1000";
  }
  return hard;
}

/// Dealt in blocks, sorted by target where that makes it harder.
Glms deal(Dice& dice, const Hard& hard, Index m) {
  std::vector<Index> order(static_cast<std::size_t>(hard.y.size()));
  std::iota(order.begin(), order.end(), Index{0});
  if (hard.sorted)
    std::ranges::stable_sort(order, {}, [&](Index j) { return hard.y[j]; });
  else
    for (std::size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1], order[dice.between(0, k)]);
  Glms parts;
  for (std::size_t first = 0; first < order.size(); first += static_cast<std::size_t>(m)) {
    GlmObjective::Data data{Matrix(m, hard.X.cols()), Vector(m), hard.family, hard.l2};
    for (Index j = 0; j < m; ++j) {
      data.rows.row(j) = hard.X.row(order[first + static_cast<std::size_t>(j)]);
      data.targets[j] = hard.y[order[first + static_cast<std::size_t>(j)]];
    }
    parts.push_back(std::make_shared<GlmObjective>(std::move(data)));
  }
  return parts;
}

}  // namespace

HardOutcome hard_instance(std::uint64_t seed, const TreeNewtonOptions& options, bool masked) {
  constexpr std::uint64_t most_rounds = 1500;
  Dice dice(seed, 2);
  const auto n = static_cast<std::uint32_t>(dice.between(3, 8));
  const auto d = static_cast<Index>(dice.between(2, 8));
  const Edges edges = random_graph(dice, n, 0.4);
  const auto m = static_cast<Index>(dice.between(8, 40));
  const Hard hard = draw_hard(dice, seed % 8, static_cast<Index>(n) * m, d);
  const Glms parts = deal(dice, hard, m);
  TreeNetwork network(
      {.parts = parts, .edges = edges, .l1 = hard.l1, .start = hard.start, .masked = masked},
      options);
  while (!network.finished() && network.round() < most_rounds) network.advance();
  const Vector answer = network.agents()[0]->estimate();
  const double found = glm_value(parts, hard.l1, answer);
  const double best = std::min(glm_value(parts, hard.l1, glm_optimum(parts, hard.l1)), found);
  return {.finished = network.finished(),
          .gap = (found - best) / std::max(std::abs(best), 1e-6),
          .waves = network.agents()[0]->sums().wave().id.number(),
          .kind = hard.name};
}

}  // namespace grove::testing_support
