#pragma once

#include <string>

#include "grove/base/types.h"
#include "grove/setup/instance.h"

namespace grove {

/// Whether the centralized solver finds that the objective has an infimum and no minimizer, as
/// where a part of the samples can be separated by class. Up to 2,000 coefficients.
bool falls_for_ever(const Instance& instance);

/// The verdict where the model separates all samples. Names the largest coefficients.
std::string separated_text(const Instance& instance, const Vector& solution, Round round);

/// The verdict where the objective is certified to be near an infimum. Names the features along
/// which the step, of scaled coordinates, is longest.
std::string infimum_text(const Instance& instance, const Vector& step, double tolerance,
                         Round round);

}  // namespace grove
