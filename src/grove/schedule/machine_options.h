#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "grove/base/result.h"
#include "grove/base/spec.h"

namespace grove {

/// One value for all, a list, or values that are drawn: `uniform:A:B` (from [A, B) each) or
/// `extreme:A:B` (a random half gets A, the rest B).
struct MachineValues {
  enum class Kind { listed, uniform, extreme };

  Kind kind = Kind::listed;
  std::vector<double> values;  ///< of Kind::listed
  double low = 0, high = 0;    ///< of the drawn ones
};

/// How fast the simulated machine of every agent is, above 0; also `a,b,c,...`, one per agent.
struct Speeds : MachineValues {
  static Result<Speeds> parse(std::string_view text);
};
/// Seconds that a message is on its way, at least 0, by link.
struct Latencies : MachineValues {
  static Result<Latencies> parse(std::string_view text);
};
using SpeedSpec = Spec<Speeds>;       ///< an empty text: 1
using LatencySpec = Spec<Latencies>;  ///< an empty text: 0

Result<std::vector<double>> make_speeds(const SpeedSpec& spec, std::size_t agents,
                                        std::uint64_t seed);
Result<std::vector<double>> make_latencies(const LatencySpec& spec, std::size_t links,
                                           std::uint64_t seed);

}  // namespace grove
