#pragma once

#include "grove/problem/reference.h"

namespace grove {

/// The minimizer of f + r by accelerated proximal gradient steps (FISTA), with a restart where
/// momentum leads uphill (O'Donoghue and Candes 2015). It needs only value and prox of r.
Result<ReferenceSolution> solve_by_proximal_gradient(const Objective& objective,
                                                     const Regularizer& regularizer,
                                                     const ReferenceOptions& options);

}  // namespace grove
