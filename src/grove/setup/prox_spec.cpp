#include "grove/setup/prox_spec.h"

#include "grove/base/text.h"

namespace grove {
namespace {

Result<TunedProx> parse_tuned(std::string_view settings) {
  TunedProx tuned;
  if (settings.empty()) return tuned;
  for (const std::string_view setting : split(settings, ',')) {
    const std::size_t equals = setting.find('=');
    const std::string_view key = trim(setting.substr(0, equals));
    const auto value =
        equals == std::string_view::npos ? std::nullopt : parse_double(setting.substr(equals + 1));
    double* target = key == "c"      ? &tuned.rule.contraction
                     : key == "zeta" ? &tuned.rule.zeta
                     : key == "work" ? &tuned.rule.mean_work
                     : key == "eps"  ? &tuned.base.emplace()
                                     : nullptr;
    if (!target || !value)
      return Error{"", fmt::format("'{}' is unknown after tuned:; expected c=C, zeta=Z, work=E or "
                                   "eps=EPS, separated by commas",
                                   setting)};
    *target = *value;
  }
  if (tuned.base && !Range::positive().contains(*tuned.base))
    return Error{"", "tuned needs eps above 0"};
  if (!valid(tuned.rule))
    return Error{"",
                 fmt::format("tuned needs c in (0, 1), zeta of 0 or more, work of 1 or more and "
                             "(1 + zeta) c below 1; got c={}, zeta={}, work={}",
                             exact(tuned.rule.contraction), exact(tuned.rule.zeta),
                             exact(tuned.rule.mean_work))};
  return tuned;
}

std::string text_of(const TunedProx& tuned) {
  std::string text = fmt::format("tuned:c={},zeta={},work={}", exact(tuned.rule.contraction),
                                 exact(tuned.rule.zeta), exact(tuned.rule.mean_work));
  if (tuned.base) text += ",eps=" + exact(*tuned.base);
  return text;
}

/// Nothing if one of them is no number, or below 0.
std::optional<std::vector<double>> parse_list(std::string_view text) {
  std::vector<double> values;
  for (const std::string_view part : split(text, ',')) {
    const auto value = parse_double(trim(part));
    if (!value || !Range::non_negative().contains(*value)) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::string text_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) {
    if (!text.empty()) text += ',';
    text += exact(value);
  }
  return text;
}

}  // namespace

Option prox_option(const OptionText& text, std::optional<ProxSpec>& target) {
  return {text.name,
          text.value,
          text.help,
          text.group,
          [&target](std::string_view given) -> Status {
            if (given == "auto") return target = AutoProx{}, success();
            if (given == "tuned" || given.starts_with("tuned:")) {
              const auto tuned = parse_tuned(given.size() > 6 ? given.substr(6) : "");
              if (!tuned) return tuned.error();
              return target = *tuned, success();
            }
            if (auto values = parse_list(given)) {
              if (values->size() == 1)
                target = values->front();
              else
                target = std::move(*values);
              return success();
            }
            return Error{"", fmt::format("expected {}, a list of such numbers (one per agent), "
                                         "auto or tuned[:c=C,zeta=Z,work=E,eps=EPS], got '{}'",
                                         Range::non_negative().text(), given)};
          },
          [&target]() -> nlohmann::json {
            if (!target) return nullptr;
            if (std::holds_alternative<AutoProx>(target->value)) return "auto";
            if (const auto* tuned = std::get_if<TunedProx>(&target->value)) return text_of(*tuned);
            if (const auto* list = std::get_if<std::vector<double>>(&target->value))
              return text_of(*list);
            return std::get<double>(target->value);
          }};
}

}  // namespace grove
