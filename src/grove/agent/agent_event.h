#pragma once

#include <cstdint>

#include "grove/base/types.h"

namespace grove {

/// An action of one of an agent's safeguards.
struct AgentEvent {
  enum class Kind : std::uint32_t {
    raised_links,
    lowered_links,
    shortened_step,
    changed_tree,
    no_minimizer,
    began_sums,
    private_answer
  };

  Round round = 0;
  Kind kind = Kind::raised_links;
  /// raised_links: factor of the weights since the start; shortened_step: share of the step that
  /// was taken; changed_tree: members of the new tree; no_minimizer: length of the step, relative;
  /// private_answer: gradients that it was made from
  double value = 0;
};

}  // namespace grove
