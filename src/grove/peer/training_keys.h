#pragma once

#include <set>
#include <string>

namespace grove::peer {

/// The keys of `grove train` that peer.toml accepts.
inline const std::set<std::string>& training_keys() {
  static const std::set<std::string> keys{"data",
                                          "label-column",
                                          "seed",
                                          "loss",
                                          "l1",
                                          "l2",
                                          "sums",
                                          "constraint",
                                          "weighting",
                                          "intercept",
                                          "method",
                                          "dp",
                                          "penalty",
                                          "theta-penalty",
                                          "prox",
                                          "work",
                                          "local-model",
                                          "sampling",
                                          "batch-gradient",
                                          "batch-hessian",
                                          "exact-tolerance",
                                          "tolerance"};
  return keys;
}

}  // namespace grove::peer
