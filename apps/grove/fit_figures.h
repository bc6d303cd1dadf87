#pragma once

#include <optional>

#include "grove/data/design.h"
#include "grove/record/forest_plot.h"
#include "grove/record/plot.h"
#include "grove/train/fit_path.h"

namespace grove::app {

/// Coefficients with intervals by site and by the network, the intercept left out.
ForestPlot forest_plot(const FitOptions& options, const FitData& data, const FittedModel& model);

/// Coefficients over the l1 weight; of standardized columns, so that they share a scale.
Figure path_figure(const FitData& data, const FitPath& path);

/// Deviance of rows left out over the l1 weight, with a standard error on either side.
Figure cross_validation_figure(const CrossValidation& choice);

/// Observed over predicted means, in ten groups of rows.
Figure calibration_figure(const FittedModel& model, const Design& design);

}  // namespace grove::app
