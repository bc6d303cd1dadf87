#include "grove/setup/privacy_spec.h"

#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "grove/base/text.h"

namespace grove {

Result<PrivacyChoice> PrivacyChoice::parse(std::string_view text) {
  PrivacyChoice choice;
  double steps = choice.steps;
  struct Part {
    std::string_view name;
    double* value;
    double low, high;  ///< both excluded
    bool needed = true;
  };
  const std::array<Part, 4> parts{{{"epsilon", &choice.epsilon, 0.009, 50.1},
                                   {"delta", &choice.delta, 0, 0.1},
                                   {"bound", &choice.bound, 0, 1e150},
                                   {"steps", &steps, 1, 10'001, false}}};
  const Error unread{
      "--dp", fmt::format("expected epsilon=E,delta=D,bound=R[,steps=T] with E from 0.01 to "
                          "50, D between 0 and 0.1, R above 0 and T from 2 to 10000; got `{}`",
                          text)};
  if (text.empty()) return choice;
  std::set<std::string_view> given;
  for (const std::string_view one : split(text, ',')) {
    const auto equals = one.find('=');
    const std::string_view name = trim(one.substr(0, equals));
    const auto part = std::ranges::find(parts, name, &Part::name);
    if (equals == one.npos || part == parts.end() || !given.insert(name).second) return unread;
    const auto value = parse_double(trim(one.substr(equals + 1)));
    if (!value || !(*value > part->low && *value < part->high)) return unread;
    *part->value = *value;
  }
  for (const Part& part : parts)
    if (part.needed && !given.contains(part.name)) return unread;
  if (steps != std::floor(steps)) return unread;
  choice.steps = static_cast<int>(steps);
  return choice;
}

double bound_with_intercept(double bound, bool intercept) {
  return intercept ? std::hypot(bound, 1.0) : bound;
}

}  // namespace grove
