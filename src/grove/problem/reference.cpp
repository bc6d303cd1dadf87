#include "grove/problem/reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <Eigen/Cholesky>

#include "grove/problem/certificate.h"
#include "grove/problem/proximal_gradient.h"
#include "grove/problem/quadratic_model.h"
#include "grove/problem/restricted_model.h"

namespace grove {
namespace {

constexpr double least_damping = 1e-13;    ///< relative to the diagonal: keeps Cholesky defined
constexpr double value_noise = 1e-13;      ///< relative changes of f + r below it may be rounding
constexpr double acceptable = 1e-9;        ///< relative residual that may end a stalled search
constexpr double small_step = 1e-6;        ///< relative to x: the search is over, not just flat
constexpr double certified_gap = 1e-8;     ///< relative gap that an optimum may have
constexpr double smallest_optimum = 1e-7;  ///< of the objective at the start, as in StoppingRule
constexpr int patience = 10;  ///< end-game steps in a row that fail to halve the residual

struct Iterate {
  Vector x;
  Vector gradient;
  Matrix hessian;  ///< left empty beyond the dense limit
  double value = 0;
  double residual = 0;
};

/// Proximal Newton: minimize a quadratic model of f plus r itself, search along the line to its
/// minimizer, damp the model where the line search had to cut.
class ProximalNewton {
 public:
  ProximalNewton(const Objective& objective, const Regularizer& regularizer,
                 const ReferenceOptions& options)
      : objective_(objective),
        regularizer_(regularizer),
        options_(options),
        dense_(objective.dimension() <= options.dense_limit),
        smoothness_(objective.smoothness()) {
    if (!(smoothness_ > 0)) smoothness_ = 1;  // a constant f: any scale measures it
  }

  Result<ReferenceSolution> run();

 private:
  enum class Progress { moved, stalled };

  Iterate at(Vector x);
  Vector model_minimizer(const Iterate& from);
  const Vector& restricted_minimizer(const Iterate& from, double relative);
  Progress advance(Iterate& current, const Vector& target, double predicted);
  double minimizing_length(const Iterate& current, const Vector& target);
  double slope_at(const Vector& x, const Vector& step);
  Progress advance_by_residual(Iterate& current, const Vector& target);
  bool escapes(const Iterate& current, const Vector& target, double share_left);
  Result<ReferenceSolution> settled(const Iterate& current, const Vector& target, double predicted);
  ReferenceSolution solution(const Iterate& iterate) const;
  bool is_unique(const Iterate& iterate) const;
  Error no_minimizer() const;
  Error not_found(const Iterate& current) const;

  const Objective& objective_;
  const Regularizer& regularizer_;
  const ReferenceOptions& options_;
  const bool dense_;
  double smoothness_;
  double damping_ = least_damping;
  Vector diagonal_;  ///< largest Hessian diagonal so far: the natural scale of each coordinate
  Vector start_;
  double start_residual_ = 0;
  int iterations_ = 0;
  int fruitless_ = 0;
  ObjectiveScratch scratch_;
  QuadraticScratch model_scratch_;
  RestrictedMinimizer restricted_;  ///< beyond the dense limit
  std::vector<double> second_derivatives_;
};

Iterate ProximalNewton::at(Vector x) {
  Iterate result;
  result.x = std::move(x);
  result.value = objective_.evaluate(result.x, Batch::all(), &result.gradient,
                                     dense_ ? &result.hessian : nullptr, scratch_) +
                 regularizer_.value(result.x);
  result.residual = stationarity(result.x, result.gradient, regularizer_, smoothness_);
  return result;
}

/// Solved as sharply as pays: the error of the step shrinks with the residual, so that the outer
/// search keeps its quadratic speed.
Vector ProximalNewton::model_minimizer(const Iterate& from) {
  const double relative = std::clamp(from.residual / start_residual_, 1e-6, 1e-2);
  const auto minimize_with = [&](const ModelHessian& hessian) -> Vector {
    return minimize({.center = from.x,
                     .gradient = from.gradient,
                     .hessian = hessian,
                     .regularizer = regularizer_,
                     .smoothness = smoothness_,
                     .tolerance = relative * from.residual},
                    model_scratch_);
  };
  if (!dense_ && objective_.restricts()) return restricted_minimizer(from, relative);
  if (!dense_)
    return minimize_with(ProductHessian(
        objective_, from.x, {.smoothness = smoothness_, .damping = damping_ * smoothness_}));
  diagonal_ = diagonal_.cwiseMax(from.hessian.diagonal());
  const Vector scale = (diagonal_.array() > 0).select(diagonal_, smoothness_);
  return minimize_with(DenseHessian(from.hessian, damping_ * scale));
}

const Vector& ProximalNewton::restricted_minimizer(const Iterate& from, double relative) {
  second_derivatives_.resize(
      static_cast<std::size_t>(objective_.second_derivative_count(Batch::all())));
  objective_.evaluate_second_derivatives(from.x, Batch::all(), nullptr, second_derivatives_,
                                         scratch_);
  return restricted_.minimize({.f = objective_,
                               .second_derivatives = second_derivatives_,
                               .x = from.x,
                               .gradient = from.gradient,
                               .regularizer = regularizer_,
                               .smoothness = smoothness_,
                               .damping = damping_ * smoothness_,
                               .tolerance = relative * from.residual});
}

/// A line search on f + r from `current` towards `target`: the full step if it lowers the value
/// enough, else near the minimizer between. Accurate there, because the kinks of a Huber loss
/// reward crossing as many as pay (a mere decrease would creep from one to the next).
ProximalNewton::Progress ProximalNewton::advance(Iterate& current, const Vector& target,
                                                 double predicted) {
  constexpr double sufficient = 1e-4;
  if (predicted <= value_noise * std::abs(current.value))
    return advance_by_residual(current, target);
  Iterate next = at(target);
  if (next.value <= current.value - sufficient * predicted) {
    damping_ = std::max(damping_ / 10, least_damping);
    current = std::move(next);
    return Progress::moved;
  }
  const double length = minimizing_length(current, target);
  Vector between = current.x + length * (target - current.x);
  for (Index k = 0; k < regularizer_.regularized; ++k)  // rounding may step over a bound
    between[k] = std::clamp(between[k], regularizer_.low_at(k), regularizer_.high_at(k));
  next = at(std::move(between));
  const bool lower = next.value < current.value;
  damping_ = std::max(length <= 0.25 || !lower ? 10 * damping_ : damping_, 1e-6);
  if (lower) current = std::move(next);
  return Progress::moved;
}

/// Bisection on the slope of the convex function f + r between the points, on a logarithmic scale
/// while no descent has been seen. The slope left is at most a tenth of that at the start.
double ProximalNewton::minimizing_length(const Iterate& current, const Vector& target) {
  const Vector step = target - current.x;
  const double first_slope = slope_at(current.x, step);
  double low = 0, high = 1;
  double length = high;
  for (int k = 0; k < 60; ++k) {
    length = low > 0 ? 0.5 * (low + high) : 0.25 * high;
    const double slope = slope_at(current.x + length * step, step);
    if (std::abs(slope) <= 0.1 * std::abs(first_slope)) break;
    (slope < 0 ? low : high) = length;
  }
  return length;
}

/// Of f + r at x along the step.
double ProximalNewton::slope_at(const Vector& x, const Vector& step) {
  Vector gradient;
  objective_.evaluate(x, Batch::all(), &gradient, nullptr, scratch_);
  double slope = gradient.dot(step);
  for (Index k = 0; k < regularizer_.regularized; ++k) {
    const double growth = x[k] > 0 ? step[k] : x[k] < 0 ? -step[k] : std::abs(step[k]);  // of |x_k|
    slope += regularizer_.l1_at(k) * growth;
  }
  return slope;
}

/// So near the end that values no longer distinguish points: the residual must.
ProximalNewton::Progress ProximalNewton::advance_by_residual(Iterate& current,
                                                             const Vector& target) {
  Iterate next = at(target);
  fruitless_ = next.residual < 0.5 * current.residual ? 0 : fruitless_ + 1;
  if (next.residual < current.residual) {
    current = std::move(next);
    damping_ = std::max(damping_ / 100, least_damping);  // it would leave linear convergence only
  } else {
    damping_ = std::max(10 * damping_, 1e-9);
  }
  return fruitless_ < patience ? Progress::moved : Progress::stalled;
}

/// Whether r, and a quadratic penalty beside it, stays finite and does not grow for ever along the
/// direction.
bool recedes(const Regularizer& r, bool penalized, const Vector& direction) {
  constexpr double rounding = 1e-9;  // of the longest entry
  const double least = rounding * direction.lpNorm<Eigen::Infinity>();
  for (Index k = 0; k < std::min(r.regularized, direction.size()); ++k)
    if (std::abs(direction[k]) > least &&
        (penalized || r.l1_at(k) > 0 ||
         std::isfinite(direction[k] > 0 ? r.high_at(k) : r.low_at(k))))
      return false;
  return true;
}

/// True when the step to `target` still goes somewhere although f has lost nearly all the second
/// derivative that it had at the start in that direction, and f + r is no larger a hundred steps
/// farther: it falls towards a value it never takes.
bool ProximalNewton::escapes(const Iterate& current, const Vector& target, double share_left) {
  const Vector step = target - current.x;
  if (step.norm() <= small_step * target.norm() ||
      !recedes(regularizer_, objective_.penalizes(), step))
    return false;
  Vector product;
  objective_.hessian_times(start_, Batch::all(), step, product, scratch_);
  const double before = step.dot(product);
  if (before <= 1e-10 * smoothness_ * step.squaredNorm()) return false;  // flat from the start
  objective_.hessian_times(current.x, Batch::all(), step, product, scratch_);
  if (!(step.dot(product) <= share_left * before)) return false;
  constexpr double far = 100, rounding = 1e-9;
  const Vector point = current.x + far * step;
  const double value = objective_.evaluate(point, Batch::all(), nullptr, nullptr, scratch_) +
                       regularizer_.value(point);
  return value <= current.value + rounding * std::abs(current.value);
}

/// The verdict when neither value nor residual falls any more.
Result<ReferenceSolution> ProximalNewton::settled(const Iterate& current, const Vector& target,
                                                  double predicted) {
  if (escapes(current, target, 1e-5)) return no_minimizer();
  const bool flat = predicted <= 1e-15 * std::abs(current.value);
  if (flat || current.residual <= acceptable * start_residual_) return solution(current);
  return not_found(current);
}

ReferenceSolution ProximalNewton::solution(const Iterate& iterate) const {
  return {.x = iterate.x,
          .objective = iterate.value,
          .residual = iterate.residual,
          .iterations = iterations_,
          .unique = !dense_ || is_unique(iterate)};
}

/// Whether the Hessian is positive definite on the coordinates where r lets x move both ways.
bool ProximalNewton::is_unique(const Iterate& iterate) const {
  constexpr Index most = 500;         // the factorization is cubic
  constexpr double rounding = 1e-11;  // of a pivot, relative to its diagonal entry
  std::vector<Index> free;
  for (Index k = 0; k < iterate.x.size(); ++k)
    if (regularizer_.free_at(k, 1 / smoothness_, iterate.x[k] - iterate.gradient[k] / smoothness_))
      free.push_back(k);
  if (free.empty() || static_cast<Index>(free.size()) > most) return true;
  Matrix block = iterate.hessian(free, free);
  const Vector diagonal = block.diagonal();
  if (!(diagonal.minCoeff() > 0)) return false;
  const Vector scale = diagonal.cwiseSqrt().cwiseInverse();
  block = scale.asDiagonal() * block * scale.asDiagonal();
  const Eigen::LDLT<Matrix> factor(block);
  return factor.vectorD().minCoeff() > rounding;
}

Error ProximalNewton::no_minimizer() const {
  return {std::string(no_minimizer_field),
          "the problem has no minimizer: the loss keeps falling while coefficients grow without "
          "bound, as when a feature or a combination of them separates the classes; add --l2 or "
          "--l1, or use --no-reference"};
}

Error ProximalNewton::not_found(const Iterate& current) const {
  return {"reference",
          fmt::format("no optimum found in {} iterations (optimality residual still {:.1e} of the "
                      "first); scale the features or add --l2, or use --no-reference",
                      iterations_, current.residual / start_residual_)};
}

/// Zero, or the point of the box nearest to it.
Vector start_of(const Objective& objective, const Regularizer& regularizer) {
  Vector start = Vector::Zero(objective.dimension());
  for (Index k = 0; k < regularizer.regularized; ++k)
    start[k] = std::clamp(0.0, regularizer.low_at(k), regularizer.high_at(k));
  return start;
}

double objective_at_start(const Objective& objective, const Regularizer& regularizer) {
  ObjectiveScratch scratch;
  const Vector start = start_of(objective, regularizer);
  return objective.evaluate(start, Batch::all(), nullptr, nullptr, scratch) +
         regularizer.value(start);
}

Result<ReferenceSolution> ProximalNewton::run() {
  diagonal_ = Vector::Zero(objective_.dimension());
  start_ = start_of(objective_, regularizer_);
  Iterate current = at(start_);
  start_residual_ = current.residual;
  if (!std::isfinite(current.value) || !std::isfinite(start_residual_))
    return Error{"reference",
                 "the objective is not finite at the start; samples must be finite "
                 "numbers whose squares do not overflow"};

  const double goal = options_.tolerance * start_residual_;
  while (current.residual > 0) {
    if (iterations_ == options_.max_iterations) return not_found(current);
    ++iterations_;
    const Vector target = model_minimizer(current);
    const double predicted = -current.gradient.dot(target - current.x) -
                             regularizer_.value(target) + regularizer_.value(current.x);
    if (current.residual <= goal) {
      if (escapes(current, target, 1e-10)) return no_minimizer();
      if ((target - current.x).norm() <= small_step * target.norm()) {
        advance_by_residual(current, target);
        break;
      }
    }
    if (advance(current, target, predicted) == Progress::stalled)
      return settled(current, target, predicted);
  }
  return solution(current);
}

}  // namespace

double stationarity(const Vector& x, const Vector& gradient, const Regularizer& regularizer,
                    double smoothness) {
  if (!regularizer.separable()) {
    Vector moved;
    regularizer.prox(1 / smoothness, x - gradient / smoothness, moved);
    return smoothness * (x - moved).norm();
  }
  double squares = 0;
  for (Index k = 0; k < x.size(); ++k) {
    const double v = x[k] - gradient[k] / smoothness;
    double move = 0;
    if (k >= regularizer.regularized)
      move = gradient[k];
    else if (regularizer.free_at(k, 1 / smoothness, v))  // the prox only shifts: x cancels
      move = gradient[k] + std::copysign(regularizer.l1_at(k), v);
    else
      move = smoothness * (x[k] - regularizer.prox_at(k, 1 / smoothness, v));
    squares += move * move;
  }
  return std::sqrt(squares);
}

Result<ReferenceSolution> solve_reference(const Objective& objective,
                                          const Regularizer& regularizer,
                                          const ReferenceOptions& options) {
  assert(regularizer.regularized <= objective.dimension());
  assert(regularizer.low <= regularizer.high);
  if (!regularizer.separable()) return solve_by_proximal_gradient(objective, regularizer, options);
  auto solution = ProximalNewton(objective, regularizer, options).run();
  if (!solution) return solution;
  const Certificate certificate = Certifier(objective, regularizer).at(solution->x);
  const double start = objective_at_start(objective, regularizer);
  const double scale = std::max(certificate.value - certificate.gap, smallest_optimum * start);
  if (certificate.exact && certificate.gap > certified_gap * scale)
    return Error{"reference",
                 fmt::format("no optimum found: the best objective {:.10g} may be {:.1e} of the "
                             "optimum above it; scale the features or add --l2, or use "
                             "--no-reference",
                             certificate.value, certificate.gap / scale)};
  return solution;
}

}  // namespace grove
