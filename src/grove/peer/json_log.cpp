#include "grove/peer/json_log.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include <fmt/chrono.h>
#include <spdlog/details/log_msg.h>
#include <nlohmann/json.hpp>

#include "grove/base/text.h"

namespace grove::peer {
namespace {

using nlohmann::json;

bool is_key(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == text.npos;
}

/// Numbers as messages have them: 17, 0.5, 1.2e-09. Digests such as 12e4 and 007 are texts.
json value_of(std::string_view text) {
  const auto integer = parse_integer(text);
  if (integer && std::to_string(*integer) == text) return *integer;
  const auto number = parse_double(text);
  const bool plain = text.find_first_not_of("0123456789.-+e") == text.npos;
  if (number && plain && text.find_first_of(".-+") != text.npos) return *number;
  return std::string(text);
}

/// The words `key=value` and `key="quoted"` of a message. A quoted text goes up to the last
/// quotation mark, and the first value of a key counts: what a neighbour writes into the text
/// cannot add or change what stands before it.
json fields_of(std::string_view text) {
  json fields = json::object();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t equals = word.find('=');
    std::size_t taken = end;
    if (equals != word.npos && is_key(word.substr(0, equals))) {
      const std::string key(word.substr(0, equals));
      const std::size_t last = text.rfind('"');
      if (word.substr(equals + 1).starts_with('"') && last > equals + 1) {
        fields.emplace(key, std::string(text.substr(equals + 2, last - equals - 2)));
        taken = last + 1;
      } else {
        fields.emplace(key, value_of(word.substr(equals + 1)));
      }
    }
    text.remove_prefix(std::min(taken + 1, text.size()));
  }
  return fields;
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    const auto seconds = std::chrono::floor<std::chrono::seconds>(message.time);
    const auto milliseconds =
        std::chrono::duration_cast<std::chrono::milliseconds>(message.time - seconds);
    const auto level = spdlog::level::to_string_view(message.level);
    nlohmann::ordered_json object = {
        {"time", fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                             fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                             milliseconds.count())},
        {"level", std::string(level.data(), level.size())},
        {"text", std::string(text)}};
    if (const json fields = fields_of(text); !fields.empty()) object["fields"] = fields;
    // A text that is not UTF-8 is shown with marks.
    const std::string dumped =
        object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    line.append(dumped.data(), dumped.data() + dumped.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> json_log_formatter() {
  return std::make_unique<JsonFormatter>();
}

}  // namespace grove::peer
