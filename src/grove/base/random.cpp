#include "grove/base/random.h"

#include <cmath>
#include <numbers>

#include <Random123/philox.h>

namespace grove {

std::uint64_t KeyedRandom::operator()() {
  if (used_ == buffer_.size()) {
    const r123::Philox4x64::ctr_type counter = {{key_.agent, key_.round, key_.step, block_++}};
    const r123::Philox4x64::key_type key = {{key_.seed, static_cast<std::uint64_t>(key_.purpose)}};
    const auto drawn = r123::Philox4x64{}(counter, key);
    for (unsigned k = 0; k < buffer_.size(); ++k) buffer_[k] = drawn[k];
    used_ = 0;
  }
  return buffer_[used_++];
}

double KeyedRandom::uniform() { return static_cast<double>((*this)() >> 11) * 0x1.0p-53; }

double KeyedRandom::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

std::uint64_t KeyedRandom::below(std::uint64_t bound) {
  // Rejecting the incomplete last interval keeps every value equally likely.
  // It is shorter than the bound: few draws need to know where it begins.
  std::uint64_t drawn = (*this)();
  while (drawn > max() - bound && drawn > max() - (max() % bound + 1) % bound) drawn = (*this)();
  return drawn % bound;
}

}  // namespace grove
