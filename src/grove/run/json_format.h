#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace grove {

/// Whether `json` says that it is of the format `name`.
inline bool has_format(const nlohmann::json& json, std::string_view name) {
  return json.is_object() && json.contains("format") && json.at("format") == name;
}

/// nlohmann-json's message without the "[json.exception.out_of_range.403] " before it.
inline std::string plain_message(const nlohmann::json::exception& error) {
  const std::string_view text = error.what();
  const std::size_t bracket = text.find("] ");
  return std::string(bracket == std::string_view::npos ? text : text.substr(bracket + 2));
}

}  // namespace grove
