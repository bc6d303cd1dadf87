#pragma once

#include <cstdint>

namespace grove {

/// Residual balancing (He, Yang, Wang 2000) from an agent's own quantities. Link weights are too
/// small when an agent keeps a large distance to its neighbours while it hardly moves, for as many
/// activations as a message needs to cross the network twice: then dual variables grow too slowly.
/// The number of changes is limited, so that weights are fixed, and the coupling exact, in the end.
///
/// Both quantities are squared lengths in a metric of the links, such as (x_i - x_j)' P_ij (x_i -
/// x_j) summed over the links and the same of a step at the agent. At the best penalty of identical
/// quadratics they are of the same size.
class ResidualBalancing {
 public:
  static constexpr std::uint32_t most_changes = 6;
  static constexpr double change = 2;  ///< factor of the weights, each time

  /// After every activation.
  void add_step(double squared_step) { now_.step += squared_step; }
  /// When messages of the neighbours have arrived. True: the weights should be raised now.
  bool observe(double squared_residual, double network_depth);

  double factor() const;  ///< by which the weights have been raised so far

 private:
  struct Sums {
    double residual = 0, step = 0;
  };
  Sums now_, before_;           ///< over this window and the one before it, 0 if there was none
  std::uint32_t observed_ = 0;  ///< observations of this window
  std::uint32_t changes_ = 0;
};

}  // namespace grove
