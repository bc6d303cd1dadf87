#include "grove/data/label_texts.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/data/lines.h"

namespace grove {
namespace {

constexpr std::size_t most_kept = 7;  ///< three are too many already; more make a better message

}  // namespace

double LabelTexts::number_of(std::string text) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(texts_, text);
  const auto number = static_cast<double>(found - texts_.begin());
  if (found == texts_.end() && texts_.size() < most_kept) texts_.push_back(std::move(text));
  return number;
}

Status LabelTexts::apply(Dataset& dataset) const {
  std::vector<std::string> names;
  for (const std::string& text : texts_) names.push_back(shown(text));
  std::ranges::sort(names);
  if (names.size() != 2) {
    const bool many = names.size() == most_kept;
    if (many) names.back() = "...";
    return Error{
        dataset.source,
        fmt::format("expected two distinct labels, found {}{}: {}", many ? "more than " : "",
                    many ? most_kept - 1 : names.size(), fmt::join(names, ", "))};
  }
  const bool turned = texts_[1] < texts_[0];
  if (turned)
    for (double& target : dataset.samples.targets) target = 1 - target;
  dataset.labels = LabelNames{.texts = {texts_[turned ? 1 : 0], texts_[turned ? 0 : 1]}};
  return success();
}

}  // namespace grove
