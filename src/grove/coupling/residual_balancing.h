#pragma once

#include <cstdint>

namespace grove {

/// Notices from an agent's own quantities that its links are too soft: it keeps disagreeing with
/// its neighbours while it hardly moves, for as many activations as news takes to cross the
/// network twice. That is where duals grow too slowly: residual balancing (He, Yang, Wang 2000),
/// with a limit on the number of changes, so that the links are fixed, and exact, in the end.
///
/// Both quantities are squared lengths in a metric of the links, such as (x_i - x_j)' P_ij (x_i -
/// x_j) summed over the links and the same of a step at the agent; at the best penalty of identical
/// quadratics they are of the same size.
class ResidualBalancing {
 public:
  static constexpr std::uint32_t most_changes = 6;
  static constexpr double change = 2;  ///< of the weight of the links, each time

  /// After every activation.
  void moved(double movement) { now_.movement += movement; }
  /// When the neighbours have told where they are. True: the weight should be raised now.
  bool observe(double disagreement, double network_depth);

  double factor() const;  ///< by which the weight has been raised so far

 private:
  struct Sums {
    double disagreement = 0, movement = 0;
  };
  Sums now_, before_;       ///< over this window and the one before it; nothing before it: 0
  std::uint32_t seen_ = 0;  ///< observations of this window
  std::uint32_t changes_ = 0;
};

}  // namespace grove
