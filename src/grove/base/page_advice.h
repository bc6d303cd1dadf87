#pragma once

#include <cstddef>

namespace grove {

// A program stops at every 4 KiB of memory that it touches for the first time. Of reading w8a, that
// was nearly half of the time (2,840 faults); of training on it, a twelfth (22,000 faults, 900 with
// large pages). docs/measurements/performance.md has the measurements. Both functions are advice to
// the system: there is no error to report.

/// Asks for pages of 2 MiB under the memory.
void advise_large_pages(void* memory, std::size_t bytes);

/// Gets the whole pages of memory that is about to be filled, all at once.
void populate_pages(void* memory, std::size_t bytes);

}  // namespace grove
