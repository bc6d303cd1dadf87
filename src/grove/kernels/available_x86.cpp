#include "grove/kernels/avx2.h"

namespace grove::kernels {

std::span<const Kernels* const> available() {
  static const Kernels* const fastest_first[] = {&avx2(), &portable()};
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return std::span(fastest_first).subspan(has_avx2 ? 0 : 1);
}

}  // namespace grove::kernels
