#include "grove/problem/quadratic_model.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "grove/problem/reference.h"

namespace grove {
namespace {

constexpr int max_rounds = 100;
constexpr Index max_conjugate_steps = 2000;

struct Interval {
  double low;
  double high;
};

/// The interval around u on which coordinate k of r is linear; a single point at a kink.
Interval smooth_piece(const Regularizer& regularizer, Index k, double u) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (k >= regularizer.regularized) return {-infinity, infinity};
  Interval piece{regularizer.low, regularizer.high};
  if (regularizer.l1 > 0) {
    if (u >= 0) piece.low = std::max(piece.low, 0.0);
    if (u <= 0) piece.high = std::min(piece.high, 0.0);
  }
  return piece;
}

double kink_slope(const Regularizer& regularizer, Index k, double u) {
  if (k >= regularizer.regularized || u == 0) return 0;
  return std::copysign(regularizer.l1, u);
}

/// Where the minimization stands: u, and the gradient there of the model's smooth part.
struct Point {
  Vector u;
  Vector slope;
};

/// Moves to `target`, a point of the same face, if that lowers the model. `descent` is the negative
/// gradient on the face, r included: differences of r itself would drown in rounding near the end.
bool move_if_lower(const QuadraticModel& model, const Vector& descent, const Vector& target,
                   Point& point) {
  const Vector change = target - point.u;
  Vector bend;
  model.curvature.times(change, bend);
  if (!(0.5 * change.dot(bend) < descent.dot(change))) return false;
  point.u = target;
  point.slope += bend;
  return true;
}

enum class FaceStep { none, cut, whole };

/// A Newton step on the face of `point`, cut at the face's ends. Tries the full step first: it may
/// cut many coordinates at once. A step to the first end always lowers the model.
FaceStep step_on_face(const QuadraticModel& model, Point& point) {
  const Index dimension = point.u.size();
  std::vector<Index> face;
  Vector descent = Vector::Zero(dimension);
  for (Index k = 0; k < dimension; ++k) {
    const Interval piece = smooth_piece(model.regularizer, k, point.u[k]);
    if (!(piece.low < point.u[k] && point.u[k] < piece.high)) continue;
    face.push_back(k);
    descent[k] = -point.slope[k] - kink_slope(model.regularizer, k, point.u[k]);
  }
  if (face.empty()) return FaceStep::none;

  Vector direction = Vector::Zero(dimension);
  model.curvature.solve(face, descent, 0.1 * model.tolerance, direction);
  Vector ends = Vector::Zero(dimension);            // of the face, in the direction
  Vector lengths = Vector::Constant(dimension, 2);  // of the step at which a coordinate gets there
  for (const Index k : face) {
    if (direction[k] == 0) continue;
    const Interval piece = smooth_piece(model.regularizer, k, point.u[k]);
    ends[k] = direction[k] > 0 ? piece.high : piece.low;
    lengths[k] = (ends[k] - point.u[k]) / direction[k];
  }

  const auto cut_at = [&](double length) {
    Vector target = point.u;
    for (const Index k : face)
      target[k] = length < lengths[k] ? point.u[k] + length * direction[k] : ends[k];
    return target;
  };
  const double first_end = std::min(1.0, lengths.minCoeff());
  for (double length = 1; length > first_end && length > 1e-3; length /= 4)
    if (move_if_lower(model, descent, cut_at(length), point)) return FaceStep::cut;
  if (!move_if_lower(model, descent, cut_at(first_end), point)) return FaceStep::none;
  return first_end < 1 ? FaceStep::cut : FaceStep::whole;
}

}  // namespace

void sweep_coordinates(const Matrix& matrix, const Regularizer& regularizer, Vector& point,
                       Vector& slope) {
  for (Index k = 0; k < point.size(); ++k) {
    const double step = 1 / matrix(k, k);
    const double target = regularizer.prox_at(k, step, point[k] - step * slope[k]);
    const double change = target - point[k];
    if (change == 0) continue;
    point[k] = target;  // not += change: zeros and bounds are met exactly
    slope += change * matrix.col(k);
  }
}

void factorize(const Matrix& matrix, const std::vector<Index>& face, Matrix& factor) {
  factor = matrix(face, face);
  const double scale = factor.diagonal().maxCoeff();
  Eigen::LLT<Eigen::Ref<Matrix>> cholesky(factor);
  // Rounding can make a semidefinite matrix indefinite: the least ridge that mends it.
  for (double ridge = 1e-15 * scale; cholesky.info() != Eigen::Success && std::isfinite(ridge);
       ridge *= 100) {
    factor = matrix(face, face);
    factor.diagonal().array() += ridge;
    cholesky.compute(factor);
  }
}

void solve_factored(const Matrix& factor, const std::vector<Index>& face, const Vector& right,
                    Vector& p) {
  Vector packed = right(face);
  const auto lower = factor.triangularView<Eigen::Lower>();
  lower.solveInPlace(packed);
  lower.transpose().solveInPlace(packed);
  p.setZero(right.size());
  p(face) = packed;
}

DenseCurvature::DenseCurvature(const Matrix& hessian, const Vector& damping) : matrix_(hessian) {
  matrix_.diagonal() += damping;
}

void DenseCurvature::times(const Vector& direction, Vector& product) const {
  product.noalias() = matrix_ * direction;
}

void DenseCurvature::sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const {
  sweep_coordinates(matrix_, regularizer, point, slope);
}

void DenseCurvature::solve(const std::vector<Index>& face, const Vector& right, double,
                           Vector& p) const {
  Matrix factor;
  factorize(matrix_, face, factor);
  solve_factored(factor, face, right, p);
}

ProductCurvature::ProductCurvature(const Objective& objective, const Vector& x, Bounds bounds)
    : objective_(objective), bounds_(bounds), curvatures_(objective.samples()) {
  objective_.evaluate_curvatures(x, Batch::all(), nullptr, curvatures_, scratch_);
}

void ProductCurvature::times(const Vector& direction, Vector& product) const {
  objective_.weighted_hessian_times(curvatures_, Batch::all(), direction, product, scratch_);
  product += bounds_.damping * direction;
}

void ProductCurvature::sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const {
  const double step = 1 / (bounds_.smoothness + bounds_.damping);
  Vector target, bend;
  regularizer.prox(step, point - step * slope, target);
  times(target - point, bend);
  point = target;
  slope += bend;
}

void ProductCurvature::solve(const std::vector<Index>& face, const Vector& right, double tolerance,
                             Vector& p) const {
  Vector inside = Vector::Zero(right.size());
  for (const Index k : face) inside[k] = 1;
  p.setZero(right.size());
  Vector residual = right.cwiseProduct(inside);
  Vector direction = residual;
  Vector bend;
  double squares = residual.squaredNorm();
  const Index limit = std::min(max_conjugate_steps, 2 * static_cast<Index>(face.size()) + 10);
  for (Index k = 0; k < limit && std::sqrt(squares) > tolerance; ++k) {
    times(direction, bend);
    bend.array() *= inside.array();
    const double curvature = direction.dot(bend);
    const double length = squares / curvature;
    p += length * direction;
    // Practically flat: the face ends before the model does, and rounding rules what would follow.
    if (curvature <= 1e-11 * bounds_.smoothness * direction.squaredNorm()) break;
    residual -= length * bend;
    const double next_squares = residual.squaredNorm();
    direction = residual + (next_squares / squares) * direction;
    squares = next_squares;
  }
}

Vector minimize(const QuadraticModel& model) {
  Point point{model.center, model.gradient};
  double best_residual = std::numeric_limits<double>::infinity();
  for (int round = 0; round < max_rounds; ++round) {
    model.curvature.sweep(model.regularizer, point.u, point.slope);
    // A cut makes the face smaller: go on until its minimizer, or the next sweep would only undo
    // it.
    FaceStep step = step_on_face(model, point);
    while (step == FaceStep::cut) step = step_on_face(model, point);
    const double residual = stationarity(point.u, point.slope, model.regularizer, model.smoothness);
    if (residual <= model.tolerance) break;
    if (step == FaceStep::none && residual >= best_residual) break;  // at the level of rounding
    best_residual = std::min(best_residual, residual);
  }
  return point.u;
}

}  // namespace grove
