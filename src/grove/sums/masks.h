#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "grove/base/types.h"
#include "grove/sums/fixed_point.h"

namespace grove {

/// A secret or public key of X25519, or one of ChaCha20.
using MaskKey = std::array<std::uint8_t, 32>;

MaskKey public_key_of(const MaskKey& secret);
MaskKey random_key();  ///< of the system's generator
/// Keys of simulated agents, known to everybody who knows the seed: they hide nothing.
MaskKey simulated_secret(std::uint64_t seed, AgentId agent);

struct MaskOptions {
  MaskKey secret;
  /// The public key of a member whose table entry has that `data`; nothing while it is not known.
  std::function<std::optional<MaskKey>(AgentId member, std::uint32_t data)> public_key;
};

/// Masks as those of simulated agents: their keys follow from the seed.
MaskOptions simulated_masks(std::uint64_t seed, AgentId self);

/// One member of a tree, as the masks know it.
struct MaskedMember {
  AgentId id;
  std::uint32_t data = 0;
};

/// Masks that cancel in the sum over all members of a tree and nowhere else (Bonawitz et al.,
/// Practical secure aggregation, CCS 2017, without recovery of members that drop out: their wave
/// is never completed). Every pair of members has a secret in common; from it and the context of a
/// wave follows a stream of ChaCha20 that one of them adds and the other subtracts.
class Masks {
 public:
  Masks(AgentId self, MaskOptions options);

  /// The key has a secret in common with this member's. Keys of small order have none.
  bool accepts(const MaskKey& public_key) const;

  /// All keys that masks over these members need are known.
  bool ready_for(std::span<const MaskedMember> members) const;
  /// Adds this member's masks. `context` is of one wave, tree, question and set of members.
  void add(std::span<const MaskedMember> members, const MaskKey& context, const FixedPoint& shape,
           std::span<std::uint64_t> words) const;
  /// Words that say nothing, in the place of an answer, which the last word counts as refused.
  std::vector<std::uint64_t> noise(const MaskKey& context, const FixedPoint& shape) const;

 private:
  const MaskKey* shared_with(const MaskedMember& member) const;

  struct Shared {
    MaskKey public_key;
    MaskKey secret;
  };
  AgentId self_;
  MaskOptions options_;
  mutable std::map<AgentId, Shared> shared_;  ///< a cache
};

/// SHA-256 of what a wave is about.
MaskKey context_of(std::string_view bytes);

/// Up to this number of members every pair has a mask; beyond, each member has about
/// 4 log2 n partners, drawn by a hash of the context and the pair.
inline constexpr std::size_t most_with_all_pairs = 50;

}  // namespace grove
