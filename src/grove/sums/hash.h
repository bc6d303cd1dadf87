#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace grove {

/// A hash of 64-bit words in order, the same on every machine. Not cryptographic: members trust
/// each other (docs/reference/security.md). The finalizer is that of SplitMix64 (Steele, Lea, Flood
/// 2014).
class WordHash {
 public:
  void add(std::uint64_t word) {
    state_ += 0x9e3779b97f4a7c15u + word;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9u;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebu;
    state_ ^= state_ >> 31;
  }
  void add(std::span<const double> numbers) {
    add(numbers.size());
    for (const double number : numbers) add(std::bit_cast<std::uint64_t>(number));
  }
  void add(std::span<const std::uint32_t> words) {
    add(words.size());
    for (const std::uint32_t word : words) add(word);
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0;
};

inline std::uint64_t hash_of(std::uint64_t word) {
  WordHash hash;
  hash.add(word);
  return hash.value();
}

}  // namespace grove
