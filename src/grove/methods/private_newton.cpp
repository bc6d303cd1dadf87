#include "grove/methods/private_newton.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Eigenvalues>

#include "grove/methods/model_step.h"

namespace grove {
namespace {

/// Of the promise (a square of mu), for the curvature. The rest is for gradients.
constexpr double curvature_share = 0.1;

Index triangle_size(Index dimension) { return dimension * (dimension + 1) / 2; }

/// The lower triangle, column by column.
Vector lower_triangle(const Matrix& matrix) {
  Vector result(triangle_size(matrix.rows()));
  Index next = 0;
  for (Index column = 0; column < matrix.cols(); ++column)
    for (Index row = column; row < matrix.rows(); ++row) result[next++] = matrix(row, column);
  return result;
}

Matrix from_lower_triangle(std::span<const double> numbers, Index dimension) {
  Matrix result(dimension, dimension);
  std::size_t next = 0;
  for (Index column = 0; column < dimension; ++column)
    for (Index row = column; row < dimension; ++row)
      result(row, column) = result(column, row) = numbers[next++];
  return result;
}

}  // namespace

PrivateNewtonOptions private_newton_options(const PrivacyLoss& promise, int steps,
                                            double row_weight, double row_bound, double curvature) {
  const double mu = mu_of(promise);
  const double of_gradients = std::sqrt((1 - curvature_share) / steps) * mu;
  const double of_curvature = std::sqrt(curvature_share) * mu;
  return {.steps = steps,
          .row_bound = row_bound,
          .gradient_deviation = noise_deviation(row_weight, of_gradients),
          .curvature_deviation = noise_deviation(row_weight * curvature, of_curvature),
          .gradient_cost = of_gradients * of_gradients,
          .curvature_cost = of_curvature * of_curvature,
          .noise = {},
          .masks = {}};
}

PrivateNewtonAgent::PrivateNewtonAgent(const PrivateNewtonOptions& options, AgentContext context)
    : context_(std::move(context)),
      options_(options),
      sums_(context_.id, ids_of(context_.neighbours), options.links, options.masks) {
  state_.point = within_bounds(context_.start, context_.regularizer);
  state_.slope = Vector::Zero(state_.point.size());
}

void PrivateNewtonAgent::activate(const Activation& activation, Workspace& workspace) {
  round_ = activation.round;
  sums_.begin_activation();
  if (sums_.needs_wave()) begin(state_);
  if (sums_.wants_answer() && is_complete()) answer(workspace);
  if (sums_.leads() && sums_.total()) decide();
  sums_.prepare_messages();
  sequence_ = activation.round;
  cost_.broadcasts += 1;
  for (std::size_t slot = 0; slot < context_.neighbours.size(); ++slot)
    cost_.count_message(message_to(slot), state_.point.size());
}

Message PrivateNewtonAgent::message_to(std::size_t slot) const {
  Message message{.sender = context_.id, .sequence = sequence_};
  message.tree = sums_.fields_to(slot);
  return message;
}

void PrivateNewtonAgent::receive(std::size_t slot, const Message& message) {
  if (!message.tree) return;
  TreeFields fields = *message.tree;
  std::optional<State> state;
  if (const auto& wave = fields.wave; wave && wave->id > sums_.wave().id) {
    state = decode(question_of(*wave));
    if (!state) fields.wave.reset();
  }
  sums_.receive(slot, message.sequence, fields);
  if (!state) return;
  state_ = std::move(*state);
  if (state_.asked == Asked::nothing && events_.empty())
    events_.push_back({round_, AgentEvent::Kind::private_answer, static_cast<double>(state_.step)});
}

Question PrivateNewtonAgent::encode(const State& state) {
  Question question{
      .kind = static_cast<std::uint8_t>(state.asked),
      .wants_matrix = state.asked == Asked::curvature,
      .wants_sum = state.asked != Asked::nothing,
      .numbers = {static_cast<double>(state.step), static_cast<double>(state.averaged)},
      .support = {}};
  auto& numbers = question.numbers;
  numbers.insert(numbers.end(), state.point.begin(), state.point.end());
  numbers.insert(numbers.end(), state.slope.begin(), state.slope.end());
  if (state.curvature.size() > 0) {
    const Vector triangle = lower_triangle(state.curvature);
    numbers.insert(numbers.end(), triangle.begin(), triangle.end());
  }
  return question;
}

std::optional<PrivateNewtonAgent::State> PrivateNewtonAgent::decode(
    const Question& question) const {
  const Index d = state_.point.size();
  const auto& numbers = question.numbers;
  const std::size_t vectors = 2 + 2 * static_cast<std::size_t>(d);
  const std::size_t whole = vectors + static_cast<std::size_t>(triangle_size(d));
  if (question.kind > static_cast<std::uint8_t>(Asked::nothing) ||
      (numbers.size() != vectors && numbers.size() != whole))
    return std::nullopt;
  if (!std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); }))
    return std::nullopt;
  const auto is_count = [&](double number) {
    return number >= 0 && number <= options_.steps && number == std::floor(number);
  };
  State state{.asked = static_cast<Asked>(question.kind)};
  const bool known = numbers.size() == whole;
  if (!is_count(numbers[0]) || !is_count(numbers[1]) ||
      question.wants_matrix != (state.asked == Asked::curvature) ||
      question.wants_sum != (state.asked != Asked::nothing) ||
      known == (state.asked == Asked::curvature))
    return std::nullopt;
  state.step = static_cast<int>(numbers[0]);
  state.averaged = static_cast<int>(numbers[1]);
  state.point = Eigen::Map<const Vector>(numbers.data() + 2, d);
  state.slope = Eigen::Map<const Vector>(numbers.data() + 2 + d, d);
  if (known) state.curvature = from_lower_triangle(std::span(numbers).subspan(vectors), d);
  return state;
}

void PrivateNewtonAgent::begin(State state) {
  state_ = std::move(state);
  sums_.begin(encode(state_));
}

bool PrivateNewtonAgent::is_complete() const {
  return sums_.plan().complete && sums_.plan().full &&
         sums_.plan().members.size() >= options_.fewest_members;
}

bool PrivateNewtonAgent::may_answer() const {
  return gradients_given_ < options_.steps &&
         (state_.asked != Asked::curvature || !curvature_given_);
}

/// The deviation of one member's noise over that of the total: the shares of all others are enough.
double PrivateNewtonAgent::noise_share() const {
  return 1 / std::sqrt(static_cast<double>(sums_.plan().members.size()) - 1);
}

/// The deviation of the noise in a total over what the promise needs.
double PrivateNewtonAgent::noise_excess() const {
  return noise_share() * std::sqrt(static_cast<double>(sums_.plan().members.size()));
}

/// Only where all members are there: no answer is spent on a part of them. Counted before it is
/// sent. An answer that reaches nobody has cost as much as any other.
void PrivateNewtonAgent::answer(Workspace& workspace) {
  const Index d = state_.point.size();
  const bool with_curvature = state_.asked == Asked::curvature;
  Answers own;
  own.numbers.resize(static_cast<std::size_t>(d));
  if (with_curvature) own.matrix.resize(static_cast<std::size_t>(triangle_size(d)));
  const double cost = options_.gradient_cost + (with_curvature ? options_.curvature_cost : 0);
  if (!may_answer() || (options_.spend && !options_.spend(cost)))
    return sums_.refuse(std::move(own));
  Vector gradient;
  Matrix hessian;
  const auto samples = static_cast<std::uint64_t>(context_.objective->samples());
  context_.objective->evaluate(state_.point, Batch::all(), &gradient, nullptr, workspace.objective);
  cost_.gradient_samples += samples;
  const auto draw = 2 * static_cast<std::uint64_t>(gradients_given_);
  const double share = noise_share();
  Eigen::Map<Vector>(own.numbers.data(), d) =
      gradient / options_.row_bound + share * options_.gradient_deviation * options_.noise(d, draw);
  if (with_curvature) {
    // At zero the second derivative of every row is the largest that it can be.
    context_.objective->evaluate(Vector::Zero(d), Batch::all(), nullptr, &hessian,
                                 workspace.objective);
    cost_.hessian_samples += samples;
    const double square = options_.row_bound * options_.row_bound;
    Eigen::Map<Vector>(own.matrix.data(), triangle_size(d)) =
        lower_triangle(hessian) / square +
        share * options_.curvature_deviation * options_.noise(triangle_size(d), draw + 1);
    curvature_given_ = true;
  }
  ++gradients_given_;
  sums_.answer(std::move(own));
}

/// The total with noise is the curvature plus a random matrix, whose largest eigenvalue is hardly
/// ever above (2 sqrt(d) + 4) times the deviation of its elements. With as much added to the
/// diagonal it is a majorizer again.
Matrix PrivateNewtonAgent::majorizer_of(const std::vector<double>& elements) const {
  const Index d = state_.point.size();
  const double deviation = options_.curvature_deviation * noise_excess();
  Matrix matrix = from_lower_triangle(elements, d);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(matrix);
  const double shift = (2 * std::sqrt(static_cast<double>(d)) + 4) * deviation;
  const Vector values = eigen.eigenvalues().cwiseMax(0).array() + shift;
  matrix = eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
  return options_.row_bound * options_.row_bound * matrix;
}

/// A step from the present point, or the answer: the minimizer of the mean of recent models.
void PrivateNewtonAgent::decide() {
  const Answers& total = *sums_.total();
  if (total.refused > 0 || total.overflowed > 0) {
    if (state_.curvature.size() > 0) end(state_);
    return;
  }
  State next = state_;
  if (state_.asked == Asked::curvature) next.curvature = majorizer_of(total.matrix);
  const Vector gradient =
      options_.row_bound * Eigen::Map<const Vector>(total.numbers.data(), next.point.size());
  const Vector slope = gradient - next.curvature * next.point;
  ++next.step;
  if (2 * next.step > options_.steps) {
    ++next.averaged;
    next.slope += (slope - next.slope) / next.averaged;
  }
  const Regularizer regularizer =
      weighted(context_.regularizer, static_cast<double>(sums_.plan().members.size()));
  next.point += model_step(next.curvature, gradient, next.point, regularizer);
  next.asked = Asked::gradient;
  cost_.solves += 1;
  if (next.step < options_.steps) return begin(std::move(next));
  end(std::move(next));
}

void PrivateNewtonAgent::end(State state) {
  if (state.averaged > 0) {
    const Regularizer regularizer =
        weighted(context_.regularizer, static_cast<double>(sums_.plan().members.size()));
    const Vector gradient = state.slope + state.curvature * state.point;
    state.point += model_step(state.curvature, gradient, state.point, regularizer);
  }
  state.asked = Asked::nothing;
  if (events_.empty())
    events_.push_back({round_, AgentEvent::Kind::private_answer, static_cast<double>(state.step)});
  begin(std::move(state));
}

bool PrivateNewtonAgent::finished() const {
  return state_.asked == Asked::nothing && sums_.wave().id.known() && sums_.settled();
}

double PrivateNewtonAgent::disagreement() const {
  return finished() ? 0 : std::numeric_limits<double>::infinity();
}

std::span<const AgentId> PrivateNewtonAgent::counted_members() const {
  return finished() ? std::span<const AgentId>(sums_.plan().members) : std::span<const AgentId>();
}

void PrivateNewtonAgent::add_neighbour(const Neighbour& neighbour) {
  context_.neighbours.push_back(neighbour);
  sums_.add_neighbour(neighbour.id);
}

void PrivateNewtonAgent::drop_neighbour(std::size_t slot) {
  context_.neighbours.erase(context_.neighbours.begin() + static_cast<std::ptrdiff_t>(slot));
  sums_.drop_neighbour(slot);
}

void PrivateNewtonAgent::save(ByteWriter& writer) const {
  sums_.save(writer);
  const Question question = encode(state_);
  writer.put(question.kind);
  writer.put(question.numbers.size());
  writer.put(std::span<const double>(question.numbers));
  writer.put(gradients_given_);
  writer.put(curvature_given_);
  writer.put(sequence_);
  writer.put(cost_);
  writer.put(events_.size());
  for (const AgentEvent& event : events_) writer.put(event);
}

Status PrivateNewtonAgent::load(ByteReader& reader) {
  const Error unfit{"agent state", "does not fit this agent's problem and neighbours"};
  sums_.load(reader);
  Question question;
  std::size_t size = 0, events = 0;
  reader.get(question.kind);
  reader.get(size);
  const Index d = state_.point.size();
  if (!reader.ok() || size > static_cast<std::size_t>(2 + 2 * d + triangle_size(d))) return unfit;
  question.numbers.resize(size);
  reader.get(std::span<double>(question.numbers));
  reader.get(gradients_given_);
  reader.get(curvature_given_);
  reader.get(sequence_);
  reader.get(cost_);
  reader.get(events);
  if (!reader.ok() || events > 1) return unfit;
  events_.resize(events);
  for (AgentEvent& event : events_) reader.get(event);
  const auto asked = static_cast<Asked>(question.kind);
  question.wants_matrix = asked == Asked::curvature;
  question.wants_sum = asked != Asked::nothing;
  auto state = decode(question);
  if (!reader.ok() || !state || gradients_given_ < 0) return unfit;
  state_ = std::move(*state);
  return success();
}

}  // namespace grove
