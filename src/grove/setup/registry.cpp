#include "grove/setup/registry.h"

#include <algorithm>

namespace grove {

const Method* Registry::find_method(std::string_view name) const {
  const auto found = std::ranges::find(methods, name, &Method::name);
  return found == methods.end() ? nullptr : &*found;
}

const Registry& built_in_registry() {
  static const Registry registry{.methods = built_in_methods()};
  return registry;
}

}  // namespace grove
