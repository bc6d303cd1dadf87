#include "grove/methods/tree_newton.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "grove/methods/model_step.h"
#include "grove/sums/hash.h"

namespace grove {
namespace {

constexpr double armijo = 1e-4;     ///< share of the predicted decrease that a full step must reach
constexpr double rounding = 1e-12;  ///< of sums of values, relative
constexpr double slow_gain = 0.5;   ///< of the decrement: above it a lazy root asks for a Hessian
constexpr double flat_decrement = 1e-14;  ///< that a step predicts, relative to sum f_i(0)
constexpr double flat_step = 1e-3;   ///< a longer relative step with that decrement: no minimizer
constexpr double near_active = 0.9;  ///< share of the l1 weight at which a zero may leave zero
constexpr std::size_t most_events = 1000;
constexpr std::uint8_t most_majorized = 8;   ///< steps in a row
constexpr std::uint8_t most_stretched = 16;  ///< Newton steps in one
constexpr double move_share = 1e-6;          ///< of the coefficients, by which a point is moved

/// Whether numbers 256 times as large as these fit into the next finer unit of fixed point.
bool fits_finer(const NewtonTotals& totals, std::uint8_t coarseness, std::size_t members) {
  if (coarseness == 0) return false;
  double largest = std::max(totals.gradient.lpNorm<Eigen::Infinity>(), std::abs(totals.values[0]));
  if (totals.hessian) largest = std::max(largest, totals.hessian->lpNorm<Eigen::Infinity>());
  const FixedPoint finer{.elements = 1, .coarseness = coarseness - 1u, .members = members};
  const std::array<double, 1> number{256 * largest};
  return finer.decode(finer.encode({}, number)).overflowed == 0;
}

HessianWaves settled_waves(const TreeNewtonOptions& options, const AgentContext& context) {
  if (options.hessians != HessianWaves::automatic) return options.hessians;
  const Index d = context.start.size();
  if (d <= largest_eager) return HessianWaves::eager;
  return d > largest_lazy && context.regularizer.l1 > 0 ? HessianWaves::support
                                                        : HessianWaves::lazy;
}

/// The Hessian after a step s along which the gradient changed by y (Broyden, Fletcher, Goldfarb,
/// Shanno): positive definite if it was.
void correct(Matrix& hessian, const Vector& s, const Vector& y) {
  constexpr double least_curvature = 1e-12;
  const Vector product = hessian * s;
  const double old = s.dot(product), measured = s.dot(y);
  if (!(measured > least_curvature * old) || !(old > 0)) return;
  hessian -= product * product.transpose() / old;
  hessian += y * y.transpose() / measured;
}

}  // namespace

TreeNewtonAgent::TreeNewtonAgent(const TreeNewtonOptions& options, AgentContext context)
    : context_(std::move(context)),
      options_(options),
      answers_(context_.objective, context_.regularizer),
      sums_(context_.id, ids_of(context_.neighbours), options.links, options.masks),
      total_regularizer_(context_.regularizer),
      double_hessians_(options.double_hessians) {
  options_.hessians = settled_waves(options, context_);
  question_.base = within_bounds(context_.start, context_.regularizer);
  if (options.falls_back_to_zero) context_.start.setZero();
}

void TreeNewtonAgent::activate(const Activation& activation, Workspace& workspace) {
  round_ = activation.round;
  sums_.begin_activation();
  if (sums_.needs_wave()) restart(estimate());
  if (sums_.wants_answer()) answer(workspace);
  if (sums_.leads() && sums_.total() && (decided_ != sums_.wave().id || sums_.plan().full)) {
    if (sums_.total()->refused > 0)
      restart(moved(question_.base));
    else if (const auto totals = answers_.read(*sums_.total(), question_))
      decide(*totals);
  }
  sums_.prepare_messages();
  sequence_ = activation.round;
  cost_.broadcasts += 1;
  for (std::size_t slot = 0; slot < context_.neighbours.size(); ++slot)
    cost_.count_message(message_to(slot), question_.base.size());
}

Message TreeNewtonAgent::message_to(std::size_t slot) const {
  Message message{.sender = context_.id, .sequence = sequence_};
  message.tree = sums_.fields_to(slot);
  return message;
}

void TreeNewtonAgent::receive(std::size_t slot, const Message& message) {
  if (!message.tree) return;
  TreeFields fields = *message.tree;
  std::optional<NewtonQuestion> question;
  if (const auto& wave = fields.wave; wave && wave->id > sums_.wave().id) {
    question = decode(question_of(*wave), question_.base.size());
    if (!question || question->kind == NewtonWave::poll) {
      question.reset();
      fields.wave.reset();
    }
  }
  sums_.receive(slot, message.sequence, fields);
  if (question) question_ = std::move(*question);
}

/// An intro wave asks for the same at any point.
void TreeNewtonAgent::answer(Workspace& workspace) {
  Answers own = answers_.answer(question_, workspace.objective, cost_);
  if (!sums_.masked()) return sums_.answer(std::move(own));
  const std::uint64_t asked =
      question_.kind == NewtonWave::intro ? 0 : AnsweredPoints::hash_of(point());
  if (answered_.may_answer(asked, sums_.plan()))
    sums_.answer(std::move(own));
  else
    sums_.refuse(std::move(own));
}

/// Another point nearby, which nobody has answered.
Vector TreeNewtonAgent::moved(const Vector& point) const {
  Vector result = point;
  const double scale = std::max(point.lpNorm<Eigen::Infinity>(), move_share);
  for (Index k = 0; k < point.size(); ++k) {
    WordHash hash;
    hash.add(sums_.next_wave_number());
    hash.add(static_cast<std::uint64_t>(k));
    result[k] +=
        move_share * scale * (0.5 + std::ldexp(static_cast<double>(hash.value() >> 11), -54));
  }
  return within_bounds(result, context_.regularizer);
}

/// Sums anew at an accepted point, or near it where that point was answered for other members.
void TreeNewtonAgent::restart(const Vector& wanted, bool majorizer) {
  const Vector point =
      answered_.was_answered_for_others(wanted, sums_.plan()) ? moved(wanted) : wanted;
  base_.reset();
  const bool first = options_.intro && sums_.next_wave_number() == 1;
  NewtonQuestion question{.kind = first ? NewtonWave::intro : NewtonWave::fresh,
                          .wants_hessian = true,
                          .majorizer = majorizer,
                          .base = point,
                          .step = {},
                          .certificate = {},
                          .support = {}};
  if (options_.hessians == HessianWaves::support) {
    for (Index k = 0; k < point.size(); ++k)
      if (k == 0 || point[k] != 0) question.support.push_back(static_cast<std::uint32_t>(k));
  }
  begin(std::move(question));
}

void TreeNewtonAgent::begin(NewtonQuestion question) {
  if (tree_ != sums_.plan().id && tree_ != 0)
    note(AgentEvent::Kind::changed_tree, static_cast<double>(sums_.plan().members.size()));
  tree_ = sums_.plan().id;
  question_ = std::move(question);
  question_.double_hessian = question_.wants_hessian && double_hessians_;
  Question asked = encode(question_);
  asked.coarseness = coarseness_;
  sums_.begin(std::move(asked));
}

/// A step from the accepted point, `base` being what is known there.
void TreeNewtonAgent::begin_trial(const Vector& step, bool wants_hessian, Base base) {
  NewtonQuestion question{.kind = NewtonWave::trial,
                          .wants_hessian = wants_hessian,
                          .majorizer = majorized_left_ > 0,
                          .base = question_.base,
                          .step = step,
                          .certificate = {},
                          .support = question_.support};
  begin(std::move(question));
  base.wave = sums_.wave().id;
  base_ = std::move(base);
}

/// The point at which gradients of the present wave were taken.
Vector TreeNewtonAgent::point() const { return point_of(question_, context_.regularizer); }

double TreeNewtonAgent::penalty_at(const Vector& point) const {
  return total_regularizer_.value(within_bounds(point, total_regularizer_));
}

void TreeNewtonAgent::decide(const NewtonTotals& totals) {
  const bool too_large = sums_.total()->overflowed > 0;
  total_regularizer_ =
      weighted(context_.regularizer, static_cast<double>(sums_.plan().members.size()));
  if (question_.kind == NewtonWave::trial) {
    // Without its base a trial says nothing: this agent was rolled back.
    if (!base_ || base_->wave != sums_.wave().id) return restart(question_.base);
    if (!accepts_trial(totals)) return;
  }
  if (too_large && coarseness_ < FixedPoint::coarsest) {
    ++coarseness_;
    return restart(point());
  }
  if (sums_.masked() && fits_finer(totals, coarseness_, sums_.plan().members.size())) --coarseness_;
  if (too_large || totals.overflowed())
    return restart(within_bounds(context_.start, context_.regularizer));
  if (question_.kind == NewtonWave::intro) return decide_intro(totals);
  step_from(totals);
}

/// True where the full step is good enough. Otherwise the next wave begins: at the best of the
/// shorter steps, which lowers the exact objective, or with a Hessian of the base.
bool TreeNewtonAgent::accepts_trial(const NewtonTotals& totals) {
  Index best = 0;
  Vector values(totals.values.size());
  for (Index k = 0; k < values.size(); ++k) {
    const double length = trial_length(static_cast<std::size_t>(k));
    const double value = totals.values[k] + penalty_at(question_.base + length * question_.step);
    values[k] = value < overflow ? value : std::numeric_limits<double>::infinity();
    if (values[k] < values[best]) best = k;
  }
  const double before = base_->value;
  if (values[0] <= before + armijo * base_->predicted + rounding * (std::abs(before) + 1))
    return true;
  const double length = trial_length(static_cast<std::size_t>(best));
  cost_.damped_steps += 1;
  note(AgentEvent::Kind::shortened_step, length);
  if (!base_->majorized && base_->stretch == 1) {
    majorized_run_ = std::min<std::uint8_t>(2 * majorized_run_, most_majorized);
    majorized_left_ = majorized_run_;
  }
  if (values[best] < before) {
    restart(within_bounds(question_.base + length * question_.step, context_.regularizer), true);
  } else if (!base_->fresh_hessian || !base_->majorized) {
    restart(question_.base, true);
  } else {
    const double least = trial_length(trial_lengths - 1);
    Base base = std::move(*base_);
    base.predicted *= least;
    begin_trial(least * question_.step, true, std::move(base));
  }
  return false;
}

/// The minimizer of the sum of the agents' models, tried from the start.
void TreeNewtonAgent::decide_intro(const NewtonTotals& totals) {
  Base base{.value = totals.values[0] + penalty_at(question_.base),
            .gradient = *totals.hessian * question_.base + totals.gradient,
            .hessian = *totals.hessian,
            .from_intro = true};
  base.precise_hessian = is_precise(totals);
  const Step step = newton_step(base.hessian, base.gradient);
  if (!step.direction.allFinite()) return restart(question_.base);
  base.decrement = step.decrement;
  const bool lazy = options_.hessians == HessianWaves::lazy;
  base.fresh_hessian = !lazy;
  if (options_.hessians == HessianWaves::support)
    question_.support = support_of(step, totals, base.hessian);
  begin_trial(step.direction, !lazy, std::move(base));
}

Matrix TreeNewtonAgent::hessian_at(const NewtonTotals& totals) const {
  if (totals.hessian) return *totals.hessian;
  Matrix hessian = base_->hessian;
  if (!base_->from_intro) correct(hessian, question_.step, totals.gradient - base_->gradient);
  return hessian;
}

/// Where single precision spoils the Hessian, its steps are short for the wrong reason: from then
/// on Hessians travel in double precision, and nothing ends before one has.
bool TreeNewtonAgent::is_precise(const NewtonTotals& totals) {
  if (!totals.hessian) return base_->precise_hessian;
  if (question_.double_hessian || survives_single_precision(*totals.hessian)) return true;
  double_hessians_ = true;
  return false;
}

TreeNewtonAgent::Step TreeNewtonAgent::newton_step(const Matrix& hessian, const Vector& gradient) {
  const Vector from = point();
  Step step{.direction = model_step(hessian, gradient, from, total_regularizer_)};
  cost_.solves += 1;
  const Vector& s = step.direction;
  const Vector to = from + s;
  step.decrement = std::sqrt(std::max(0.0, s.dot(hessian * s)));
  step.relative = s.lpNorm<Eigen::Infinity>() /
                  std::max(to.lpNorm<Eigen::Infinity>(), std::numeric_limits<double>::min());
  step.predicted = gradient.dot(s) + penalty_at(to) - penalty_at(from);
  return step;
}

/// How many Newton steps to take at once. Towards a minimum at infinity, or one without curvature,
/// Newton steps keep their direction and their length, and one lowers the objective by a constant
/// factor only. There each step is twice as many as the one before; near an ordinary minimum steps
/// shrink, and this is 1. The line search judges the result.
std::uint8_t TreeNewtonAgent::stretch_of(const Step& step) const {
  constexpr double least_cosine = 0.999, least_ratio = 0.75;
  if (question_.kind != NewtonWave::trial || !base_ || base_->majorized || base_->from_intro ||
      question_.majorizer || !question_.wants_hessian)
    return 1;
  const double length = step.direction.norm(), before = question_.step.norm() / base_->stretch;
  if (!(length >= least_ratio * before && before >= least_ratio * length)) return 1;
  if (!(step.direction.dot(question_.step) >= least_cosine * length * question_.step.norm()))
    return 1;
  return std::min<std::uint8_t>(2 * base_->stretch, most_stretched);
}

/// Of the start that was given, once.
bool TreeNewtonAgent::is_worse_than_zero(const NewtonTotals& totals, double value) {
  if (!options_.falls_back_to_zero || judged_start_) return false;
  judged_start_ = true;
  const double at_zero = totals.value_at_zero + penalty_at(Vector::Zero(question_.base.size()));
  return !(value <= at_zero);
}

/// A Newton step from the accepted point of a wave.
void TreeNewtonAgent::step_from(const NewtonTotals& totals) {
  const bool fresh = totals.hessian.has_value();
  if (!fresh && !base_) return restart(question_.base);
  Matrix hessian = hessian_at(totals);
  const bool majorized = question_.majorizer;
  const bool precise = is_precise(totals);
  const Step step = newton_step(hessian, totals.gradient);
  const double value = totals.values[0] + penalty_at(point());
  if (is_worse_than_zero(totals, value))
    return restart(within_bounds(context_.start, context_.regularizer));
  if (!precise && (question_.kind == NewtonWave::certify || step.relative <= flat_step))
    return restart(point());
  if (ends_with(step, totals)) return;
  const bool gained =
      base_ && base_->hessian.size() > 0 && step.decrement <= slow_gain * base_->decrement;
  const bool wants_hessian = options_.hessians != HessianWaves::lazy || !gained;
  const std::uint8_t stretch = stretch_of(step);
  NewtonQuestion next{.base = point(), .step = {}, .certificate = {}, .support = {}};
  if (options_.hessians == HessianWaves::support) next.support = support_of(step, totals, hessian);
  question_ = std::move(next);
  if (majorized_left_ > 0) --majorized_left_;
  begin_trial(stretch * step.direction, wants_hessian,
              {.value = value,
               .predicted = step.predicted,
               .decrement = step.decrement,
               .stretch = stretch,
               .gradient = totals.gradient,
               .hessian = std::move(hessian),
               .fresh_hessian = fresh,
               .precise_hessian = precise,
               .majorized = majorized});
}

/// Whether the step is short enough for the answer: then the next wave begins, or the root waits
/// for missing members.
bool TreeNewtonAgent::ends_with(const Step& step, const NewtonTotals& totals) {
  const bool full = sums_.plan().full, certifies = question_.kind == NewtonWave::certify;
  const bool flat = -step.predicted <= flat_decrement * std::abs(totals.value_at_zero) &&
                    step.relative > flat_step;
  NewtonQuestion next{.kind = NewtonWave::certify,
                      .wants_hessian = true,
                      .base = point(),
                      .step = {},
                      .certificate = {},
                      .support = {}};
  if (flat && !certifies && full) {
    note(AgentEvent::Kind::no_minimizer, step.relative);
    begin(std::move(next));
    return true;
  }
  if (!full && (certifies || step.relative <= options_.tolerance)) {
    decided_ = sums_.wave().id;
    return true;
  }
  if (certifies && (step.relative <= 10 * options_.tolerance || flat)) {
    next.certificate = certificate_at(question_, totals, step.direction, total_regularizer_,
                                      sums_.plan().members.size());
    const double bound = next.certificate->gap_bound;
    if (bound > options_.gap_tolerance && bound < AnswerCertificate::unknown && !flat) return false;
    next.kind = NewtonWave::done;
    next.wants_hessian = false;
    begin(std::move(next));
    return true;
  }
  if (step.relative > options_.tolerance) return false;
  next.step = step.direction;
  begin(std::move(next));
  return true;
}

/// Coefficients that are not zero, or may not stay so.
std::vector<std::uint32_t> TreeNewtonAgent::support_of(const Step& step, const NewtonTotals& totals,
                                                       const Matrix& hessian) const {
  const Vector from = point(), to = from + step.direction;
  const Vector slope = totals.gradient + hessian * step.direction;
  std::vector<std::uint32_t> support;
  for (Index k = 0; k < from.size(); ++k)
    if (k == 0 || k >= total_regularizer_.regularized || from[k] != 0 || to[k] != 0 ||
        std::abs(slope[k]) > near_active * total_regularizer_.l1_at(k))
      support.push_back(static_cast<std::uint32_t>(k));
  return support;
}

bool TreeNewtonAgent::finished() const {
  return question_.kind == NewtonWave::done && sums_.wave().id.known() && sums_.settled();
}

const AnswerCertificate* TreeNewtonAgent::certificate() const {
  return question_.certificate ? &*question_.certificate : nullptr;
}

std::span<const AgentId> TreeNewtonAgent::counted_members() const {
  return finished() ? std::span<const AgentId>(sums_.plan().members) : std::span<const AgentId>();
}

double TreeNewtonAgent::disagreement() const {
  return finished() ? 0 : std::numeric_limits<double>::infinity();
}

void TreeNewtonAgent::note(AgentEvent::Kind kind, double value) {
  if (events_.size() < most_events) events_.push_back({round_, kind, value});
}

void TreeNewtonAgent::add_neighbour(const Neighbour& neighbour) {
  context_.neighbours.push_back(neighbour);
  sums_.add_neighbour(neighbour.id);
}

void TreeNewtonAgent::drop_neighbour(std::size_t slot) {
  context_.neighbours.erase(context_.neighbours.begin() + static_cast<std::ptrdiff_t>(slot));
  sums_.drop_neighbour(slot);
}

void TreeNewtonAgent::save(ByteWriter& writer) const {
  sums_.save(writer);
  answers_.save(writer);
  writer.put(question_.base);
  writer.put(double_hessians_);
  writer.put(judged_start_);
  writer.put(coarseness_);
  writer.put(majorized_run_);
  writer.put(majorized_left_);
  answered_.save(writer);
  writer.put(decided_);
  writer.put(tree_);
  writer.put(sequence_);
  writer.put(cost_);
  writer.put(events_.size());
  for (const AgentEvent& event : events_) writer.put(event);
  save_base(writer);
}

void TreeNewtonAgent::save_base(ByteWriter& writer) const {
  writer.put(base_.has_value());
  if (!base_) return;
  writer.put(base_->wave);
  writer.put(base_->value);
  writer.put(base_->predicted);
  writer.put(base_->decrement);
  writer.put(base_->gradient);
  writer.put(std::span<const double>(base_->hessian.data(),
                                     static_cast<std::size_t>(base_->hessian.size())));
  writer.put(base_->fresh_hessian);
  writer.put(base_->precise_hessian);
  writer.put(base_->majorized);
  writer.put(base_->from_intro);
  writer.put(base_->stretch);
}

void TreeNewtonAgent::load_base(ByteReader& reader) {
  bool present = false;
  reader.get(present);
  base_.reset();
  if (!present || !reader.ok()) return;
  const Index d = question_.base.size();
  Base& base = base_.emplace(Base{});
  base.gradient.resize(d);
  base.hessian.resize(d, d);
  reader.get(base.wave);
  reader.get(base.value);
  reader.get(base.predicted);
  reader.get(base.decrement);
  reader.get(base.gradient);
  reader.get(std::span<double>(base.hessian.data(), static_cast<std::size_t>(base.hessian.size())));
  reader.get(base.fresh_hessian);
  reader.get(base.precise_hessian);
  reader.get(base.majorized);
  reader.get(base.from_intro);
  reader.get(base.stretch);
  base.stretch = std::clamp<std::uint8_t>(base.stretch, 1, most_stretched);
}

Status TreeNewtonAgent::load(ByteReader& reader) {
  const Error unfit{"agent state", "does not fit this agent's problem and neighbours"};
  sums_.load(reader);
  answers_.load(reader);
  Vector base = question_.base;
  reader.get(base);
  reader.get(double_hessians_);
  reader.get(judged_start_);
  reader.get(coarseness_);
  reader.get(majorized_run_);
  reader.get(majorized_left_);
  answered_.load(reader);
  reader.get(decided_);
  reader.get(tree_);
  reader.get(sequence_);
  reader.get(cost_);
  std::size_t events = 0;
  reader.get(events);
  events_.resize(std::min(events, most_events));
  for (AgentEvent& event : events_) reader.get(event);
  load_base(reader);
  if (!reader.ok()) return unfit;
  question_ = {.base = base, .step = {}, .certificate = {}, .support = {}};
  if (!sums_.wave().id.known()) return success();
  auto question = decode(sums_.wave().question, base.size());
  if (!question) return unfit;
  question_ = std::move(*question);
  return success();
}

}  // namespace grove
