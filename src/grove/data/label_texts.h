#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/dataset.h"

namespace grove {

/// Labels that are words: each gets a number while a file is read, by several threads at once.
class LabelTexts {
 public:
  /// `known` have the numbers 0, 1, ...
  explicit LabelTexts(std::vector<std::string> known = {}) : texts_(std::move(known)) {}

  /// The same for the same text. Others get the next one as they arrive; all that are too many
  /// share the last.
  double number_of(std::string text);

  /// Makes classes of the numbers: the smaller text, byte by byte, is 0.
  Status apply(Dataset& dataset) const;

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

}  // namespace grove
