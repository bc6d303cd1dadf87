#pragma once

#include "grove/base/types.h"
#include "grove/data/design.h"

namespace grove {

/// What surrounds the losses of one site: f = scale * [(1/D) sum loss + (l2/2)|x|^2], l2 without
/// the intercepts.
struct SiteTerms {
  double l2 = 0;
  bool intercept = false;
  double scale = 1;
};

}  // namespace grove
