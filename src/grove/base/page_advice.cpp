#include "grove/base/page_advice.h"

#include <cstdint>

#include <sys/mman.h>

namespace grove {
namespace {

/// Advises on the pages in which the memory lies, but for an incomplete last one.
void advise(void* memory, std::size_t bytes, int advice) {
  constexpr std::uintptr_t page = 4096;
  const std::uintptr_t into_page = reinterpret_cast<std::uintptr_t>(memory) % page;
  const std::size_t whole = (into_page + bytes) / page * page;
  if (whole > 0) ::madvise(static_cast<std::byte*>(memory) - into_page, whole, advice);
}

}  // namespace

void advise_large_pages(void* memory, std::size_t bytes) { advise(memory, bytes, MADV_HUGEPAGE); }

void populate_pages(void* memory, std::size_t bytes) { advise(memory, bytes, MADV_POPULATE_WRITE); }

}  // namespace grove
