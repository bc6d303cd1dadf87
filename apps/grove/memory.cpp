#include "memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

namespace grove::app {
namespace {

/// The whole large pages between the two.
void advise_large_pages(std::uintptr_t begin, std::uintptr_t end) {
  constexpr std::uintptr_t large_page = std::uintptr_t{2} << 20;
  begin = (begin + large_page - 1) / large_page * large_page;
  end = end / large_page * large_page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

std::uintptr_t heap_end() { return reinterpret_cast<std::uintptr_t>(::sbrk(0)); }

}  // namespace

void prepare_memory() {
  constexpr int largest_threshold = 32 << 20;  // that glibc takes
  constexpr int room = 192 << 20;              // of addresses; pages come as they are touched
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, largest_threshold);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TOP_PAD, room);
  const std::uintptr_t before = heap_end();
  auto* const any = static_cast<volatile char*>(std::malloc(largest_threshold / 2));
  if (any != nullptr) *any = 0;  // or the compiler would leave both out
  std::free(const_cast<char*>(any));
  advise_large_pages(before, heap_end());
}

}  // namespace grove::app
