#include "robustness/instances.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

namespace robustness {
namespace {

using namespace grove;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed * 7919 + 17) {}

  double uniform(double low = 0, double high = 1) {
    return low + (high - low) * (static_cast<double>(random_() >> 11) * 0x1p-53);
  }
  double normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform());
  }
  bool chance(double probability) { return uniform() < probability; }
  std::size_t between(std::size_t low, std::size_t high) {
    return low + static_cast<std::size_t>(uniform() * static_cast<double>(high - low + 1));
  }
  double power(double low, double high) { return std::pow(10, uniform(low, high)); }

 private:
  std::mt19937_64 random_;
};

void deform_columns(Draw& draw, Instance& instance) {
  oracle::Task& task = instance.task;
  const std::size_t d = task.columns;
  const auto at = [&](std::size_t j, std::size_t k) -> double& { return task.values[j * d + k]; };
  if (d > 2 && draw.chance(0.15)) {
    instance.name += " collinear";
    const std::size_t to = draw.between(0, d - 1), from = (to + 1) % d, other = (to + 2) % d;
    const double share = draw.chance(0.5) ? 0.0 : 1.0;
    for (std::size_t j = 0; j < task.rows; ++j) at(j, to) = at(j, from) + share * at(j, other);
  }
  if (draw.chance(0.1)) {
    instance.name += " constant";
    const std::size_t k = draw.between(0, d - 1);
    const double value = draw.chance(0.3) ? 0.0 : draw.power(-2, 2);
    for (std::size_t j = 0; j < task.rows; ++j) at(j, k) = value;
  }
  if (draw.chance(0.25)) {
    instance.name += " shifted";
    for (std::size_t k = 0; k < d; ++k) {
      const double shift = draw.chance(0.5) ? draw.normal() * draw.power(0, 4) : 0;
      for (std::size_t j = 0; j < task.rows; ++j) at(j, k) += shift;
    }
  }
  if (draw.chance(0.5)) {
    instance.name += " units";
    for (std::size_t k = 0; k < d; ++k) {
      const double unit = draw.power(-6, 6);
      for (std::size_t j = 0; j < task.rows; ++j) at(j, k) *= unit;
    }
  }
  if (draw.chance(0.2)) {
    instance.name += " outlier";
    const std::size_t j = draw.between(0, task.rows - 1);
    const double factor = draw.power(1, 6);
    for (std::size_t k = 0; k < d; ++k) at(j, k) *= factor;
  }
  if (draw.chance(0.15)) {
    instance.name += " sparse";
    for (double& value : task.values)
      if (draw.chance(0.6)) value = 0;
  }
}

void draw_targets(Draw& draw, const std::vector<double>& clean, Instance& instance) {
  oracle::Task& task = instance.task;
  const std::size_t d = task.columns;
  std::vector<double> truth(d);
  for (double& weight : truth) weight = draw.chance(0.3) ? 0 : draw.normal();
  const double noise = draw.power(-2, 0.5), offset = draw.normal() * draw.power(-1, 1);
  const bool regression = task.loss != oracle::LossKind::logistic;
  const double unit = regression && draw.chance(0.2) ? draw.power(-4, 4) : 1;
  if (unit != 1) instance.name += " target-units";
  for (std::size_t j = 0; j < task.rows; ++j) {
    double margin = offset;
    for (std::size_t k = 0; k < d; ++k) margin += clean[j * d + k] * truth[k];
    margin += noise * draw.normal();
    task.targets.push_back(regression ? unit * margin : margin > 0 ? 1 : 0);
  }
  if (!regression) {  // both classes occur
    task.targets[0] = 0;
    task.targets[1] = 1;
    if (draw.chance(0.5))
      for (double& target : task.targets)
        if (draw.chance(0.1)) target = 1 - target;
    task.targets[0] = 0;
    task.targets[1] = 1;
  } else if (draw.chance(0.1)) {
    instance.name += " target-outlier";
    task.targets[draw.between(0, task.rows - 1)] *= draw.power(1, 6);
  }
}

/// Every agent gets a row; the others are dealt evenly, by size or by target.
void deal(Draw& draw, std::size_t agents, Instance& instance) {
  const oracle::Task& task = instance.task;
  const std::size_t kind = draw.between(0, 3);
  std::vector<double> share(agents, 1);
  if (kind == 1)
    for (double& part : share) part = draw.power(-3, 0);
  std::vector<std::size_t> order(task.rows);
  for (std::size_t j = 0; j < task.rows; ++j) order[j] = j;
  for (std::size_t j = task.rows; j-- > 1;) std::swap(order[j], order[draw.between(0, j)]);
  if (kind == 2) {
    instance.name += " sorted";
    std::ranges::stable_sort(order, {}, [&](std::size_t j) { return task.targets[j]; });
  }
  if (kind == 1) instance.name += " skewed";
  double total = 0;
  for (const double part : share) total += part;
  instance.agents.assign(task.rows, 0);
  double filled = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < agents; ++i) {
    filled += share[i] / total;
    const auto left = agents - i - 1;
    auto end = static_cast<std::size_t>(std::lround(filled * static_cast<double>(task.rows)));
    end = std::clamp(end, next + 1, task.rows - left);
    if (left == 0) end = task.rows;
    for (; next < end; ++next) instance.agents[order[next]] = static_cast<std::uint32_t>(i);
  }
}

void draw_options(Draw& draw, std::size_t agents, Instance& instance) {
  oracle::Task& task = instance.task;
  Options& options = instance.options;
  options.agents = agents;
  options.agents_given = true;
  options.threads = 1;
  options.intercept = task.intercept = draw.chance(0.5);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  task.low = -infinity;
  task.high = infinity;
  if (draw.chance(0.5)) task.l2 = draw.power(-6, -1);
  if (draw.chance(0.35)) task.l1 = draw.power(-5, -1);
  if (draw.chance(0.15)) task.low = 0;
  if (draw.chance(0.07)) task.low = -1, task.high = 1;
  options.l1 = task.l1;
  options.l2 = task.l2;
  options.constraint = {task.low, task.high};
  options.weighting = draw.chance(0.3) ? Weighting::sample : Weighting::agent;
  const std::vector<std::string> graphs{"ring", "path", "star", "complete", "erdos-renyi:0.5"};
  options.graph = agents == 2 ? "complete" : graphs[draw.between(0, 4)];
  const std::vector<LinkWeightForm> forms{
      {LinkWeightShape::scalar},
      {LinkWeightShape::diagonal},
      {LinkWeightShape::low_rank, static_cast<Index>(draw.between(1, task.columns))},
      {LinkWeightShape::full}};
  const std::vector<std::string> names{"scalar", "diagonal", "low-rank", "full"};
  if (!draw.chance(0.6)) {
    const std::size_t form = draw.between(0, 3);
    options.penalty = forms[form];
    instance.name += " " + names[form];
  }
}

}  // namespace

Instance draw(std::uint64_t seed) {
  Draw draw(seed);
  Instance instance;
  oracle::Task& task = instance.task;
  const std::size_t agents = draw.between(2, 12);
  const std::size_t kind = draw.between(0, 2);
  task.loss = static_cast<oracle::LossKind>(kind);
  instance.name = std::vector<std::string>{"logistic", "squared", "huber"}[kind];
  task.columns = draw.between(1, draw.chance(0.3) ? 25 : 8);
  task.rows = agents * draw.between(1, draw.chance(0.3) ? 6 : 60) + draw.between(2, 10);
  for (std::size_t k = 0; k < task.rows * task.columns; ++k) task.values.push_back(draw.normal());
  const std::vector<double> clean = task.values;
  deform_columns(draw, instance);
  if (kind == 2) task.delta = draw.chance(0.5) ? 1.35 : draw.power(-2, 1);
  draw_targets(draw, clean, instance);
  deal(draw, agents, instance);
  draw_options(draw, agents, instance);
  if (kind == 0) instance.options.loss = LogisticLoss{};
  if (kind == 1) instance.options.loss = SquaredLoss{};
  if (kind == 2) instance.options.loss = HuberLoss{task.delta};
  std::vector<double> sizes(agents, 0);
  for (const std::uint32_t agent : instance.agents) sizes[agent] += 1;
  for (const std::uint32_t agent : instance.agents)
    task.weights.push_back(instance.options.weighting == Weighting::sample
                               ? 1 / static_cast<double>(task.rows)
                               : 1 / (static_cast<double>(agents) * sizes[agent]));
  instance.name = fmt::format("{} n={} N={} d={}{}{}{}{} {}", instance.name, agents, task.rows,
                              task.columns, task.intercept ? " intercept" : "",
                              task.l1 > 0 ? fmt::format(" l1={:.0e}", task.l1) : "",
                              task.l2 > 0 ? fmt::format(" l2={:.0e}", task.l2) : "",
                              task.low > -1e300 ? " bounds" : "", instance.options.graph.text());
  return instance;
}

}  // namespace robustness
