#include "grove/peer/mask_directory.h"

#include <algorithm>

#include "grove/data/digest.h"
#include "grove/peer/link_table.h"

namespace grove::peer {

std::uint32_t data_tag(const std::string& announced_data, std::string_view key) {
  constexpr std::size_t digits = 6;  // 24 bits, of the 27 that a table entry has room for
  Sha256 digest;
  digest.update("grove-data-tag/1\n");
  digest.update(announced_data);
  digest.update("\n");
  digest.update(key);
  return static_cast<std::uint32_t>(std::stoul(digest.finish().substr(0, digits), nullptr, 16));
}

void MaskDirectory::set_member(const std::string& name, const std::string& data,
                               const std::string& key) {
  Member member{.tag = data_tag(data, key)};
  if (key.size() != member.key.size()) return;
  std::ranges::copy(key, member.key.begin());
  members_[AgentId{agent_number(name)}] = member;
}

std::optional<MaskKey> MaskDirectory::key_of(AgentId member, std::uint32_t tag) const {
  const auto found = members_.find(member);
  if (found == members_.end() || found->second.tag != tag) return std::nullopt;
  return found->second.key;
}

}  // namespace grove::peer
