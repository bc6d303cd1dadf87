#include "grove/data/labels.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"

namespace grove {
namespace {

constexpr std::size_t most_listed = 6;

/// Up to one more than `most_listed` distinct values, sorted.
std::vector<double> distinct_values(const Vector& targets) {
  std::vector<double> values;
  for (const double target : targets) {
    const auto place = std::ranges::lower_bound(values, target);
    if (place != values.end() && *place == target) continue;
    values.insert(place, target);
    if (values.size() > most_listed) break;
  }
  return values;
}

std::string list(const std::vector<double>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const double value : values)
    texts.push_back(texts.size() < most_listed ? exact(value) : "...");
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

Result<LabelNames> find_labels(const std::string& source, const Vector& targets) {
  const std::vector<double> values = distinct_values(targets);
  if (values.size() == 2) return LabelNames{values[0], values[1]};
  if (values.size() < 2)
    return Error{source, fmt::format("expected two distinct labels, found one: {}", list(values))};
  return Error{source,
               fmt::format("expected two distinct labels, found {}{}: {}; to predict numbers "
                           "use --loss squared or huber",
                           values.size() > most_listed ? "more than " : "",
                           std::min(values.size(), most_listed), list(values))};
}

std::string label_text(const LabelNames& labels, bool positive) {
  if (labels.are_texts()) return labels.texts[positive ? 1 : 0];
  return exact(positive ? labels.positive : labels.negative);
}

Status apply_labels(const LabelNames& labels, Dataset& dataset) {
  for (const double target : dataset.samples.targets)
    if (target != labels.negative && target != labels.positive)
      return Error{dataset.source,
                   fmt::format("expected the labels {} and {}, found {}", label_text(labels, false),
                               label_text(labels, true), exact(target))};
  for (double& target : dataset.samples.targets) target = target == labels.positive ? 1 : 0;
  dataset.labels = labels;
  return success();
}

}  // namespace grove
