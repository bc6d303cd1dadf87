#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace grove {

/// What a random number is for. Streams with different purposes never share numbers, so adding a
/// draw in one place cannot change another. Append only: the values are part of reproducibility.
enum class Purpose : std::uint64_t {
  subsample = 1,
  partition = 2,
  synthetic = 3,
  graph = 4,
  work_load = 5,
  participation = 6,
  gradient_batch = 7,
  hessian_batch = 8,
  message_loss = 9,
  message_delay = 10,
  message_copy = 11,
  machine_speed = 12,
  link_latency = 13,
  privacy_noise = 14,
};

/// The address of a stream of random numbers: a pure function of what the draw is for.
struct RandomKey {
  std::uint64_t seed = 1;
  Purpose purpose = Purpose::subsample;
  std::uint64_t agent = 0;
  std::uint64_t round = 0;
  std::uint64_t step = 0;  ///< local step within a round, or the far end of a link
};

/// Counter-based generator (Philox 4x64-10): no shared state, so the numbers do not depend on the
/// order in which agents or threads draw them. Satisfies UniformRandomBitGenerator.
class KeyedRandom {
 public:
  using result_type = std::uint64_t;

  explicit KeyedRandom(const RandomKey& key) : key_(key) {}

  std::uint64_t operator()();
  double uniform();                          ///< in [0, 1), 53 random bits
  double normal();                           ///< mean 0, variance 1 (Box-Muller)
  std::uint64_t below(std::uint64_t bound);  ///< in {0, ..., bound-1}, unbiased; bound > 0

  static constexpr std::uint64_t min() { return 0; }
  static constexpr std::uint64_t max() { return std::numeric_limits<std::uint64_t>::max(); }

 private:
  RandomKey key_;
  std::uint64_t block_ = 0;
  std::array<std::uint64_t, 4> buffer_{};
  unsigned used_ = 4;
};

}  // namespace grove
