#include "memory.h"

#include <malloc.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <limits>

#include "grove/base/page_advice.h"

namespace grove::app {
namespace {

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
  advise_large_pages(before, static_cast<std::size_t>(heap_end() - before));
}

}  // namespace grove::app
