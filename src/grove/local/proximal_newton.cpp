#include "grove/local/proximal_newton.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "grove/local/batch.h"
#include "grove/local/halving.h"

namespace grove {
namespace {

constexpr double sufficient = 1e-4;  ///< share of the predicted decrease (Armijo)
constexpr double rounding = 1e-11;   ///< relative decreases below it are rounding errors
constexpr int exact_steps = 100;     ///< damped Newton on a strongly convex model needs far fewer
constexpr int steps_per_anchor = 5;  ///< steps that one gradient over all samples corrects
constexpr Index groups = 10;         ///< of a batch, to estimate the noise of its mean
constexpr double noise_limit = 0.5;  ///< norm test: noise over the norm of system step

bool below_rounding(double predicted, double value) {
  return !(predicted > rounding * (1e-300 + std::abs(value)));
}

/// Ratio test: on a quadratic a Newton step decreases the model by half of the predicted, and the
/// next step would gain nothing.
bool is_quadratic(double gained, double predicted) {
  return std::abs(gained / (0.5 * predicted) - 1) < 0.1;
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

struct ProximalNewton::Job {
  const LocalModel& model;
  const NewtonBudget& budget;
  const SolverTurn& turn;
  Workspace& workspace;
  Cost& cost;
  std::uint64_t draws = 0;       ///< numbers the batches of an activation
  bool last_is_coupled = false;  ///< last_ has the terms of this model
  Batch hessian_batch = Batch::all();

  Vector& point() { return workspace.point; }
  void add_coupling(Evaluation& evaluation) const {
    evaluation.beyond_objective =
        model.value_beyond_objective(evaluation.at, evaluation.center_gradient, workspace);
  }
  double product_norm_to(const Vector& end, const KeptHessian& hessian) {
    workspace.trial = end - workspace.point;
    return hessian.product_norm(workspace.trial, workspace.product);
  }
};

/// The gradient of the model's smooth part is their sum and the coupling gradient.
struct ProximalNewton::SmoothGradient {
  const Vector& gradient;
  const Vector& center_gradient;
};

ProximalNewton::ProximalNewton(const Sampling& sampling, const Objective& objective)
    : sampling_(sampling),
      dimension_(objective.dimension()),
      samples_(objective.samples()),
      gradient_batch_(
          std::visit([&](const auto& kind) { return Sizes{samples_}.gradient(kind); }, sampling_)),
      hessian_batch_(
          std::visit([&](const auto& kind) { return Sizes{samples_}.hessian(kind); }, sampling_)) {}

ProximalNewton::ProximalNewton(const ProximalNewtonSteps& options, const Objective& objective)
    : ProximalNewton(options.sampling, objective) {
  budget_.stop_when_quadratic = options.stop_when_quadratic;
}

/// Batches that grow need a kept Hessian: its secant test shows whether they are large enough.
ProximalNewton::ProximalNewton(const NewtonSteps& options, const Objective& objective)
    : ProximalNewton(options.sampling, objective) {
  if (std::holds_alternative<FullBatches>(sampling_) ||
      std::holds_alternative<MiniBatches>(sampling_))
    fresh_.emplace(dimension_, options.largest_stored);
}

ProximalNewton::ProximalNewton(const ExactSolve& options, const Objective& objective)
    : ProximalNewton(FullBatches{}, objective) {
  budget_ = {.steps = exact_steps, .gradient_tolerance = options.tolerance};
  takes_all_steps_ = true;
  fresh_.emplace(dimension_, /*largest_stored=*/dimension_);
}

void ProximalNewton::solve(const LocalModel& model, const SolverTurn& turn, Workspace& workspace,
                           Cost& cost) {
  NewtonBudget budget = budget_;
  if (!takes_all_steps_) budget.steps = turn.activation.local_steps;
  minimize(model, budget, turn, workspace, cost);
}

int ProximalNewton::minimize(const LocalModel& model, const NewtonBudget& budget,
                             const SolverTurn& turn, Workspace& workspace, Cost& cost) {
  Job job{model, budget, turn, workspace, cost};
  if (fresh_) fresh_->begin_activation();
  if (const auto* sizes = std::get_if<MiniBatches>(&sampling_))
    return step_on_minibatches(job, *sizes);
  if (std::holds_alternative<VarianceReduced>(sampling_)) return step_with_anchors(job);
  if (std::holds_alternative<AdaptiveBatches>(sampling_)) return step_on_growing_batches(job);
  return step_on_all(job, budget.steps);
}

int ProximalNewton::step_on_all(Job& job, int steps) {
  double first_predicted = 0;
  HessianDetail least = job.budget.sketch > 0 ? HessianDetail::sketch : HessianDetail::whole;
  for (int step = 1; step <= steps; ++step) {
    evaluate_all(job);
    if (step > 1 && is_stationary(job)) return step - 1;
    prepare_hessian(job, least);
    propose(job, job.point(), {last_.gradient, last_.center_gradient}, proposal_);
    if (below_rounding(proposal_.predicted, last_.model_value())) {
      job.point() = proposal_.target;
      // The paper's steps are taken to the end: a linearized model converges only linearly.
      if (fresh_ && !job.budget.gradient_tolerance && job.point().allFinite()) continue;
      return step;
    }
    const double gained = advance(job, Batch::all(), last_);
    if (step == 1) first_predicted = proposal_.predicted;
    if (proposal_.predicted < job.budget.sketch * first_predicted) least = HessianDetail::whole;
    if ((job.budget.stop_when_quadratic && is_quadratic(gained, proposal_.predicted)) ||
        proposal_.predicted < job.budget.decrease * first_predicted)
      return step;
  }
  return steps;
}

bool ProximalNewton::is_stationary(const Job& job) const {
  const auto& tolerance = job.budget.gradient_tolerance;
  return tolerance &&
         (last_.gradient + job.model.coupling_gradient + last_.center_gradient).norm() <=
             *tolerance;
}

/// The paper's steps, eq. (10), without a safeguard: a sampled value does not distinguish an
/// overshoot from noise.
int ProximalNewton::step_on_minibatches(Job& job, const MiniBatches& sizes) {
  const Index gradient_size = std::min(sizes.gradient, samples_);
  const Index hessian_size = std::min(sizes.hessian, samples_);
  for (int step = 0; step < job.budget.steps; ++step) {
    const auto batch = [&](Purpose purpose, Index size) {
      return draw_batch_or_all(batch_key(job.turn, purpose, static_cast<std::uint64_t>(step)), size,
                               samples_, job.workspace);
    };
    sampled_.at = job.point();
    evaluate(job, batch(Purpose::gradient_batch, gradient_size), sampled_);
    job.add_coupling(sampled_);
    compute_fresh(job, batch(Purpose::hessian_batch, hessian_size));
    propose(job, job.point(), {sampled_.gradient, sampled_.center_gradient}, proposal_);
    job.point() = proposal_.target;
    if (!job.point().allFinite()) return step + 1;
  }
  return job.budget.steps;
}

/// SVRG. One pass over all samples is the gradient of the first of several steps, the control
/// variate of the others, and the safeguard of the steps before.
int ProximalNewton::step_with_anchors(Job& job) {
  double first_predicted = 0;
  int done = 0;
  while (done < job.budget.steps) {
    evaluate_all(job);
    prepare_hessian(job);
    propose(job, job.point(), {last_.gradient, last_.center_gradient}, proposal_);
    if (below_rounding(proposal_.predicted, last_.model_value())) {
      job.point() = proposal_.target;
      return done + 1;
    }
    const int steps = std::min(steps_per_anchor, job.budget.steps - done);
    anchored_steps(job, steps - 1);
    next_.at = later_.target;
    evaluate(job, Batch::all(), next_);
    job.add_coupling(next_);
    if (steps > 1 && is_noisy(job)) gradient_batch_ = std::min(samples_, 2 * gradient_batch_);
    if (last_.model_value() - next_.model_value() >= sufficient * proposal_.predicted) {
      job.workspace.trial = next_.at - last_.at;
      accept(job, last_, hessian_.step_curvature(job.workspace.trial, job.workspace.product));
    } else {
      hessian_failed_ = true;
      const std::uint64_t damped = job.cost.damped_steps;
      advance(job, Batch::all(), last_);
      job.cost.damped_steps = damped + 1;  // once, whether the first step alone is whole or not
    }
    if (done == 0) first_predicted = proposal_.predicted;
    done += steps;
    if (proposal_.predicted < job.budget.decrease * first_predicted) break;
  }
  return done;
}

/// Steps from the proposal's target to later_.target.
void ProximalNewton::anchored_steps(Job& job, int steps) {
  later_.target = proposal_.target;
  for (int k = 0; k < steps; ++k) {
    const Vector& gradient = anchored_gradient(job, later_.target);
    Vector& center_gradient = job.workspace.product;
    job.model.value_beyond_objective(later_.target, center_gradient, job.workspace);
    propose(job, later_.target, {gradient, center_gradient}, later_);
  }
}

/// The gradient over a batch, corrected by its error at the anchor, where the whole is known.
const Vector& ProximalNewton::anchored_gradient(Job& job, const Vector& at) {
  const Batch batch = draw(job, Purpose::gradient_batch, gradient_batch_);
  sampled_.at = at;
  evaluate(job, batch, sampled_);
  anchored_ = last_.gradient + sampled_.gradient;
  sampled_.at = job.point();
  evaluate(job, batch, sampled_);
  anchored_ -= sampled_.gradient;
  return anchored_;
}

/// Norm test of the gradient over a batch, at the end of the steps.
bool ProximalNewton::is_noisy(Job& job) {
  if (gradient_batch_ == samples_) return false;
  const double noise = (anchored_gradient(job, next_.at) - next_.gradient).norm();
  return noise > noise_limit * job.product_norm_to(next_.at, hessian_);
}

/// A batch grows until its gradient passes the norm test. Once it has all samples, it keeps them.
int ProximalNewton::step_on_growing_batches(Job& job) {
  double first_predicted = 0;
  for (int step = 1; step <= job.budget.steps; ++step) {
    prepare_hessian(job);
    if (gradient_batch_ >= samples_)
      return step - 1 + step_on_all(job, job.budget.steps - step + 1);
    const Batch batch = draw(job, Purpose::gradient_batch, gradient_batch_);
    const double squared_noise = evaluate_in_groups(job, batch, sampled_);
    job.add_coupling(sampled_);
    propose(job, job.point(), {sampled_.gradient, sampled_.center_gradient}, proposal_);
    const double allowed = noise_limit * job.product_norm_to(proposal_.target, hessian_);
    if (!(squared_noise <= allowed * allowed)) {
      gradient_batch_ = std::min(samples_, 2 * gradient_batch_);
      --step;  // no step was taken
      continue;
    }
    if (below_rounding(proposal_.predicted, sampled_.model_value())) {
      job.point() = proposal_.target;
      return step;
    }
    const double gained = advance(job, batch, sampled_);
    if (step == 1) first_predicted = proposal_.predicted;
    if ((job.budget.stop_when_quadratic && is_quadratic(gained, proposal_.predicted)) ||
        proposal_.predicted < job.budget.decrease * first_predicted)
      return step;
  }
  return job.budget.steps;
}

/// Fills in value and gradient.
void ProximalNewton::evaluate(Job& job, Batch batch, Evaluation& at) const {
  at.value =
      job.model.objective.evaluate(at.at, batch, &at.gradient, nullptr, job.workspace.objective);
  job.cost.gradient_samples += batch.whole() ? samples_ : static_cast<Index>(batch.rows().size());
}

/// The mean over the batch at the point, from means of groups. Returns the variance of its
/// gradient, estimated from the scatter of the groups and corrected for drawing without
/// replacement.
double ProximalNewton::evaluate_in_groups(Job& job, Batch batch, Evaluation& mean) {
  const auto rows = batch.rows();
  const Index size = static_cast<Index>(rows.size()), count = std::min(groups, size);
  Evaluation& group = next_;
  mean.at = group.at = job.point();
  mean.value = 0;
  mean.gradient.setZero(mean.at.size());
  double squares = 0;
  for (Index k = 0; k < count; ++k) {
    const Index begin = k * size / count, end = (k + 1) * size / count;
    evaluate(job, Batch::of(rows.subspan(begin, end - begin)), group);
    const double weight = static_cast<double>(end - begin) / static_cast<double>(size);
    mean.value += weight * group.value;
    mean.gradient += weight * group.gradient;
    squares += weight * group.gradient.squaredNorm();
  }
  const double left_out = 1 - static_cast<double>(size) / static_cast<double>(samples_);
  return left_out * (squares - mean.gradient.squaredNorm()) / static_cast<double>(count - 1);
}

/// Value and gradient over all samples at the point. They are known if the last step ended there.
void ProximalNewton::evaluate_all(Job& job) {
  const bool known = last_.at.size() > 0 && last_.at == job.point();
  if (known && job.last_is_coupled) return;
  if (!known) {
    last_.at = job.point();
    evaluate(job, Batch::all(), last_);
  }
  job.add_coupling(last_);
  job.last_is_coupled = true;
}

void ProximalNewton::compute_fresh(Job& job, Batch batch) {
  fresh_->compute(job.model.objective, job.point(), batch, job.workspace);
  job.hessian_batch = batch;
  job.cost.hessian_samples += batch.whole() ? samples_ : static_cast<Index>(batch.rows().size());
}

/// A Hessian that failed the secant test was computed too far away, or over too few samples.
void ProximalNewton::prepare_hessian(Job& job, HessianDetail least) {
  if (fresh_) return compute_fresh(job, Batch::all());
  if (hessian_.known() && !hessian_failed_ && (least == HessianDetail::sketch || detail_ == least))
    return;
  // With fewer than 2 d samples steps overshoot; with more than half of them little is saved.
  const Index sketch = std::max(samples_ / 4, 2 * job.point().size());
  detail_ = HessianDetail::whole;
  if (least == HessianDetail::sketch && hessian_batch_ == samples_ && 2 * sketch <= samples_) {
    const Index computed =
        hessian_.compute_sketch(job.model.objective, job.point(), sketch, job.workspace.objective);
    job.cost.hessian_samples += computed;
    if (computed < samples_) detail_ = HessianDetail::sketch;
  } else {
    if (hessian_failed_) hessian_batch_ = std::min(samples_, 2 * hessian_batch_);
    const Batch batch = draw(job, Purpose::hessian_batch, hessian_batch_);
    hessian_.compute(job.model.objective, job.point(), batch, job.workspace.objective);
    job.cost.hessian_samples += hessian_batch_;
  }
  hessian_failed_ = false;
}

/// `at` may be the target of the proposal that is filled in.
void ProximalNewton::propose(Job& job, const Vector& at, const SmoothGradient& gradient,
                             Proposal& proposal) {
  const LocalModel& model = job.model;
  Vector& whole = job.workspace.gradient;
  whole = gradient.gradient + model.coupling_gradient + gradient.center_gradient;
  job.cost.solves += 1;
  if (fresh_) {
    job.workspace.trial_gradient = whole;
    fresh_->solve(model, job.hessian_batch, at, whole, proposal.target, job.workspace);
    proposal.predicted = job.workspace.trial_gradient.dot(whole);
    return;
  }
  const Vector& target = hessian_.target(model, at, whole, job.workspace.quadratic);
  proposal.predicted = whole.dot(at - target);
  if (!model.regularizer.trivial())
    proposal.predicted += model.regularizer.value(at) - model.regularizer.value(target);
  // The minimization has kept the gradient of its quadratic, which changed by system (target - at).
  proposal.step_curvature = (target - at).dot(job.workspace.quadratic.slope - whole);
  proposal.target = target;
}

/// Backtracking from the target: halves the step until the model over the batch decreases
/// sufficiently. Returns the decrease.
double ProximalNewton::advance(Job& job, Batch batch, Evaluation& here) {
  const double before = here.model_value();
  double length = 1;
  next_.at = proposal_.target;  // a whole step keeps its exact zeros
  evaluate(job, batch, next_);
  job.add_coupling(next_);
  double gained = before - next_.model_value();
  for (int k = 0; k < max_halvings && !(gained >= sufficient * length * proposal_.predicted); ++k) {
    length *= 0.5;
    next_.at = here.at + length * (proposal_.target - here.at);
    evaluate(job, batch, next_);
    job.add_coupling(next_);
    gained = before - next_.model_value();
  }
  if (length < 1) job.cost.damped_steps += 1;
  accept(job, here, length * length * proposal_.step_curvature);
  return gained;
}

/// `here` becomes next_. A kept Hessian must pass the secant test along the step, of which
/// step_curvature = step'system step.
void ProximalNewton::accept(Job& job, Evaluation& here, double step_curvature) {
  if (!fresh_) {
    Vector& step = job.workspace.trial;
    step = next_.at - here.at;
    const double gradient_change = step.dot(next_.gradient - here.gradient);
    job.workspace.displacement = next_.center_gradient - here.center_gradient;
    const double penalty = job.model.penalty_along(step, job.workspace.displacement);
    if (!secant_test(gradient_change, step_curvature, penalty)) hessian_failed_ = true;
  }
  job.point() = next_.at;
  std::swap(here, next_);
}

Batch ProximalNewton::draw(Job& job, Purpose purpose, Index size) const {
  return draw_batch_or_all(batch_key(job.turn, purpose, job.draws++), size, samples_,
                           job.workspace);
}

void ProximalNewton::ensure_hessian(HessianDetail detail, const Objective& objective,
                                    const SolverTurn& turn, Workspace& workspace, Cost& cost) {
  const Regularizer none;
  const NewtonBudget no_steps{};
  const LocalModel model{objective, workspace.point, workspace.coupling_gradient, {}, {}, none};
  Job job{model, no_steps, turn, workspace, cost};
  prepare_hessian(job, detail);
}

void ProximalNewton::save(ByteWriter& writer) const {
  if (fresh_) fresh_->save(writer);
  writer.put(gradient_batch_);
  writer.put(hessian_batch_);
  writer.put(hessian_failed_);
  hessian_.save(writer);
  writer.put(last_.at.size() > 0);
  if (last_.at.size() == 0) return;
  writer.put(last_.at);
  writer.put(last_.value);
  writer.put(last_.gradient);
}

void ProximalNewton::load(ByteReader& reader) {
  if (fresh_) fresh_->load(reader);
  reader.get(gradient_batch_);
  reader.get(hessian_batch_);
  reader.get(hessian_failed_);
  hessian_.load(reader, dimension_);
  bool present = false;
  reader.get(present);
  last_.at.resize(present ? dimension_ : 0);
  last_.gradient.resize(present ? dimension_ : 0);
  if (!present) return;
  reader.get(last_.at);
  reader.get(last_.value);
  reader.get(last_.gradient);
}

}  // namespace grove
