#include "memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace grove::app {
namespace {

/// The whole large pages between the two.
void advise_large_pages(char* begin, const char* end) {
  constexpr std::ptrdiff_t large_page = std::ptrdiff_t{2} << 20;
  const auto into_page =
      static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(begin) % large_page);
  if (into_page > 0) begin += large_page - into_page;
  const std::ptrdiff_t pages = (end - begin) / large_page;
  if (pages > 0) ::madvise(begin, static_cast<std::size_t>(pages * large_page), MADV_HUGEPAGE);
}

char* heap_end() { return static_cast<char*>(::sbrk(0)); }

}  // namespace

void prepare_memory() {
  constexpr int largest_threshold = 32 << 20;  // that glibc takes
  constexpr int room = 192 << 20;              // of addresses; pages come as they are touched
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, largest_threshold);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  ::mallopt(M_TOP_PAD, room);
  char* const before = heap_end();
  auto* const any = static_cast<volatile char*>(std::malloc(largest_threshold / 2));
  if (any != nullptr) *any = 0;  // or the compiler would leave both out
  std::free(const_cast<char*>(any));
  advise_large_pages(before, heap_end());
}

}  // namespace grove::app
