#include "grove/peer/schema.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/data/digest.h"

namespace grove::peer {
namespace {

constexpr std::size_t max_listed_bytes = 16 << 10;
constexpr char separator = '\x1f';        ///< of names of columns, which may contain commas
constexpr double scale_tolerance = 1e-3;  ///< relative; configurations give rounded numbers
const std::string absent = "none", digest_prefix = "sha256:";

const std::string& value_of(const Schema& schema, const std::string& key) {
  const auto found = std::ranges::find(schema, key, &Setting::key);
  return found == schema.end() ? absent : found->value;
}

bool has_encoding(const Schema& schema) {
  return std::ranges::find(schema, encoding_key, &Setting::key) != schema.end();
}

bool same(const std::string& key, const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (key != scale_per_row_key) return false;
  const auto first = parse_double(a), second = parse_double(b);
  return first && second && std::abs(*first - *second) <= scale_tolerance * std::abs(*first);
}

SettingDifference column_difference(const std::string& own, const std::string& other) {
  const auto ours = split(own, separator), theirs = split(other, separator);
  const auto [mine, yours] = std::ranges::mismatch(ours, theirs);
  if (mine == ours.end() || yours == theirs.end() || own == absent || other == absent ||
      own.starts_with(digest_prefix) || other.starts_with(digest_prefix))
    return {std::string(columns_key), own, other};
  return {fmt::format("column {}", mine - ours.begin() + 1), std::string(*mine),
          std::string(*yours)};
}

}  // namespace

std::string columns_value(const std::vector<std::string>& names) {
  std::string value;
  for (const std::string& name : names) {
    if (!value.empty()) value += separator;
    value += name;
  }
  if (value.size() <= max_listed_bytes) return value;
  Sha256 digest;
  digest.update(value);
  return digest_prefix + digest.finish();
}

std::string to_text(const Schema& schema) {
  std::string text;
  for (const auto& [key, value] : schema) text += fmt::format("{}={}\n", key, value);
  return text;
}

std::optional<SettingDifference> first_difference(const Schema& own, const Schema& other) {
  const bool one_agrees = has_encoding(own) != has_encoding(other);
  const auto skips = [&](const std::string& key, const std::string& value) {
    return key == encoding_key || (one_agrees && key != formula_key && value == absent);
  };
  for (const auto& [key, value] : own) {
    const std::string& theirs = value_of(other, key);
    if (skips(key, theirs) || same(key, value, theirs)) continue;
    if (key == columns_key) return column_difference(value, theirs);
    return SettingDifference{key, value, theirs};
  }
  for (const auto& [key, value] : other)
    if (!skips(key, value_of(own, key)) && std::ranges::find(own, key, &Setting::key) == own.end())
      return SettingDifference{key, absent, value};
  return std::nullopt;
}

bool same_encoding(const Schema& own, const Schema& other) {
  const std::string key(encoding_key);
  return value_of(own, key) == value_of(other, key);
}

}  // namespace grove::peer
