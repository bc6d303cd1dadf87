#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "grove/sums/masks.h"

namespace grove::peer {

/// The `data` of a member's table entry: from the digest that the member announces, and its key for
/// masks (empty: none). Sums are computed anew where either changes.
std::uint32_t data_tag(const std::string& announced_data, std::string_view key);

/// The keys of masks: this process's own, and those in the signed entries of the members.
class MaskDirectory {
 public:
  explicit MaskDirectory(const MaskKey& secret) : secret_(secret), own_(public_key_of(secret)) {}

  const MaskKey& secret() const { return secret_; }
  std::string public_key() const { return {own_.begin(), own_.end()}; }

  /// From an entry that was verified.
  void set_member(const std::string& name, const std::string& data, const std::string& key);
  /// Nothing while the entry that the member's table entry goes with has not arrived.
  std::optional<MaskKey> key_of(AgentId member, std::uint32_t tag) const;

 private:
  struct Member {
    std::uint32_t tag = 0;
    MaskKey key{};
  };
  MaskKey secret_, own_;
  std::map<AgentId, Member> members_;
};

}  // namespace grove::peer
