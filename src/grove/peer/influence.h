#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "grove/agent/gradient_limit.h"
#include "grove/base/result.h"
#include "grove/base/types.h"
#include "grove/data/samples.h"
#include "grove/problem/loss.h"

namespace grove::peer {

/// What all members have agreed on about the data and the weight of every site.
struct InfluenceSettings {
  double feature_bound = 0;  ///< R: no entry of a feature is larger; 0: nothing was agreed
  double max_scale = 1;      ///< no site has a larger `scale`
};

/// How hard one member can push others with data that the settings allow. Messages beyond it are
/// not believed.
struct InfluenceBound {
  double mean_diagonal = 0;  ///< largest one of a link weight
  GradientLimit member;      ///< of the gradient of one member, with its share of r

  /// Of a link in a network of so many members. All others may be behind it.
  GradientLimit link(std::size_t members) const;
};

/// The terms of the problem that the bound depends on.
struct InfluenceTerms {
  Loss loss;
  Index features = 0;
  bool intercept = false;
  double l1 = 0, l2 = 0;
};

/// The bound, or none if nothing was agreed. An error if the loss has no bounded slope.
Result<std::optional<InfluenceBound>> influence_bound(const InfluenceSettings& settings,
                                                      const InfluenceTerms& terms);

/// An error that names the first entry of the data, or the scale, that exceeds the settings.
Status check_influence(const InfluenceSettings& settings, const Samples& samples,
                       const std::optional<ColumnNames>& columns, double scale);

}  // namespace grove::peer
