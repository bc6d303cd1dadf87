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

Result<MachineValues> parse_list(const Quantity& quantity, std::string_view text) {
  const auto parts = split(text, ',');
  if (parts.size() > 1 && !quantity.list_allowed)
    return quantity.error(fmt::format("expected {}, got `{}`", quantity.forms, text));
  MachineValues result;
  for (const std::string_view part : parts) {
    const auto value = quantity.parse(part);
    if (!value) return value.error();
    result.values.push_back(*value);
  }
  return result;
}

Result<MachineValues> parse_values(const Quantity& quantity, std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() == 1) return parse_list(quantity, text);
  const bool uniform = parts[0] == "uniform";
  if (parts.size() != 3 || (!uniform && parts[0] != "extreme"))
    return quantity.error(fmt::format("expected {}, got `{}`", quantity.forms, text));
  const auto low = quantity.parse(parts[1]), high = quantity.parse(parts[2]);
  if (!low) return low.error();
  if (!high) return high.error();
  if (*low > *high)
    return quantity.error(
        fmt::format("expected {}:A:B with A at most B, got `{}`", parts[0], text));
  using Kind = MachineValues::Kind;
  return MachineValues{.kind = uniform ? Kind::uniform : Kind::extreme, .low = *low, .high = *high};
}

Result<std::vector<double>> make_values(const Quantity& quantity, const MachineValues& given,
                                        std::size_t count, std::uint64_t seed) {
  const RandomKey key{.seed = seed, .purpose = quantity.purpose};
  std::vector<double> values(count);
  switch (given.kind) {
    case MachineValues::Kind::listed:
      if (given.values.size() == 1) return std::vector<double>(count, given.values.front());
      if (given.values.size() == count) return given.values;
      return quantity.error(fmt::format("expected one value or {} (one per agent), got {}", count,
                                        given.values.size()));
    case MachineValues::Kind::uniform:
      for (std::size_t k = 0; k < count; ++k) {
        RandomKey own = key;
        own.agent = k;
        values[k] = given.low + (given.high - given.low) * KeyedRandom(own).uniform();
      }
      return values;
    case MachineValues::Kind::extreme:
      break;
  }
  const std::vector<bool> is_low = random_half(count, key);
  for (std::size_t k = 0; k < count; ++k) values[k] = is_low[k] ? given.low : given.high;
  return values;
}

}  // namespace

Result<Speeds> Speeds::parse(std::string_view text) {
  auto values = parse_values(speed, text.empty() ? "1" : text);
  if (!values) return values.error();
  return Speeds{std::move(*values)};
}

Result<Latencies> Latencies::parse(std::string_view text) {
  auto values = parse_values(latency, text.empty() ? "0" : text);
  if (!values) return values.error();
  return Latencies{std::move(*values)};
}

Result<std::vector<double>> make_speeds(const SpeedSpec& spec, std::size_t agents,
                                        std::uint64_t seed) {
  if (!spec.meaning()) return spec.meaning().error();
  return make_values(speed, *spec.meaning(), agents, seed);
}

Result<std::vector<double>> make_latencies(const LatencySpec& spec, std::size_t links,
                                           std::uint64_t seed) {
  if (!spec.meaning()) return spec.meaning().error();
  return make_values(latency, *spec.meaning(), links, seed);
}

}  // namespace grove
