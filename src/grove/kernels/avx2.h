#pragma once

#include "grove/kernels/kernels.h"

namespace grove::kernels {

/// Packs of four with fused multiply-add: only where the processor has AVX2 and FMA.
const Kernels& avx2();

}  // namespace grove::kernels
