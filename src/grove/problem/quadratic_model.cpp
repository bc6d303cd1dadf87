#include "grove/problem/quadratic_model.h"

#include <algorithm>
#include <cmath>

#include "grove/problem/reference.h"
#include "grove/problem/symmetric.h"

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
  Interval piece{regularizer.low_at(k), regularizer.high_at(k)};
  if (regularizer.l1 > 0) {
    if (u >= 0) piece.low = std::max(piece.low, 0.0);
    if (u <= 0) piece.high = std::min(piece.high, 0.0);
  }
  return piece;
}

double kink_slope(const Regularizer& regularizer, Index k, double u) {
  if (k >= regularizer.regularized || u == 0) return 0;
  return std::copysign(regularizer.l1_at(k), u);
}

/// Moves to scratch.target, a point of the same free set, if that lowers the model. Goes by the
/// gradient on the free set: differences of r itself would drown in rounding near the end.
bool move_if_lower(const QuadraticModel& model, QuadraticScratch& scratch) {
  scratch.change = scratch.target - scratch.u;
  model.hessian.times(scratch.change, scratch.product);
  if (!(0.5 * scratch.change.dot(scratch.product) < scratch.descent.dot(scratch.change)))
    return false;
  scratch.u = scratch.target;
  scratch.slope += scratch.product;
  return true;
}

/// Fills in the free set of u and the descent on it.
void find_free_set(const QuadraticModel& model, QuadraticScratch& scratch) {
  const Vector& u = scratch.u;
  scratch.free_set.clear();
  scratch.free_set.reserve(static_cast<std::size_t>(u.size()));
  scratch.descent.setZero(u.size());
  for (Index k = 0; k < u.size(); ++k) {
    const Interval piece = smooth_piece(model.regularizer, k, u[k]);
    if (!(piece.low < u[k] && u[k] < piece.high)) continue;
    scratch.free_set.push_back(k);
    scratch.descent[k] = -scratch.slope[k] - kink_slope(model.regularizer, k, u[k]);
  }
}

/// Fills in where the direction leaves the free set.
void find_ends(const QuadraticModel& model, QuadraticScratch& scratch) {
  const Vector &u = scratch.u, &direction = scratch.direction;
  scratch.ends.setZero(u.size());
  scratch.lengths.setConstant(u.size(), 2);
  for (const Index k : scratch.free_set) {
    if (direction[k] == 0) continue;
    const Interval piece = smooth_piece(model.regularizer, k, u[k]);
    scratch.ends[k] = direction[k] > 0 ? piece.high : piece.low;
    scratch.lengths[k] = (scratch.ends[k] - u[k]) / direction[k];
  }
}

/// A step of that length; coordinates stay at the ends that they reach.
bool step_if_lower(const QuadraticModel& model, double length, QuadraticScratch& scratch) {
  scratch.target = scratch.u;
  for (const Index k : scratch.free_set)
    scratch.target[k] = length < scratch.lengths[k] ? scratch.u[k] + length * scratch.direction[k]
                                                    : scratch.ends[k];
  return move_if_lower(model, scratch);
}

/// Sweeps while they find or lose more zeros than a few. Every free set has to be factorized, which
/// takes as long as several sweeps: on w8a with half as many factorizations an eighth less time.
void sweep_to_a_free_set(const QuadraticModel& model, QuadraticScratch& scratch) {
  constexpr int most_sweeps = 6;
  constexpr Index few = 80;  ///< in so many coordinates one
  for (int sweep = 0; sweep < most_sweeps; ++sweep) {
    scratch.before = scratch.u;
    model.hessian.sweep(model.regularizer, scratch.u, scratch.slope);
    const auto changed = ((scratch.before.array() == 0) != (scratch.u.array() == 0)).count();
    if (few * changed <= scratch.u.size()) return;
  }
}

enum class FreeSetStep { none, cut, whole };

/// A Newton step on the free set of u, cut at the free set's ends. Tries the full step first: it
/// may cut many coordinates at once. A step to the first end always lowers the model.
FreeSetStep step_on_free_set(const QuadraticModel& model, QuadraticScratch& scratch) {
  find_free_set(model, scratch);
  if (scratch.free_set.empty()) return FreeSetStep::none;
  model.hessian.solve(scratch.free_set, scratch.descent, 0.1 * model.tolerance, scratch.direction);
  find_ends(model, scratch);
  const double first_end = std::min(1.0, scratch.lengths.minCoeff());
  for (double length = 1; length > first_end && length > 1e-3; length /= 4)
    if (step_if_lower(model, length, scratch)) return FreeSetStep::cut;
  if (!step_if_lower(model, first_end, scratch)) return FreeSetStep::none;
  return first_end < 1 ? FreeSetStep::cut : FreeSetStep::whole;
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
    add_column(matrix, k, change, slope);
  }
}

namespace {

/// part = matrix(free set, free set), its lower triangle; Eigen would copy the free set.
void take_part(const Matrix& matrix, const std::vector<Index>& free_set, Eigen::Ref<Matrix> part) {
  for (Index column = 0; column < part.cols(); ++column) {
    const double* from = matrix.col(free_set[column]).data();
    double* to = part.col(column).data();
    for (Index row = column; row < part.rows(); ++row) to[row] = from[free_set[row]];
  }
}

}  // namespace

void factorize(const Matrix& matrix, const std::vector<Index>& free_set,
               Eigen::Ref<Matrix> factor) {
  take_part(matrix, free_set, factor);
  const double largest = factor.diagonal().maxCoeff();
  const double scale = largest > 0 ? largest : 1;
  bool done = factorize_cholesky(factor);
  // Rounding can make a semidefinite matrix indefinite: the least ridge that mends it.
  for (double ridge = 1e-15 * scale; !done && std::isfinite(ridge); ridge *= 100) {
    take_part(matrix, free_set, factor);
    factor.diagonal().array() += ridge;
    done = factorize_cholesky(factor);
  }
}

void solve_factored(const Eigen::Ref<const Matrix>& factor, const std::vector<Index>& free_set,
                    const Vector& right, Vector& packed, Vector& p) {
  if (packed.size() < right.size()) packed.resize(right.size());
  auto part = packed.head(static_cast<Index>(free_set.size()));
  for (Index k = 0; k < part.size(); ++k) part[k] = right[free_set[k]];
  solve_cholesky(factor, part);
  p.setZero(right.size());
  for (Index k = 0; k < part.size(); ++k) p[free_set[k]] = part[k];
}

DenseHessian::DenseHessian(const Matrix& hessian, const Vector& damping) : matrix_(hessian) {
  matrix_.diagonal() += damping;
}

void DenseHessian::times(const Vector& direction, Vector& product) const {
  product.setZero(direction.size());
  add_symmetric_product(matrix_, direction, product);
}

void DenseHessian::sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const {
  sweep_coordinates(matrix_, regularizer, point, slope);
}

void DenseHessian::solve(const std::vector<Index>& free_set, const Vector& right, double,
                         Vector& p) const {
  const auto size = static_cast<Index>(free_set.size());
  Matrix factor(size, size);
  Vector packed;
  factorize(matrix_, free_set, factor);
  solve_factored(factor, free_set, right, packed, p);
}

ProductHessian::ProductHessian(const Objective& objective, const Vector& x, Bounds bounds)
    : objective_(objective),
      bounds_(bounds),
      second_derivatives_(objective.second_derivative_count(Batch::all())) {
  objective_.evaluate_second_derivatives(x, Batch::all(), nullptr, second_derivatives_, scratch_);
}

void ProductHessian::times(const Vector& direction, Vector& product) const {
  objective_.weighted_hessian_times(second_derivatives_, Batch::all(), direction, product,
                                    scratch_);
  product += bounds_.damping * direction;
}

void ProductHessian::sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const {
  const double step = 1 / (bounds_.smoothness + bounds_.damping);
  Vector target, product;
  regularizer.prox(step, point - step * slope, target);
  times(target - point, product);
  point = target;
  slope += product;
}

void ProductHessian::solve(const std::vector<Index>& free_set, const Vector& right,
                           double tolerance, Vector& p) const {
  Vector inside = Vector::Zero(right.size());
  for (const Index k : free_set) inside[k] = 1;
  p.setZero(right.size());
  Vector residual = right.cwiseProduct(inside);
  Vector direction = residual;
  Vector product;
  double squares = residual.squaredNorm();
  const Index limit = std::min(max_conjugate_steps, 2 * static_cast<Index>(free_set.size()) + 10);
  for (Index k = 0; k < limit && std::sqrt(squares) > tolerance; ++k) {
    times(direction, product);
    product.array() *= inside.array();
    const double direction_curvature = direction.dot(product);
    const double length = squares / direction_curvature;
    p += length * direction;
    // Practically flat: the free set ends before the model does, and rounding rules what would
    // follow.
    if (direction_curvature <= 1e-11 * bounds_.smoothness * direction.squaredNorm()) break;
    residual -= length * product;
    const double next_squares = residual.squaredNorm();
    direction = residual + (next_squares / squares) * direction;
    squares = next_squares;
  }
}

const Vector& minimize(const QuadraticModel& model, QuadraticScratch& scratch) {
  scratch.u = model.center;
  scratch.slope = model.gradient;
  double best_residual = std::numeric_limits<double>::infinity();
  for (int round = 0; round < max_rounds; ++round) {
    sweep_to_a_free_set(model, scratch);
    // A cut makes the free set smaller: go on until its minimizer, or the next sweep would only
    // undo it.
    FreeSetStep step = step_on_free_set(model, scratch);
    while (step == FreeSetStep::cut) step = step_on_free_set(model, scratch);
    const double residual =
        stationarity(scratch.u, scratch.slope, model.regularizer, model.smoothness);
    if (residual <= model.tolerance) break;
    if (step == FreeSetStep::none && residual >= best_residual) break;  // at the level of rounding
    best_residual = std::min(best_residual, residual);
  }
  return scratch.u;
}

}  // namespace grove
