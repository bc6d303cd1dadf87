#include "grove/schedule/schedule.h"

#include <cassert>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "grove/base/text.h"

namespace grove {
namespace {

constexpr int automatic_work = 5;

Error work_error(std::string what) { return Error{"--work", std::move(what)}; }

Result<int> parse_work_load(std::string_view text) {
  const auto load = parse_integer(trim(text));
  if (!load || *load < 1 || *load > std::numeric_limits<int>::max())
    return work_error(
        fmt::format("a work load is a whole number of local steps, at least 1, got `{}`", text));
  return static_cast<int>(*load);
}

Result<double> parse_probability(std::string_view text) {
  const auto probability = parse_double(trim(text));
  if (!probability || !(*probability > 0 && *probability <= 1))  // refuses NaN, too
    return Error{"--participation",
                 fmt::format("expected a probability above 0 and at most 1, got `{}`", text)};
  return *probability;
}

/// Values separated by commas.
template <class Value>
Result<std::vector<Value>> parse_list(std::string_view text,
                                      Result<Value> (*parse)(std::string_view)) {
  std::vector<Value> values;
  for (const std::string_view part : split(text, ',')) {
    const auto value = parse(part);
    if (!value) return value.error();
    values.push_back(*value);
  }
  return values;
}

/// One value for all agents, or as many as there are agents.
template <class Value>
Result<std::vector<Value>> one_or_each(std::vector<Value> values, std::size_t agents,
                                       std::string_view flag) {
  if (values.size() != 1 && values.size() != agents)
    return Error{std::string(flag), fmt::format("expected one value or {} (one per agent), got {}",
                                                agents, values.size())};
  if (values.size() != agents) values.assign(agents, values.front());
  return values;
}

Result<WorkLoads> listed_loads(std::string_view text, bool automatic) {
  auto loads = parse_list<int>(text, parse_work_load);
  if (!loads) return loads.error();
  return WorkLoads{.automatic = automatic, .loads = std::move(*loads)};
}

struct Range {
  int low = 1;
  int high = 1;
};

/// The rest of `uniform:a:b` or `extreme:a:b`.
Result<Range> parse_range(std::string_view text, std::string_view name) {
  const auto parts = split(text, ':');
  if (parts.size() != 2)
    return work_error(
        fmt::format("expected {0}:a:b with two work loads, got `{0}:{1}`", name, text));
  const auto low = parse_work_load(parts[0]), high = parse_work_load(parts[1]);
  if (!low) return low.error();
  if (!high) return high.error();
  if (*low > *high)
    return work_error(fmt::format("expected {0}:a:b with a at most b, got `{0}:{1}`", name, text));
  return Range{*low, *high};
}

std::vector<int> uniform_loads(Range range, std::size_t agents, std::uint64_t seed) {
  std::vector<int> loads(agents);
  const auto values = static_cast<std::uint64_t>(range.high - range.low) + 1;
  for (std::size_t agent = 0; agent < agents; ++agent) {
    KeyedRandom random({.seed = seed, .purpose = Purpose::work_load, .agent = agent});
    loads[agent] = range.low + static_cast<int>(random.below(values));
  }
  return loads;
}

std::vector<int> extreme_loads(Range range, std::size_t agents, std::uint64_t seed) {
  std::vector<int> loads;
  for (const bool low : random_half(agents, {.seed = seed, .purpose = Purpose::work_load}))
    loads.push_back(low ? range.low : range.high);
  return loads;
}

}  // namespace

std::vector<bool> random_half(std::size_t count, const RandomKey& key) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<bool> half(count);
  KeyedRandom random(key);
  for (std::size_t chosen = 0; chosen < count / 2; ++chosen) {
    std::swap(order[chosen], order[chosen + random.below(count - chosen)]);
    half[order[chosen]] = true;
  }
  return half;
}

Result<WorkLoads> WorkLoads::parse(std::string_view text) {
  if (text == "auto") return WorkLoads{.automatic = true, .loads = {automatic_work}};
  if (text.starts_with("auto:")) return listed_loads(text.substr(5), true);
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return listed_loads(text, false);
  const std::string_view name = text.substr(0, colon), rest = text.substr(colon + 1);
  if (name == "equal") {
    const auto load = parse_work_load(rest);
    if (!load) return load.error();
    return WorkLoads{.loads = {*load}};
  }
  if (name != "uniform" && name != "extreme")
    return work_error(fmt::format(
        "expected auto, E, a list, equal:E, uniform:a:b or extreme:a:b, got `{}`", text));
  const auto range = parse_range(rest, name);
  if (!range) return range.error();
  return WorkLoads{.kind = name == "uniform" ? Kind::uniform : Kind::extreme,
                   .low = range->low,
                   .high = range->high};
}

Result<std::vector<int>> make_work_loads(const WorkSpec& spec, std::size_t agents,
                                         std::uint64_t seed) {
  if (!spec.meaning()) return spec.meaning().error();
  const WorkLoads& work = *spec.meaning();
  switch (work.kind) {
    case WorkLoads::Kind::listed:
      break;
    case WorkLoads::Kind::uniform:
      return uniform_loads({work.low, work.high}, agents, seed);
    case WorkLoads::Kind::extreme:
      return extreme_loads({work.low, work.high}, agents, seed);
  }
  return one_or_each(work.loads, agents, "--work");
}

Result<Participation> Participation::parse(std::string_view text) {
  auto probabilities = parse_list<double>(text, parse_probability);
  if (!probabilities) return probabilities.error();
  return Participation{std::move(*probabilities)};
}

Result<std::vector<double>> make_participation(const ParticipationSpec& spec, std::size_t agents) {
  if (!spec.meaning()) return spec.meaning().error();
  return one_or_each(spec.meaning()->probabilities, agents, "--participation");
}

Schedule::Schedule(std::uint64_t seed, std::vector<double> participation,
                   std::vector<int> work_loads)
    : seed_(seed), participation_(std::move(participation)), work_loads_(std::move(work_loads)) {
  assert(participation_.size() == work_loads_.size());
}

std::optional<Activation> Schedule::activation(AgentId agent, Round round) const {
  assert(agent.value < work_loads_.size());
  KeyedRandom random(
      {.seed = seed_, .purpose = Purpose::participation, .agent = agent.value, .round = round});
  if (random.uniform() >= participation_[agent.value]) return std::nullopt;
  return Activation{.round = round, .local_steps = work_loads_[agent.value]};
}

std::optional<std::uint64_t> LinkFaults::draw_delay(std::uint64_t seed, AgentId from, AgentId to,
                                                    Round round) const {
  RandomKey key{.seed = seed,
                .purpose = Purpose::message_loss,
                .agent = from.value,
                .round = round,
                .step = to.value};
  if (KeyedRandom(key).uniform() < loss_rate) return std::nullopt;
  key.purpose = Purpose::message_delay;
  return KeyedRandom(key).below(delay + 1);
}

}  // namespace grove
