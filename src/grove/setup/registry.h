#pragma once

#include <string_view>
#include <vector>

#include "grove/methods/registry.h"

namespace grove {

/// All that options can name. A program with methods of its own copies the built-in registry, adds
/// rows, and passes it to options_of().
struct Registry {
  std::vector<Method> methods;

  /// Null: no method has this name.
  const Method* find_method(std::string_view name) const;
};

const Registry& built_in_registry();

}  // namespace grove
