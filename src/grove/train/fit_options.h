#pragma once

#include <vector>

#include "grove/setup/option.h"
#include "grove/train/fit.h"

namespace grove {

/// How a fit is run unless options say otherwise: rows weigh equally, and there is no centralized
/// optimum to compare with.
Config default_fit_config();

/// The options of the model and of tables alone, bound to `fit`.
std::vector<Option> options_of(FitOptions& fit);

/// The options of a fit, bound to `fit` and `config`, which must outlive them: those of the model
/// and of tables, and those of a run that a fit has.
std::vector<Option> options_of(FitOptions& fit, Config& config,
                               const Registry& registry = built_in_registry());

}  // namespace grove
