#pragma once

#include <string>

#include "grove/record/record.h"

namespace grove {

/// The closing summary of a run, for a person.
std::string summary_text(const RunRecord& record);

/// "1.2 kB", "35 ms": numbers with a unit of their size.
std::string human_bytes(double bytes);
std::string human_seconds(double seconds);

}  // namespace grove
