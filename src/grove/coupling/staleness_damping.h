#pragma once

#include <cstdint>

namespace grove {

/// How far the dual of a link moves in a lock-step round. Where one end keeps working while the
/// other rests, it meets the same x_j each time; a whole move each time would add up for as long as
/// the rest lasts, and links between agents that work at very unequal rates would diverge. The k-th
/// time in succession counts 1/k. Both ends see who worked, and so agree.
class StalenessDamping {
 public:
  /// After a round in which one end worked, or both.
  double share(bool here, bool there) {
    if (here && there)
      times_ = 0;
    else if (here)
      times_ = times_ > 0 ? times_ + 1 : 1;
    else
      times_ = times_ < 0 ? times_ - 1 : -1;
    return times_ == 0 ? 1.0 : 1.0 / (times_ > 0 ? times_ : -times_);
  }

 private:
  std::int32_t times_ = 0;  ///< in succession: this end alone, or, negative, the other
};

}  // namespace grove
