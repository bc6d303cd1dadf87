#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "grove/base/result.h"

namespace grove {

/// One setting with one name, wherever it is set (flag, TOML) or shown (help, run record). It is
/// bound to the variable it sets.
struct Option {
  std::string name;   ///< without dashes
  std::string value;  ///< what a value looks like in the help; empty for a switch
  std::string help;
  std::string group;
  std::function<Status(std::string_view)> set;  ///< the error's `where` is left to the caller
  std::function<nlohmann::json()> get;

  bool is_switch() const { return value.empty(); }
};

/// Sets an option and names it in the error: "--penalty: ...".
Status set_option(const Option& option, std::string_view text);

const Option* find_option(std::span<const Option> options, std::string_view name);

/// Every option's value, by name.
nlohmann::json to_json(std::span<const Option> options);

/// What numbers an option takes.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;

  static Range positive() { return {.low = 0, .low_open = true}; }
  static Range non_negative() { return {.low = 0}; }
  bool contains(double value) const;
  std::string text() const;  ///< "a number above 0"
};

struct OptionText {
  std::string name;
  std::string value;
  std::string help;
  std::string group;
};

Option number_option(const OptionText& text, double& target, Range range);
/// Unset until given: the default is derived from other settings.
Option number_option(const OptionText& text, std::optional<double>& target, Range range);
Option count_option(const OptionText& text, std::uint64_t& target, std::uint64_t low,
                    std::uint64_t high = std::numeric_limits<std::int64_t>::max());
Option text_option(const OptionText& text, std::string& target);
Option switch_option(const OptionText& text, bool& target);
/// Parts between separators, trimmed; empty ones are left out.
Option list_option(const OptionText& text, std::vector<std::string>& target, char separator);

/// One of a few names. The help's value text is made of them.
template <class Choice>
Option choice_option(OptionText text, Choice& target,
                     std::vector<std::pair<std::string, Choice>> choices) {
  std::string names;
  for (const auto& [name, choice] : choices) names += (names.empty() ? "" : " | ") + name;
  if (text.value.empty()) text.value = names;
  return Option{
      text.name,
      text.value,
      text.help,
      text.group,
      [&target, choices, names](std::string_view given) -> Status {
        for (const auto& [name, choice] : choices)
          if (name == given) return target = choice, success();
        return Error{"", fmt::format("'{}' is unknown; expected one of: {}", given, names)};
      },
      [&target, choices]() -> nlohmann::json {
        for (const auto& [name, choice] : choices)
          if (choice == target) return name;
        return nullptr;
      }};
}

}  // namespace grove
