#pragma once

#include <memory>

#include "grove/problem/objective.h"
#include "grove/problem/row_terms.h"

namespace grove {

/// log sum_k e^{eta_k} - eta_y with eta_0 = 0: multinomial logistic regression. Targets are class
/// numbers from 0 to classes - 1. Coefficients: the features of class 1, of class 2, ..., then the
/// intercepts of these classes. Weights of rows multiply their losses; offsets have no meaning.
std::unique_ptr<const Objective> make_multinomial_objective(const Design& design, Index classes,
                                                            const SiteTerms& terms);

/// log sum_k e^{eta_k} - eta_y with coefficients for every class, as scikit-learn has them: a
/// penalty treats classes alike. Coefficients: the features of class 0, of class 1, ..., then the
/// intercepts of all classes but the first, whose intercept is 0. `terms.loss` and offsets are not
/// used. Features are in the caller's memory, dense or sparse, and not copied.
std::unique_ptr<const Objective> make_symmetric_multinomial_objective(
    const FeatureView& features, std::vector<std::uint32_t> rows, Vector targets, Index classes,
    const ShardTerms& terms);

/// The probabilities of all classes, a row per sample; `x` as above.
Matrix class_probabilities(const DenseRows& features, Index classes, bool intercept,
                           const Vector& x);

}  // namespace grove
