#pragma once

namespace grove {

/// Which gradient several local steps follow (math: section 2).
enum class LocalModelKind {
  augmented,   ///< of the perturbed augmented Lagrangian, eq. (6)
  linearized,  ///< as printed in eq. (10): penalty terms frozen at the start of the activation
};

}  // namespace grove
