#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace grove::peer {

/// One setting of problem or data that must be equal at all peers.
struct Setting {
  std::string key;
  std::string value;
  bool operator==(const Setting&) const = default;
};

/// All of them, in a fixed order. If they are equal, the network has one solution.
using Schema = std::vector<Setting>;

/// The sum of samples determines this number, so that peers can compare it and learn no counts.
inline constexpr std::string_view scale_per_row_key = "scale-per-row";
inline constexpr std::string_view columns_key = "columns";
inline constexpr std::string_view formula_key = "formula";
/// The digest of how tables become numbers. Peers that differ in it alone exchange heartbeats, by
/// which they come to agree, and no iterates.
inline constexpr std::string_view encoding_key = "encoding";

/// The names of columns as one value: the names, or their digest where the list is long.
std::string columns_value(const std::vector<std::string>& names);

std::string to_text(const Schema& schema);

/// The first setting that differs, but for the encoding. A peer that has
/// none yet lacks settings that follow from it; they do not count. A column is named alone.
struct SettingDifference {
  std::string key, own, other;
};
std::optional<SettingDifference> first_difference(const Schema& own, const Schema& other);
bool same_encoding(const Schema& own, const Schema& other);

}  // namespace grove::peer
