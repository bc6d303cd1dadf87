#include "grove/schedule/machine_options.h"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "grove/base/random.h"
#include "grove/base/text.h"
#include "grove/schedule/schedule.h"

namespace grove {
namespace {

/// What one of the two options takes.
struct Quantity {
  std::string flag;
  std::string expected;  ///< of one value
  std::string forms;     ///< of the whole option
  Purpose purpose;
  bool zero_allowed;
  bool list_allowed;

  Error error(std::string what) const { return {flag, std::move(what)}; }

  Result<double> parse(std::string_view text) const {
    const auto value = parse_double(trim(text));
    if (!value || !std::isfinite(*value) || !(*value > 0 || (zero_allowed && *value == 0)))
      return error(fmt::format("expected {}, got `{}`", expected, text));
    return *value;
  }
};

const Quantity speed{.flag = "--speeds",
                     .expected = "a speed above 0",
                     .forms = "a speed, a list, uniform:A:B or extreme:A:B",
                     .purpose = Purpose::machine_speed,
                     .zero_allowed = false,
                     .list_allowed = true};
const Quantity latency{.flag = "--latency",
                       .expected = "seconds, at least 0",
                       .forms = "seconds, uniform:A:B or extreme:A:B",
                       .purpose = Purpose::link_latency,
                       .zero_allowed = true,
                       .list_allowed = false};

Result<std::vector<double>> make_list(const Quantity& quantity, std::string_view description,
                                      std::size_t count) {
  const auto parts = split(description, ',');
  if (parts.size() > 1 && !quantity.list_allowed)
    return quantity.error(fmt::format("expected {}, got `{}`", quantity.forms, description));
  if (parts.size() > 1 && parts.size() != count)
    return quantity.error(
        fmt::format("expected one value or {} (one per agent), got {}", count, parts.size()));
  std::vector<double> values;
  for (const std::string_view part : parts) {
    const auto value = quantity.parse(part);
    if (!value) return value.error();
    values.push_back(*value);
  }
  if (values.size() == 1) values.assign(count, values.front());
  return values;
}

Result<std::vector<double>> make_values(const Quantity& quantity, std::string_view description,
                                        std::size_t count, std::uint64_t seed) {
  const auto parts = split(description, ':');
  if (parts.size() == 1) return make_list(quantity, description, count);
  const bool uniform = parts[0] == "uniform";
  if (parts.size() != 3 || (!uniform && parts[0] != "extreme"))
    return quantity.error(fmt::format("expected {}, got `{}`", quantity.forms, description));
  const auto low = quantity.parse(parts[1]), high = quantity.parse(parts[2]);
  if (!low) return low.error();
  if (!high) return high.error();
  if (*low > *high)
    return quantity.error(
        fmt::format("expected {}:A:B with A at most B, got `{}`", parts[0], description));
  const RandomKey key{.seed = seed, .purpose = quantity.purpose};
  std::vector<double> values(count);
  const std::vector<bool> is_low = uniform ? std::vector<bool>() : random_half(count, key);
  for (std::size_t k = 0; k < count; ++k) {
    RandomKey own = key;
    own.agent = k;
    values[k] =
        uniform ? *low + (*high - *low) * KeyedRandom(own).uniform() : (is_low[k] ? *low : *high);
  }
  return values;
}

}  // namespace

Result<std::vector<double>> make_speeds(std::string_view description, std::size_t agents,
                                        std::uint64_t seed) {
  return make_values(speed, description, agents, seed);
}

Result<std::vector<double>> make_latencies(std::string_view description, std::size_t links,
                                           std::uint64_t seed) {
  return make_values(latency, description, links, seed);
}

}  // namespace grove
