#pragma once

#include <functional>
#include <optional>

#include "grove/base/types.h"

namespace grove {

/// All eigenvalues of a symmetric matrix, ascending. Reads the lower triangle only.
Vector symmetric_eigenvalues(const Matrix& matrix);

/// A symmetric linear map, out = A in.
using SymmetricMap = std::function<void(const Vector& in, Vector& out)>;

enum class SpectrumEnd { smallest, largest };

struct LanczosOptions {
  Index vectors = 30;  ///< of the Krylov space, between restarts
  Index restarts = 1000;
  double accuracy = 1e-11;  ///< of the residual, relative to the eigenvalue
};

/// The eigenvalue at one end of the spectrum, by Lanczos with restarts; nothing after too many of
/// them. The norm of the map should be about one: residuals are then above rounding errors.
std::optional<double> extreme_eigenvalue(Index size, const SymmetricMap& map, SpectrumEnd end,
                                         const LanczosOptions& options);

}  // namespace grove
