#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "grove/data/samples.h"

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

inline nlohmann::json labels_json(const std::optional<LabelNames>& labels) {
  if (!labels) return nullptr;
  if (labels->are_texts()) return {{"negative", labels->texts[0]}, {"positive", labels->texts[1]}};
  return {{"negative", labels->negative}, {"positive", labels->positive}};
}

inline std::optional<LabelNames> labels_from(const nlohmann::json& json) {
  if (json.is_null()) return std::nullopt;
  if (json.at("negative").is_string())
    return LabelNames{
        .texts = {json.at("negative").get<std::string>(), json.at("positive").get<std::string>()}};
  return LabelNames{json.at("negative").get<double>(), json.at("positive").get<double>()};
}

/// Nothing is written where the data had no names.
inline void put_columns(const std::optional<ColumnNames>& columns, nlohmann::json& json) {
  if (!columns) return;
  json["columns"] = columns->features;
  json["label_column"] = columns->label;
}

inline std::optional<ColumnNames> columns_from(const nlohmann::json& json) {
  if (!json.contains("columns")) return std::nullopt;
  return ColumnNames{json.at("columns").get<std::vector<std::string>>(),
                     json.at("label_column").get<std::string>()};
}

/// A text that is not UTF-8 (a file name may be anything) is shown with marks, not refused.
inline std::string json_text(const nlohmann::json& json) {
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace grove
