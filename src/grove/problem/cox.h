#pragma once

#include <memory>

#include "grove/problem/objective.h"
#include "grove/problem/row_terms.h"

namespace grove {

/// How the partial likelihood treats events at one time.
enum class Ties { efron, breslow };

/// Minus the logarithm of Cox's partial likelihood of one site, divided by its rows: risk sets do
/// not cross sites (a model stratified by site). Targets are times, events 1 or 0; rows at risk at
/// a time are those whose time is not earlier. Weights as R's coxph takes them. Every evaluation is
/// over all rows, whatever the batch: a risk set has no mean over samples.
std::unique_ptr<const Objective> make_cox_objective(const Design& design, Ties ties,
                                                    const SiteTerms& terms);

/// Logarithm of the partial likelihood.
double cox_log_likelihood(const Design& design, Ties ties, const Vector& x);

}  // namespace grove
