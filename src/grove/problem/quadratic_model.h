#pragma once

#include <vector>

#include "grove/base/types.h"
#include "grove/problem/objective.h"
#include "grove/problem/regularizer.h"

namespace grove {

/// The symmetric positive definite matrix M of a quadratic model, and what its minimizer needs of
/// it.
class ModelHessian {
 public:
  virtual ~ModelHessian() = default;

  virtual void times(const Vector& direction, Vector& product) const = 0;

  /// Moves `point` by prox steps that cannot increase the model; keeps `slope` its smooth gradient.
  virtual void sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const = 0;

  /// p with M_FF p_F = right_F on the listed coordinates F and 0 elsewhere, up to a residual of
  /// `tolerance` where the solver is iterative.
  virtual void solve(const std::vector<Index>& free_set, const Vector& right, double tolerance,
                     Vector& p) const = 0;
};

/// Coordinate descent on the model of a stored M, once through all coordinates.
void sweep_coordinates(const Matrix& matrix, const Regularizer& regularizer, Vector& point,
                       Vector& slope);

/// The Cholesky factor (lower triangle) of the listed rows and columns of a positive semidefinite
/// matrix, with the least ridge that rounding makes necessary. `factor` has the free set's size.
void factorize(const Matrix& matrix, const std::vector<Index>& free_set, Eigen::Ref<Matrix> factor);

/// p with factor factor' p_F = right_F on the free set F of the factor and 0 elsewhere. `packed` is
/// a buffer.
void solve_factored(const Eigen::Ref<const Matrix>& factor, const std::vector<Index>& free_set,
                    const Vector& right, Vector& packed, Vector& p);

/// M = Hessian + diagonal damping, stored. Sweeps by coordinate descent, solves by Cholesky.
class DenseHessian final : public ModelHessian {
 public:
  DenseHessian(const Matrix& hessian, const Vector& damping);
  void times(const Vector& direction, Vector& product) const override;
  void sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const override;
  void solve(const std::vector<Index>& free_set, const Vector& right, double tolerance,
             Vector& p) const override;

 private:
  Matrix matrix_;
};

/// M = Hessian(x) + damping I through products. Sweeps by proximal gradient, solves by conjugate
/// gradients: one pass over the data each.
class ProductHessian final : public ModelHessian {
 public:
  struct Bounds {
    double smoothness;  ///< no eigenvalue of the Hessian is larger
    double damping;
  };
  ProductHessian(const Objective& objective, const Vector& x, Bounds bounds);
  void times(const Vector& direction, Vector& product) const override;
  void sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const override;
  void solve(const std::vector<Index>& free_set, const Vector& right, double tolerance,
             Vector& p) const override;

 private:
  const Objective& objective_;
  Bounds bounds_;
  std::vector<double> second_derivatives_;  ///< of every sample at x
  mutable ObjectiveScratch scratch_;
};

/// A minimization of g'(u - x) + (u - x)'M(u - x)/2 + r(u) over u, x being the centre.
struct QuadraticModel {
  const Vector& center;
  const Vector& gradient;
  const ModelHessian& hessian;
  const Regularizer& regularizer;
  double smoothness;  ///< scale of the stationarity measure
  double tolerance;   ///< stationarity of the model at which to stop
};

/// Buffers of a minimization; keep them and nothing is allocated when warm.
struct QuadraticScratch {
  Vector u, slope;  ///< where it stands, and the gradient there of the model's smooth part
  std::vector<Index> free_set;
  Vector descent;    ///< the negative gradient on the free set, r included
  Vector direction;  ///< the Newton step on the free set,
  Vector ends;       ///< where the free set ends in that direction,
  Vector lengths;    ///< and at which length of the step each coordinate gets there
  Vector target, change, product;
  Vector before;  ///< u before a sweep
};

/// Alternates sweeps, which find the free set (zero, bound, sign) of each coordinate, with Newton
/// steps on the free set. The model never increases, so the result is a descent direction even when
/// cut short. The result is scratch.u.
const Vector& minimize(const QuadraticModel& model, QuadraticScratch& scratch);

}  // namespace grove
