#include "grove/setup/option.h"

#include <cmath>

#include "grove/base/text.h"

namespace grove {

Status set_option(const Option& option, std::string_view text) {
  const Status status = option.set(text);
  if (!status) return Error{"--" + option.name, status.error().what};
  return success();
}

const Option* find_option(std::span<const Option> options, std::string_view name) {
  for (const Option& option : options)
    if (option.name == name) return &option;
  return nullptr;
}

nlohmann::json to_json(std::span<const Option> options) {
  nlohmann::json result = nlohmann::json::object();
  for (const Option& option : options) result[option.name] = option.get();
  return result;
}

bool Range::contains(double value) const {
  return std::isfinite(value) && (low_open ? value > low : value >= low) &&
         (high_open ? value < high : value <= high);
}

std::string Range::text() const {
  std::string result = "a number";
  if (std::isfinite(low)) result += fmt::format(" {} {}", low_open ? "above" : "of at least", low);
  if (std::isfinite(high)) {
    if (std::isfinite(low)) result += " and";
    result += fmt::format(" {} {}", high_open ? "below" : "at most", high);
  }
  return result;
}

namespace {

/// Target: double or std::optional<double>.
template <class Target>
Option number_option_for(const OptionText& text, Target& target, Range range) {
  return {
      text.name,
      text.value,
      text.help,
      text.group,
      [&target, range](std::string_view given) -> Status {
        const auto value = parse_double(given);
        if (!value || !range.contains(*value))
          return Error{"", fmt::format("'{}' is not possible; expected {}", given, range.text())};
        return target = *value, success();
      },
      [&target] {
        const std::optional<double> value = target;
        return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
      }};
}

}  // namespace

Option number_option(const OptionText& text, double& target, Range range) {
  return number_option_for(text, target, range);
}

Option number_option(const OptionText& text, std::optional<double>& target, Range range) {
  return number_option_for(text, target, range);
}

Option count_option(const OptionText& text, std::uint64_t& target, std::uint64_t low,
                    std::uint64_t high) {
  return {text.name,
          text.value,
          text.help,
          text.group,
          [&target, low, high](std::string_view given) -> Status {
            const auto value = parse_integer(given);
            if (!value || *value < 0 || static_cast<std::uint64_t>(*value) < low ||
                static_cast<std::uint64_t>(*value) > high)
              return Error{"", fmt::format("'{}' is not possible; expected a whole number of at "
                                           "least {}{}",
                                           given, low,
                                           high < std::numeric_limits<std::int64_t>::max()
                                               ? fmt::format(" and at most {}", high)
                                               : "")};
            return target = static_cast<std::uint64_t>(*value), success();
          },
          [&target] { return nlohmann::json(target); }};
}

Option text_option(const OptionText& text, std::string& target) {
  return {text.name,
          text.value,
          text.help,
          text.group,
          [&target](std::string_view given) -> Status {
            if (given.empty()) return Error{"", "is empty; expected a value"};
            return target = std::string(given), success();
          },
          [&target] { return nlohmann::json(target); }};
}

Option switch_option(const OptionText& text, bool& target) {
  return {text.name,
          "",
          text.help,
          text.group,
          [&target](std::string_view given) -> Status {
            if (given != "true" && given != "false")
              return Error{"", fmt::format("'{}' is not possible; expected true or false", given)};
            return target = given == "true", success();
          },
          [&target] { return nlohmann::json(target); }};
}

Option list_option(const OptionText& text, std::vector<std::string>& target, char separator) {
  return {text.name,
          text.value,
          text.help,
          text.group,
          [&target, separator](std::string_view given) -> Status {
            target.clear();
            for (const std::string_view part : split(given, separator))
              if (!trim(part).empty()) target.emplace_back(trim(part));
            return success();
          },
          [&target]() -> nlohmann::json { return target; }};
}

}  // namespace grove
