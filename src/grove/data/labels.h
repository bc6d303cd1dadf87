#pragma once

#include <string>

#include "grove/base/result.h"
#include "grove/data/dataset.h"

namespace grove {

/// The two values among the targets; one only, or three and more, is an error that lists them.
Result<LabelNames> find_labels(const std::string& source, const Vector& targets);

/// The label of a class, as a file has it.
std::string label_text(const LabelNames& labels, bool positive);

}  // namespace grove
