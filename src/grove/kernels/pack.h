#pragma once

#include "grove/kernels/kernels.h"

/// What the kernels ask of an instruction set. Every function template here and in the files that
/// include this one takes the set as its first parameter, so that no code compiled for one
/// processor can be linked in place of another's; for the same reason they use no inline library
/// function.
///
/// struct Set {
///   static constexpr Index lanes;          // numbers in a pack: 2 or 4
///   using Pack; using Bits;                // vectors of `lanes` doubles, of `lanes` int64,
///   using HalfPack;                        // of `lanes` floats
///   static Pack sums(const Pack* packs);   // [sum of packs[0], ..., sum of packs[lanes - 1]]
/// };
namespace grove::kernels {

template <class Set>
using Pack = typename Set::Pack;

template <class Set>
Pack<Set> load(const double* from) {
  Pack<Set> pack;
  __builtin_memcpy(&pack, from, sizeof pack);
  return pack;
}

template <class Set>
void store(double* to, Pack<Set> pack) {
  __builtin_memcpy(to, &pack, sizeof pack);
}

template <class Set>
Pack<Set> splat(double value) {
  return value - Pack<Set>{};
}

template <class Set>
double sum_of_lanes(Pack<Set> pack) {
  double sum = pack[0];
  for (Index lane = 1; lane < Set::lanes; ++lane) sum += pack[lane];
  return sum;
}

}  // namespace grove::kernels
