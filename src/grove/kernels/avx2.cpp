#include "grove/kernels/avx2.h"

#include "grove/kernels/table.h"

namespace grove::kernels {
namespace {

struct Avx2 {
  static constexpr Index lanes = 4;
  using Pack [[gnu::vector_size(32)]] = double;
  using Bits [[gnu::vector_size(32)]] = std::int64_t;
  using HalfPack [[gnu::vector_size(16)]] = float;

  static Pack sums(const Pack* packs) {
    const Pack front = pair_sums(packs[0], packs[1]), back = pair_sums(packs[2], packs[3]);
    return __builtin_shufflevector(front, back, 0, 1, 4, 5) +
           __builtin_shufflevector(front, back, 2, 3, 6, 7);
  }

 private:
  static Pack pair_sums(Pack a, Pack b) {
    return __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  }
};

constexpr Kernels table = table_of<Avx2>("avx2");

}  // namespace

const Kernels& avx2() { return table; }

}  // namespace grove::kernels
