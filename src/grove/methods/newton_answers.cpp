#include "grove/methods/newton_answers.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "grove/methods/model_step.h"
#include "grove/problem/certificate.h"
#include "grove/problem/reference.h"

namespace grove {
namespace {

void append(const Vector& from, std::vector<double>& to) {
  to.insert(to.end(), from.data(), from.data() + from.size());
}

Vector part(const std::vector<double>& numbers, std::size_t first, Index size) {
  return Eigen::Map<const Vector>(numbers.data() + first, size);
}

/// Numbers of a Hessian on the support: its lower triangle, then the rest of the diagonal.
std::size_t packed_size(Index dimension, const std::vector<std::uint32_t>& support, bool all) {
  const auto d = static_cast<std::size_t>(dimension);
  if (all) return d * (d + 1) / 2;
  return support.size() * (support.size() + 1) / 2 + d - support.size();
}

std::vector<bool> membership(Index dimension, const std::vector<std::uint32_t>& support) {
  std::vector<bool> inside(static_cast<std::size_t>(dimension), false);
  for (const std::uint32_t k : support) inside[k] = true;
  return inside;
}

Matrix unpack(std::span<const double> numbers, Index dimension,
              const std::vector<std::uint32_t>& support) {
  Matrix hessian = Matrix::Zero(dimension, dimension);
  const double* at = numbers.data();
  if (support.empty()) {
    for (Index column = 0; column < dimension; ++column)
      for (Index row = column; row < dimension; ++row) hessian(row, column) = *at++;
  } else {
    for (std::size_t column = 0; column < support.size(); ++column)
      for (std::size_t row = column; row < support.size(); ++row)
        hessian(support[row], support[column]) = *at++;
    const auto inside = membership(dimension, support);
    for (Index k = 0; k < dimension; ++k)
      if (!inside[static_cast<std::size_t>(k)]) hessian(k, k) = *at++;
  }
  hessian.triangularView<Eigen::StrictlyUpper>() = hessian.transpose();
  return hessian;
}

/// Numbers that are not finite, or beyond the limit, as the limit.
void cap(std::span<double> numbers, double limit) {
  for (double& number : numbers)
    number = std::isnan(number) ? limit : std::clamp(number, -limit, limit);
}

constexpr std::uint8_t double_bit = 0x80, majorizer_bit = 0x40;  ///< of a question's kind

bool bounds_gap(const NewtonQuestion& question) {
  return question.kind == NewtonWave::certify && question.step.size() > 0;
}

std::size_t value_count(const NewtonQuestion& question) {
  return question.kind == NewtonWave::trial ? trial_lengths : bounds_gap(question) ? 2 : 1;
}

}  // namespace

Question encode(const NewtonQuestion& question) {
  Question result{.kind = static_cast<std::uint8_t>(static_cast<std::uint8_t>(question.kind) |
                                                    (question.double_hessian ? double_bit : 0) |
                                                    (question.majorizer ? majorizer_bit : 0)),
                  .wants_matrix = question.wants_hessian,
                  .wants_sum = question.kind != NewtonWave::done,
                  .numbers = {},
                  .support = question.support};
  append(question.base, result.numbers);
  append(question.step, result.numbers);
  if (question.certificate)
    for (const double number : question.certificate->numbers()) result.numbers.push_back(number);
  return result;
}

std::optional<NewtonQuestion> decode(const Question& question, Index dimension) {
  const auto kind = static_cast<std::uint8_t>(question.kind & ~(double_bit | majorizer_bit));
  if (kind > static_cast<std::uint8_t>(NewtonWave::poll)) return std::nullopt;
  NewtonQuestion result{.kind = static_cast<NewtonWave>(kind),
                        .wants_hessian = question.wants_matrix,
                        .double_hessian = (question.kind & double_bit) != 0,
                        .majorizer = (question.kind & majorizer_bit) != 0,
                        .base = {},
                        .step = {},
                        .certificate = {},
                        .support = question.support};
  const auto d = static_cast<std::size_t>(dimension);
  const bool trial = result.kind == NewtonWave::trial, done = result.kind == NewtonWave::done;
  const auto& numbers = question.numbers;
  const bool steps = trial || (result.kind == NewtonWave::certify && numbers.size() != d);
  const std::size_t expected = d + (steps ? d : 0) + (done ? AnswerCertificate::size : 0);
  if (numbers.size() != expected || question.wants_sum == done) return std::nullopt;
  if (!std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); }))
    return std::nullopt;
  for (std::size_t k = 0; k < result.support.size(); ++k)
    if (result.support[k] >= d || (k > 0 && result.support[k] <= result.support[k - 1]))
      return std::nullopt;
  result.base = part(numbers, 0, dimension);
  if (steps) result.step = part(numbers, d, dimension);
  if (done)
    result.certificate =
        AnswerCertificate::from(std::span(numbers).subspan(d).first<AnswerCertificate::size>());
  return result;
}

bool NewtonTotals::overflowed() const {
  return !(gradient.lpNorm<Eigen::Infinity>() < overflow) ||
         (hessian && !(hessian->lpNorm<Eigen::Infinity>() < single_overflow));
}

Vector point_of(const NewtonQuestion& question, const Regularizer& regularizer) {
  if (question.step.size() == 0) return question.base;
  return within_bounds(question.base + question.step, regularizer);
}

AnswerCertificate certificate_at(const NewtonQuestion& question, const NewtonTotals& totals,
                                 const Vector& step, const Regularizer& total_regularizer,
                                 std::size_t members) {
  const Vector point = point_of(question, total_regularizer), to = point + step;
  const double objective =
      totals.values[0] + total_regularizer.value(within_bounds(point, total_regularizer));
  double bound = AnswerCertificate::unknown;
  if (bounds_gap(question) && totals.gaps_known == static_cast<double>(members)) {
    constexpr double smallest_optimum = 1e-7;  // of the value at zero: smaller ones count as that
    const Vector& base = question.base;
    const double before = totals.values[1] + total_regularizer.value(base);
    const Vector damping = model_damping(totals.hessian->diagonal(), 0), last = point - base;
    const double gap =
        totals.gap + damping_stretch(last, last.dot(*totals.hessian * last), damping) *
                         subgradient_gap(total_regularizer, base, point, totals.slope, damping);
    const double scale = std::max(std::abs(objective), smallest_optimum * totals.value_at_zero);
    bound = std::max(0.0, gap - (before - objective)) / scale;
    if (!(bound < AnswerCertificate::unknown)) bound = AnswerCertificate::unknown;
  }
  return {
      .objective = objective,
      .residual = stationarity(point, totals.gradient, total_regularizer, totals.hessian->trace()),
      .decrement = std::sqrt(std::max(0.0, step.dot(*totals.hessian * step))),
      .relative_step = step.lpNorm<Eigen::Infinity>() /
                       std::max(to.lpNorm<Eigen::Infinity>(), std::numeric_limits<double>::min()),
      .rows = totals.rows,
      .value_at_zero = totals.value_at_zero,
      .members = static_cast<double>(members),
      .gap_bound = bound};
}

NewtonAnswers::NewtonAnswers(std::shared_ptr<const Objective> objective, Regularizer share)
    : objective_(std::move(objective)), share_(std::move(share)) {}

NewtonAnswers::Sample NewtonAnswers::sample(const Vector& point, Curvature curvature,
                                            ObjectiveScratch& scratch, Cost& cost) const {
  Sample result;
  const bool majorized =
      curvature == Curvature::majorizer && objective_->majorizer(point, result.hessian, scratch);
  const bool hessian = curvature != Curvature::none && !majorized;
  result.value = objective_->evaluate(point, Batch::all(), &result.gradient,
                                      hessian ? &result.hessian : nullptr, scratch);
  const auto samples = static_cast<std::uint64_t>(objective_->samples());
  cost.gradient_samples += samples;
  if (hessian || majorized) cost.hessian_samples += samples;
  return result;
}

/// Counts as a gradient, which takes about as long.
double NewtonAnswers::value(const Vector& point, ObjectiveScratch& scratch, Cost& cost) const {
  cost.gradient_samples += static_cast<std::uint64_t>(objective_->samples());
  return objective_->evaluate(point, Batch::all(), nullptr, nullptr, scratch);
}

Answers NewtonAnswers::answer(const NewtonQuestion& question, ObjectiveScratch& scratch,
                              Cost& cost) {
  Answers answers;
  auto& numbers = answers.numbers;
  const bool trial = question.kind == NewtonWave::trial, intro = question.kind == NewtonWave::intro;
  const auto at_length = [&](double length) {
    return within_bounds(question.base + length * question.step, share_);
  };
  Vector point = point_of(question, share_);
  if (intro) {
    numbers.push_back(value(point, scratch, cost));
    point = own_minimizer(point, scratch, cost);
  }
  const Curvature curvature = !question.wants_hessian       ? Curvature::none
                              : question.majorizer || intro ? Curvature::majorizer
                                                            : Curvature::hessian;
  Sample here = sample(point, curvature, scratch, cost);
  if (!intro) numbers.push_back(here.value);
  if (trial)
    for (std::size_t k = 1; k < trial_lengths; ++k)
      numbers.push_back(value(at_length(trial_length(k)), scratch, cost));
  if (bounds_gap(question)) numbers.push_back(value(question.base, scratch, cost));
  if (!value_at_zero_) value_at_zero_ = value(Vector::Zero(objective_->dimension()), scratch, cost);
  numbers.push_back(*value_at_zero_);
  numbers.push_back(static_cast<double>(objective_->samples()));
  // The gradient of the agent's model at zero: what models add up to needs no common point.
  if (intro) here.gradient -= here.hessian * point;
  append(here.gradient, numbers);
  if (bounds_gap(question)) append_gap(question, scratch, cost, numbers);
  if (question.wants_hessian)
    pack(here.hessian, question.support, question.double_hessian ? numbers : answers.matrix);
  cap(numbers, overflow);
  cap(answers.matrix, single_overflow);
  return answers;
}

/// The gap, whether it is known, and the slope of f that it belongs to.
void NewtonAnswers::append_gap(const NewtonQuestion& question, ObjectiveScratch& scratch,
                               Cost& cost, std::vector<double>& numbers) const {
  const Vector step = point_of(question, share_) - question.base;
  Vector correction = Vector::Zero(objective_->dimension()), product;
  const auto gap = objective_->fenchel_gap(question.base, step, correction);
  numbers.push_back(gap.value_or(0));
  numbers.push_back(gap ? 1 : 0);
  const Sample base = sample(question.base, Curvature::hessian, scratch, cost);
  append(base.gradient + base.hessian * step + correction, numbers);
}

void NewtonAnswers::pack(const Matrix& hessian, const std::vector<std::uint32_t>& support,
                         std::vector<double>& numbers) const {
  if (support.empty()) {
    for (Index column = 0; column < hessian.cols(); ++column)
      for (Index row = column; row < hessian.rows(); ++row) numbers.push_back(hessian(row, column));
    return;
  }
  for (std::size_t column = 0; column < support.size(); ++column)
    for (std::size_t row = column; row < support.size(); ++row)
      numbers.push_back(hessian(support[row], support[column]));
  const auto inside = membership(hessian.rows(), support);
  for (Index k = 0; k < hessian.rows(); ++k)
    if (!inside[static_cast<std::size_t>(k)]) numbers.push_back(hessian(k, k));
}

std::optional<NewtonTotals> NewtonAnswers::read(const Answers& total,
                                                const NewtonQuestion& question) const {
  const Index d = objective_->dimension();
  const std::size_t values = value_count(question), size = static_cast<std::size_t>(d);
  const std::size_t fixed = values + 2 + size + (bounds_gap(question) ? 2 + size : 0);
  const std::size_t packed =
      question.wants_hessian ? packed_size(d, question.support, question.support.empty()) : 0;
  if (total.numbers.size() != fixed + (question.double_hessian ? packed : 0)) return std::nullopt;
  if (total.matrix.size() != (question.double_hessian ? 0 : packed)) return std::nullopt;
  NewtonTotals result{.values = part(total.numbers, 0, static_cast<Index>(values)),
                      .value_at_zero = total.numbers[values],
                      .rows = total.numbers[values + 1],
                      .gradient = part(total.numbers, values + 2, d),
                      .hessian = {},
                      .slope = {}};
  if (bounds_gap(question)) {
    result.gap = total.numbers[values + 2 + size];
    result.gaps_known = total.numbers[values + 3 + size];
    result.slope = part(total.numbers, values + 4 + size, d);
  }
  if (question.wants_hessian)
    result.hessian = unpack(
        question.double_hessian ? std::span(total.numbers).subspan(fixed) : std::span(total.matrix),
        d, question.support);
  return result;
}

/// The minimizer of f_i, its share of r and a light ridge: damped Newton steps, no communication.
/// Four digits are enough, because the network's point is between those of its agents.
Vector NewtonAnswers::own_minimizer(const Vector& start, ObjectiveScratch& scratch,
                                    Cost& cost) const {
  constexpr int most_steps = 30;
  constexpr double ridge_share = 1e-3, enough = 1e-4, shortest = 1e-9;
  Vector point = start;
  Sample here = sample(point, Curvature::majorizer, scratch, cost);
  Vector ridge = ridge_share * here.hessian.diagonal();
  const double least = ridge_share * std::max(ridge.maxCoeff(), 1e-12);
  ridge = (ridge.array() > 0).select(ridge, least);
  const auto penalty = [&](const Vector& at) {
    return 0.5 * ridge.dot((at - start).cwiseAbs2()) + share_.value(at);
  };
  double best = here.value + penalty(point);
  for (int step = 0; step < most_steps; ++step) {
    here.hessian.diagonal() += ridge;
    const Vector gradient = here.gradient + ridge.cwiseProduct(point - start);
    const Vector direction = model_step(here.hessian, gradient, point, share_);
    cost.solves += 1;
    double length = 1, reached = best;
    Vector target;
    for (; length > shortest; length /= 2) {
      target = within_bounds(point + length * direction, share_);
      reached = value(target, scratch, cost) + penalty(target);
      if (reached < best) break;
    }
    if (!(reached < best)) break;
    point = target;
    const bool finished = best - reached < enough * std::abs(best);
    best = reached;
    if (finished) break;
    here = sample(point, Curvature::majorizer, scratch, cost);
  }
  return point;
}

void NewtonAnswers::save(ByteWriter& writer) const {
  writer.put(value_at_zero_.has_value());
  writer.put(value_at_zero_.value_or(0));
}

void NewtonAnswers::load(ByteReader& reader) {
  bool known = false;
  double value = 0;
  reader.get(known);
  reader.get(value);
  value_at_zero_ = known ? std::optional(value) : std::nullopt;
}

}  // namespace grove
