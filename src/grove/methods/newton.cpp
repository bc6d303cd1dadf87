#include "grove/methods/newton.h"

#include <Eigen/Cholesky>

namespace grove {

bool solve_shifted(Matrix& hessian, double shift, Vector& vector) {
  hessian.diagonal().array() += shift;
  const Eigen::LLT<Eigen::Ref<Matrix>> factor(hessian);  // in place: nothing is allocated
  // Eigen calls a factor with NaN a success; a NaN anywhere below the diagonal reaches it.
  if (factor.info() != Eigen::Success || !hessian.diagonal().allFinite()) return false;
  factor.solveInPlace(vector);
  return true;
}

}  // namespace grove
