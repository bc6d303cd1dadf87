#pragma once

#include <cstddef>

namespace grove {

// Every first touch of 4 KiB of memory is a page fault. Training on w8a takes 462 ms of processor
// time and 1,656 faults with the advice below and the settings of apps/grove/memory.cpp, 497 ms and
// 17,860 faults without both; ijcnn1 62 and 67 ms; a9a 169 and 170 ms (best of 10, by turns). The
// functions are advice to the system: there is no error to report.

/// Asks for pages of 2 MiB under the memory.
void advise_large_pages(void* memory, std::size_t bytes);

/// Gets the whole pages of memory that is about to be filled, all at once.
void populate_pages(void* memory, std::size_t bytes);

}  // namespace grove
