#include "grove/kernels/table.h"

namespace grove::kernels {
namespace {

/// Two doubles: SSE2, which every x86-64 has, or NEON.
struct Portable {
  static constexpr Index lanes = 2;
  using Pack [[gnu::vector_size(16)]] = double;
  using Bits [[gnu::vector_size(16)]] = std::int64_t;
  using HalfPack [[gnu::vector_size(8)]] = float;

  static Pack sums(const Pack* packs) {
    return __builtin_shufflevector(packs[0], packs[1], 0, 2) +
           __builtin_shufflevector(packs[0], packs[1], 1, 3);
  }
};

constexpr Kernels table = table_of<Portable>("portable");

}  // namespace

const Kernels& portable() { return table; }

}  // namespace grove::kernels
