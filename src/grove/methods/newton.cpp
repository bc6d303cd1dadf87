#include "grove/methods/newton.h"

#include <Eigen/Cholesky>

namespace grove {

bool solve_shifted(Matrix& hessian, double shift, Vector& vector) {
  hessian.diagonal().array() += shift;
  const Eigen::LLT<Eigen::Ref<Matrix>> factor(hessian);  // in place: nothing is allocated
  if (factor.info() != Eigen::Success) return false;
  factor.solveInPlace(vector);
  return true;
}

}  // namespace grove
