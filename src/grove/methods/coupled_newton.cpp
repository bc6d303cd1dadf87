#include "grove/methods/coupled_newton.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "grove/methods/batch.h"
#include "grove/methods/halving.h"

namespace grove {
namespace {

constexpr double sufficient = 1e-4;  ///< share of the promise that a step must keep (Armijo)
constexpr double rounding = 1e-11;   ///< relative decreases below it cannot be told from none
constexpr int steps_per_anchor = 5;  ///< steps that one gradient over all samples corrects
constexpr Index groups = 10;         ///< into which a batch is split to see how noisy its mean is
constexpr double noise_limit = 0.5;  ///< of a gradient, relative to what the step makes of it

bool below_rounding(double promise, double value) {
  return !(promise > rounding * (1e-300 + std::abs(value)));
}

/// On a quadratic a Newton step gains half of its promise, and nothing is left to gain.
bool as_quadratic(double gained, double promise) {
  return std::abs(gained / (0.5 * promise) - 1) < 0.1;
}

struct Sizes {
  Index samples;
  Index gradient(const FullBatches&) const { return samples; }
  Index hessian(const FullBatches&) const { return samples; }
  // Two at least: the noise of one sample cannot be seen.
  template <class Batches>
  Index gradient(const Batches& batches) const {
    return std::clamp<Index>(batches.gradient, std::min<Index>(2, samples), samples);
  }
  template <class Batches>
  Index hessian(const Batches& batches) const {
    return std::min(batches.hessian, samples);
  }
};

}  // namespace

struct CoupledNewton::Job {
  const CoupledModel& model;
  const NewtonBudget& budget;
  const SolverTurn& turn;
  Workspace& workspace;
  Cost& cost;
  std::uint64_t draws = 0;  ///< numbers the batches of an activation

  Vector& point() { return workspace.point; }
  double value_of(const Evaluation& evaluation) const {
    return evaluation.value + model.rest_of_value(evaluation.at);
  }
};

CoupledNewton::CoupledNewton(const Sampling& sampling, Index samples)
    : sampling_(sampling),
      samples_(samples),
      gradient_batch_(
          std::visit([&](const auto& kind) { return Sizes{samples}.gradient(kind); }, sampling)),
      hessian_batch_(
          std::visit([&](const auto& kind) { return Sizes{samples}.hessian(kind); }, sampling)) {}

int CoupledNewton::minimize(const CoupledModel& model, const NewtonBudget& budget,
                            const SolverTurn& turn, Workspace& workspace, Cost& cost) {
  Job job{model, budget, turn, workspace, cost};
  if (std::holds_alternative<VarianceReduced>(sampling_)) return step_with_anchors(job);
  if (std::holds_alternative<AdaptiveBatches>(sampling_)) return step_on_growing_batches(job);
  return step_on_all(job, budget.steps);
}

int CoupledNewton::step_on_all(Job& job, int steps) {
  double first_promise = 0;
  for (int step = 1; step <= steps; ++step) {
    look(job);
    prepare_curvature(job);
    const Proposal proposal = propose(job, job.point(), last_.gradient);
    if (below_rounding(proposal.promise, job.value_of(last_))) {
      job.point() = proposal.target;
      return step;
    }
    const double gained = advance(job, Batch::all(), last_, proposal);
    if (step == 1) first_promise = proposal.promise;
    if ((job.budget.thrifty && as_quadratic(gained, proposal.promise)) ||
        proposal.promise < job.budget.decrease * first_promise)
      return step;
  }
  return steps;
}

/// One pass over all samples serves the first of several steps as gradient, the others as control
/// variate (SVRG), and the activation before as safeguard.
int CoupledNewton::step_with_anchors(Job& job) {
  double first_promise = 0;
  int done = 0;
  while (done < job.budget.steps) {
    look(job);
    prepare_curvature(job);
    const Proposal first = propose(job, job.point(), last_.gradient);
    if (below_rounding(first.promise, job.value_of(last_))) {
      job.point() = first.target;
      return done + 1;
    }
    const int steps = std::min(steps_per_anchor, job.budget.steps - done);
    const double before = job.value_of(last_);
    Evaluation end = evaluate(job, anchored_steps(job, first.target, steps - 1), Batch::all());
    if (steps > 1 && is_noisy(job, end)) gradient_batch_ = std::min(samples_, 2 * gradient_batch_);
    if (before - job.value_of(end) >= sufficient * first.promise) {
      settle(job, last_, std::move(end));
    } else {
      curvature_failed_ = true;
      const std::uint64_t damped = job.cost.damped_steps;
      advance(job, Batch::all(), last_, first);
      job.cost.damped_steps = damped + 1;  // once, whether the first step alone is whole or not
    }
    if (done == 0) first_promise = first.promise;
    done += steps;
    if (first.promise < job.budget.decrease * first_promise) break;
  }
  return done;
}

Vector CoupledNewton::anchored_steps(Job& job, Vector from, int steps) {
  for (int k = 0; k < steps; ++k) from = propose(job, from, anchored_gradient(job, from)).target;
  return from;
}

/// The gradient over a batch, corrected by what the batch says at the anchor, where all is known.
Vector CoupledNewton::anchored_gradient(Job& job, const Vector& at) const {
  const Batch batch = draw(job, Purpose::gradient_batch, gradient_batch_);
  return last_.gradient + evaluate(job, at, batch).gradient -
         evaluate(job, job.point(), batch).gradient;
}

/// Whether the gradient over a batch at the end of the steps is off by too much of what led there.
bool CoupledNewton::is_noisy(Job& job, const Evaluation& end) const {
  if (gradient_batch_ == samples_) return false;
  const double noise = (anchored_gradient(job, end.at) - end.gradient).norm();
  return noise > noise_limit * curvature_.pull_of(end.at - job.point());
}

/// A batch grows until its gradient's noise is below the gradient that the step answers to; a batch
/// that has become the shard stays it.
int CoupledNewton::step_on_growing_batches(Job& job) {
  double first_promise = 0;
  for (int step = 1; step <= job.budget.steps; ++step) {
    prepare_curvature(job);
    if (gradient_batch_ >= samples_)
      return step - 1 + step_on_all(job, job.budget.steps - step + 1);
    const Batch batch = draw(job, Purpose::gradient_batch, gradient_batch_);
    double squared_noise = 0;
    Evaluation here = evaluate_in_groups(job, batch, squared_noise);
    const Proposal proposal = propose(job, job.point(), here.gradient);
    const double allowed = noise_limit * curvature_.pull_of(proposal.target - job.point());
    if (!(squared_noise <= allowed * allowed)) {
      gradient_batch_ = std::min(samples_, 2 * gradient_batch_);
      --step;  // a look at the noise is no step
      continue;
    }
    if (below_rounding(proposal.promise, job.value_of(here))) {
      job.point() = proposal.target;
      return step;
    }
    const double gained = advance(job, batch, here, proposal);
    if (step == 1) first_promise = proposal.promise;
    if ((job.budget.thrifty && as_quadratic(gained, proposal.promise)) ||
        proposal.promise < job.budget.decrease * first_promise)
      return step;
  }
  return job.budget.steps;
}

CoupledNewton::Evaluation CoupledNewton::evaluate(Job& job, const Vector& at, Batch batch) const {
  Evaluation result{.at = at};
  result.value =
      job.model.objective.evaluate(at, batch, &result.gradient, nullptr, job.workspace.objective);
  job.cost.gradient_samples += batch.whole() ? samples_ : static_cast<Index>(batch.rows().size());
  return result;
}

/// The mean over the batch at the point, from means of groups: how these scatter tells the variance
/// of the mean, less what drawing without replacement takes from it.
CoupledNewton::Evaluation CoupledNewton::evaluate_in_groups(Job& job, Batch batch,
                                                            double& squared_noise) const {
  const auto rows = batch.rows();
  const Index size = static_cast<Index>(rows.size()), count = std::min(groups, size);
  Evaluation mean{.at = job.point(), .gradient = Vector::Zero(job.point().size())};
  double squares = 0;
  for (Index k = 0; k < count; ++k) {
    const Index begin = k * size / count, end = (k + 1) * size / count;
    const Evaluation group =
        evaluate(job, job.point(), Batch::of(rows.subspan(begin, end - begin)));
    const double weight = static_cast<double>(end - begin) / static_cast<double>(size);
    mean.value += weight * group.value;
    mean.gradient += weight * group.gradient;
    squares += weight * group.gradient.squaredNorm();
  }
  const double left_out = 1 - static_cast<double>(size) / static_cast<double>(samples_);
  squared_noise =
      left_out * (squares - mean.gradient.squaredNorm()) / static_cast<double>(count - 1);
  return mean;
}

/// Value and gradient over all samples at the point; known if the last activation ended there.
void CoupledNewton::look(Job& job) {
  if (last_.at.size() == 0 || last_.at != job.point())
    last_ = evaluate(job, job.point(), Batch::all());
}

/// A Hessian that failed was taken too far away, or over too few samples.
void CoupledNewton::prepare_curvature(Job& job) {
  if (curvature_.known() && !curvature_failed_) return;
  if (curvature_failed_) hessian_batch_ = std::min(samples_, 2 * hessian_batch_);
  const Batch batch = draw(job, Purpose::hessian_batch, hessian_batch_);
  curvature_.take(job.model.objective, job.point(), batch, job.workspace.objective);
  job.cost.hessian_samples += hessian_batch_;
  curvature_failed_ = false;
}

CoupledNewton::Proposal CoupledNewton::propose(Job& job, const Vector& at, const Vector& gradient) {
  const CoupledModel& model = job.model;
  Vector& whole = job.workspace.gradient;
  whole = gradient;
  model.add_coupling(at, whole);
  Proposal result{.target = curvature_.target(model, at, whole)};
  job.cost.solves += 1;
  result.promise = whole.dot(at - result.target);
  if (!model.regularizer.trivial())
    result.promise += model.regularizer.value(at) - model.regularizer.value(result.target);
  return result;
}

/// Moves towards the target as far as lowers the model over the batch: the whole way, or half of
/// it, or half of that. Returns what the model lost.
double CoupledNewton::advance(Job& job, Batch batch, Evaluation& here, const Proposal& proposal) {
  const double before = job.value_of(here);
  const Vector direction = proposal.target - here.at;
  double length = 1;
  // A whole step keeps the exact zeros of the target.
  Evaluation next = evaluate(job, proposal.target, batch);
  const auto too_high = [&] {
    return !(job.value_of(next) <= before - sufficient * length * proposal.promise);
  };
  for (int k = 0; k < max_halvings && too_high(); ++k) {
    length *= 0.5;
    next = evaluate(job, here.at + length * direction, batch);
  }
  if (length < 1) job.cost.damped_steps += 1;
  const double gained = before - job.value_of(next);
  settle(job, here, std::move(next));
  return gained;
}

void CoupledNewton::settle(Job& job, Evaluation& here, Evaluation next) {
  const Vector step = next.at - here.at;
  if (!curvature_.explains(step, step.dot(next.gradient - here.gradient))) curvature_failed_ = true;
  job.point() = next.at;
  here = std::move(next);
}

Batch CoupledNewton::draw(Job& job, Purpose purpose, Index size) const {
  return draw_batch_or_all(batch_key(job.turn, purpose, job.draws++), size, samples_,
                           job.workspace);
}

void CoupledNewton::take_hessian(const Objective& objective, const SolverTurn& turn,
                                 Workspace& workspace, Cost& cost) {
  const Regularizer none;
  const NewtonBudget no_steps{};
  const CoupledModel model{objective, workspace.point, workspace.pull, {}, {}, none};
  Job job{model, no_steps, turn, workspace, cost};
  prepare_curvature(job);
}

void CoupledNewton::save(ByteWriter& writer) const {
  writer.put(gradient_batch_);
  writer.put(hessian_batch_);
  writer.put(curvature_failed_);
  curvature_.save(writer);
  writer.put(last_.at.size() > 0);
  if (last_.at.size() == 0) return;
  writer.put(last_.at);
  writer.put(last_.value);
  writer.put(last_.gradient);
}

void CoupledNewton::load(ByteReader& reader, Index dimension) {
  reader.get(gradient_batch_);
  reader.get(hessian_batch_);
  reader.get(curvature_failed_);
  curvature_.load(reader, dimension);
  bool present = false;
  reader.get(present);
  last_.at.resize(present ? dimension : 0);
  last_.gradient.resize(present ? dimension : 0);
  if (!present) return;
  reader.get(last_.at);
  reader.get(last_.value);
  reader.get(last_.gradient);
}

SampledNewtonSolver::SampledNewtonSolver(const Sampling& sampling, const Objective& objective)
    : dimension_(objective.dimension()), newton_(sampling, objective.samples()) {}

void SampledNewtonSolver::solve(const LocalModel& model, const SolverTurn& turn,
                                Workspace& workspace, Cost& cost) {
  const CoupledModel coupled{.objective = model.objective,
                             .anchor = model.anchor,
                             .pull = model.pull,
                             .coupling = {.scalar = model.tether},
                             .stiffness = {.scalar = model.stiffness},
                             .regularizer = none_};
  newton_.minimize(coupled, {.steps = turn.activation.local_steps}, turn, workspace, cost);
}

}  // namespace grove
