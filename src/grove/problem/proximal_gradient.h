#pragma once

#include "grove/problem/reference.h"

namespace grove {

/// The minimizer of f + r by accelerated proximal gradient steps (FISTA) that restart where
/// momentum leads uphill (O'Donoghue and Candes 2015): for an r of which only value and prox are
/// known.
Result<ReferenceSolution> solve_by_proximal_gradient(const Objective& objective,
                                                     const Regularizer& regularizer,
                                                     const ReferenceOptions& options);

}  // namespace grove
