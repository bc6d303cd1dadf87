#include "grove/setup/registry.h"

namespace grove {

const Registry& built_in_registry() {
  static const Registry registry{.methods = built_in_methods(),
                                 .losses = built_in_losses(),
                                 .regularizers = {},  // --l1 and --constraint are options
                                 .topologies = built_in_topologies(),
                                 .metrics = built_in_metrics()};
  return registry;
}

}  // namespace grove
