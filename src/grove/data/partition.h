#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/random.h"
#include "grove/base/result.h"
#include "grove/base/spec.h"

namespace grove {

/// Row numbers by agent.
using Shards = std::vector<std::vector<std::uint32_t>>;

/// How samples reach agents: `even` (shuffled), `stride` (agent i gets rows i, i + n, ...),
/// `label-skew:A`, `size-skew:A`, or a file (parse_partition).
struct Partition {
  enum class Kind { even, stride, label_skew, size_skew, file };

  static Result<Partition> parse(std::string_view text);

  Kind kind = Kind::even;
  double concentration = 1;  ///< of the skewed ones
  std::string file;
};
using PartitionSpec = Spec<Partition>;

/// Reads a partition file: one agent number per line, one line per sample; # starts a comment and
/// blank lines are skipped. Every agent must appear. Errors say `source:line`.
Result<Shards> parse_partition(std::string_view text, const std::string& source,
                               std::size_t samples, std::size_t agents);

/// The logarithm of a Gamma(shape, 1) variate (Marsaglia and Tsang 2000). Logarithms, because for
/// small shapes the variate itself is often below the smallest double.
double log_gamma_variate(double shape, KeyedRandom& random);

/// Symmetric Dirichlet(concentration) proportions of `count` parts; they add up to 1.
std::vector<double> dirichlet(double concentration, std::size_t count, KeyedRandom& random);

}  // namespace grove
