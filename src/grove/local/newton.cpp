#include "grove/local/newton.h"

#include <limits>

#include <Eigen/Cholesky>

namespace grove {
namespace {

/// Restores the lower triangle, which a factorization overwrites, from the upper one.
void restore(Matrix& matrix, const Vector& diagonal, double ridge) {
  matrix.triangularView<Eigen::StrictlyLower>() =
      matrix.transpose().triangularView<Eigen::StrictlyLower>();
  matrix.diagonal() = diagonal.array() + ridge;
}

}  // namespace

bool solve_shifted(Matrix& hessian, double shift, Vector& vector, Vector& diagonal) {
  hessian.diagonal().array() += shift;
  diagonal = hessian.diagonal();
  Eigen::LLT<Eigen::Ref<Matrix>> factor(hessian);  // in place: nothing is allocated
  // Eigen calls a factor with NaN a success; a NaN anywhere below the diagonal reaches it.
  if (!hessian.diagonal().allFinite() || factor.info() != Eigen::Success) {
    restore(hessian, diagonal, 0);
    if (!hessian.allFinite()) {
      vector.setConstant(std::numeric_limits<double>::quiet_NaN());
      return false;
    }
  }
  const double scale = diagonal.cwiseAbs().maxCoeff();
  for (double ridge = 1e-15 * scale; factor.info() != Eigen::Success; ridge *= 100) {
    restore(hessian, diagonal, ridge);
    factor.compute(hessian);
  }
  factor.solveInPlace(vector);
  return true;
}

}  // namespace grove
