// The one file that compiles Eigen's and Spectra's eigenvalue solvers: 25 seconds of templates.
#include "grove/base/eigenvalues.h"

#include <algorithm>

#include <Spectra/SymEigsSolver.h>
#include <Eigen/Eigenvalues>

namespace grove {
namespace {

/// The map as Spectra's solver calls it.
class SpectraOperator {
 public:
  using Scalar = double;

  SpectraOperator(Index size, const SymmetricMap& map) : map_(map), in_(size), out_(size) {}
  Index rows() const { return in_.size(); }
  Index cols() const { return in_.size(); }
  void perform_op(const double* in, double* out) const {
    in_ = Eigen::Map<const Vector>(in, rows());
    map_(in_, out_);
    Eigen::Map<Vector>(out, rows()) = out_;
  }

 private:
  const SymmetricMap& map_;
  mutable Vector in_, out_;
};

}  // namespace

Vector symmetric_eigenvalues(const Matrix& matrix) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(matrix, Eigen::EigenvaluesOnly).eigenvalues();
}

std::optional<double> extreme_eigenvalue(Index size, const SymmetricMap& map, SpectrumEnd end,
                                         const LanczosOptions& options) {
  SpectraOperator op(size, map);
  Spectra::SymEigsSolver<SpectraOperator> solver(op, 1, std::min(size, options.vectors));
  try {  // Spectra throws where the map is not finite, or so small that its norm underflows
    solver.init();
    solver.compute(end == SpectrumEnd::largest ? Spectra::SortRule::LargestAlge
                                               : Spectra::SortRule::SmallestAlge,
                   options.restarts, options.accuracy);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (solver.info() != Spectra::CompInfo::Successful) return std::nullopt;
  return solver.eigenvalues()[0];
}

}  // namespace grove
