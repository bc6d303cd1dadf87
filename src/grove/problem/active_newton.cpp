#include "grove/problem/active_newton.h"

#include <algorithm>
#include <cmath>

#include "grove/problem/reference.h"

namespace grove {
namespace {

constexpr double value_noise = 1e-13;  ///< relative changes of f below it may be rounding
constexpr double sufficient = 1e-4;
constexpr double as_predicted = 0.1;  ///< how far the decrease may be from that of the quadratic
constexpr int most_halvings = 30;
constexpr Index fewest_new = 200;  ///< coordinates that may leave zero in one step

double l1_change(const Regularizer& r, Index k, double from, double to) {
  return k < r.regularized ? r.l1_at(k) * (std::abs(from) - std::abs(to)) : 0;
}

}  // namespace

void ActiveNewton::evaluate(const Objective& f, const Vector& at, Evaluation& result) {
  result.second_derivatives.resize(
      static_cast<std::size_t>(f.second_derivative_count(Batch::all())));
  result.value = f.evaluate_second_derivatives(at, Batch::all(), &result.gradient,
                                               result.second_derivatives, scratch_);
}

/// Fills in the target and the step to it; returns the decrease that it predicts to first order.
double ActiveNewton::propose(const ActiveModel& model, const ActiveBudget& budget,
                             const Vector& point) {
  const auto support = static_cast<Index>((point.array() != 0).count());
  active_.find(point, smooth_, model.r, std::max(fewest_new, support));
  step_.setZero(point.size());
  target_ = point;
  if (active_.size() == 0) return 0;
  model.term.prepare(active_.members());
  rows_.clear(active_.size());
  model.f.append_restricted(here_.second_derivatives, active_.places(), 1, rows_);
  model.term.blocks(active_.places(), block_places_, block_);
  diagonal_ = rows_.ridge;
  for (Index k = 0; k < active_.size(); ++k)
    diagonal_[k] += model.term.diagonal(active_.members()[static_cast<std::size_t>(k)]);
  active_.gather(point, center_);
  active_.gather(smooth_, slope_);
  const RestrictedHessian hessian(rows_, diagonal_, block_places_, block_);
  const Regularizer r = active_.regularizer(model.r);
  const double smoothness = hessian.matrix_diagonal().sum();
  const double residual = stationarity(center_, slope_, r, smoothness);
  const Vector& found = grove::minimize({.center = center_,
                                         .gradient = slope_,
                                         .hessian = hessian,
                                         .regularizer = r,
                                         .smoothness = smoothness,
                                         .tolerance = budget.accuracy * residual},
                                        quadratic_);
  double predicted = 0;
  for (Index k = 0; k < active_.size(); ++k) {
    const Index at = active_.members()[static_cast<std::size_t>(k)];
    target_[at] = found[k];
    step_[at] = found[k] - center_[k];
    predicted += l1_change(model.r, at, center_[k], found[k]) - slope_[k] * step_[at];
  }
  return predicted;
}

/// What a part of the step takes off the model beside f.
double ActiveNewton::decrease_of_rest(const ActiveModel& model, const Vector& point,
                                      double length) {
  double sum = 0;
  for (const std::uint32_t member : active_.members()) {
    const Index k = member;
    const double change = length * step_[k];
    sum += l1_change(model.r, k, point[k], length == 1 ? target_[k] : point[k] + change) -
           change * (model.linear[k] + displacement_product_[k] + 0.5 * length * product_[k]);
  }
  return sum;
}

ActiveWork ActiveNewton::minimize(const ActiveModel& model, const ActiveBudget& budget,
                                  Vector& point) {
  ActiveWork work;
  evaluate(model.f, point, here_);
  ++work.evaluations;
  double first = 0;
  for (int step = 0; step < budget.steps; ++step) {
    displacement_ = point - model.anchor;
    displacement_product_.setZero(point.size());
    if (!displacement_.isZero(0)) model.term.add_product(displacement_, displacement_product_);
    smooth_ = here_.gradient + model.linear + displacement_product_;
    if (!smooth_.allFinite()) break;
    const double predicted = propose(model, budget, point);
    if (!(predicted > 0)) break;
    ++work.steps;
    if (step == 0) first = predicted;
    if (predicted <= value_noise * std::abs(here_.value)) {
      point = target_;  // values no longer tell points apart
      evaluate(model.f, point, here_);
      ++work.evaluations;
      break;
    }
    product_.setZero(point.size());
    model.term.add_product(step_, product_);
    double length = 1, gained = 0;
    bool lower = false;
    for (int k = 0; k < most_halvings && !lower; ++k) {
      if (k > 0) length *= 0.5;
      trial_ = length == 1 ? target_ : Vector(point + length * step_);
      evaluate(model.f, trial_, next_);
      ++work.evaluations;
      gained = here_.value - next_.value + decrease_of_rest(model, point, length);
      lower = gained >= sufficient * length * predicted;
    }
    if (!lower) break;
    if (length < 1) ++work.damped;
    std::swap(point, trial_);
    std::swap(here_, next_);
    if (budget.stop_when_quadratic && length == 1 &&
        std::abs(gained / (0.5 * predicted) - 1) < as_predicted)
      break;
    if (predicted <= budget.decrease * first) break;
  }
  return work;
}

}  // namespace grove
