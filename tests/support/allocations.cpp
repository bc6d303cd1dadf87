#include "support/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> count{0};
}

// The names are the linker's: it calls __wrap_f for f, and f is then called __real_f.
extern "C" {
void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t items, std::size_t size);
void* __real_realloc(void* memory, std::size_t size);
void* __real_aligned_alloc(std::size_t alignment, std::size_t size);
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t size);

void* __wrap_malloc(std::size_t size) {
  ++count;
  return __real_malloc(size);
}
void* __wrap_calloc(std::size_t items, std::size_t size) {
  ++count;
  return __real_calloc(items, size);
}
void* __wrap_realloc(void* memory, std::size_t size) {
  ++count;
  return __real_realloc(memory, size);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t size) {
  ++count;
  return __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  ++count;
  return __real_posix_memalign(memory, alignment, size);
}
}

void* operator new(std::size_t size) {
  if (void* memory = std::malloc(size)) return memory;  // counted there
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(step, (size + step - 1) / step * step)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace grove::testing_support {

long allocations() { return count; }

}  // namespace grove::testing_support
