#include "grove/setup/loss_option.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace grove {
namespace {

std::string forms_of(const std::vector<LossEntry>& losses) {
  std::vector<std::string_view> forms;
  for (const LossEntry& entry : losses) forms.emplace_back(entry.form);
  return fmt::format("{}", fmt::join(forms, " | "));
}

Status set_loss(Loss& target, const std::vector<LossEntry>& losses, std::string_view given) {
  const std::size_t colon = std::min(given.find(':'), given.size());
  const auto found = std::ranges::find(losses, given.substr(0, colon), &LossEntry::name);
  const std::string_view name = given.substr(0, colon);
  if (found == losses.end() && (name == "multinomial" || name == "cox"))
    return Error{"", fmt::format("{} is a family of grove fit, whose tables have classes and times "
                                 "of events; expected grove fit FORMULA FILE --family {}, or one "
                                 "of: {}",
                                 name, name, forms_of(losses))};
  if (found == losses.end() || colon + 1 == given.size())
    return Error{"", fmt::format("'{}' is unknown; expected one of: {}", given, forms_of(losses))};
  auto loss = found->make(colon == given.size() ? "" : given.substr(colon + 1));
  if (!loss) return Error{"", fmt::format("'{}' is not possible; {}", given, loss.error().what)};
  target = std::move(*loss);
  return success();
}

}  // namespace

Option loss_option(Loss& target, std::vector<LossEntry> losses) {
  const std::string forms = forms_of(losses);
  return {"loss",
          forms,
          "loss of one sample (logistic)",
          "Problem",
          [&target, losses = std::move(losses)](std::string_view given) {
            return set_loss(target, losses, given);
          },
          [&target]() -> nlohmann::json { return name_of(target); }};
}

}  // namespace grove
