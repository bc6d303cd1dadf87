#include "grove/methods/certified_agent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grove/methods/model_step.h"

namespace grove {
namespace {

constexpr int most_certified_steps = 2;   ///< from the mean of the estimates
constexpr std::uint64_t most_wait = 256;  ///< activations
constexpr double precise = 1e-9;          ///< a shorter step, relative: another one gains nothing
/// Times the tolerance: the step at an answer that is accepted after the last Newton step.
constexpr double enough = 10;

std::vector<AgentId> neighbour_ids(const std::vector<Neighbour>& neighbours) {
  std::vector<AgentId> ids;
  ids.reserve(neighbours.size());
  for (const Neighbour& neighbour : neighbours) ids.push_back(neighbour.id);
  return ids;
}

}  // namespace

CertifiedAgent::CertifiedAgent(const CertifiedAgentOptions& options, const AgentContext& context,
                               std::unique_ptr<DynamicAgent> method)
    : options_(options),
      regularizer_(context.regularizer),
      method_(std::move(method)),
      answers_(context.objective, context.regularizer),
      sums_(context.id, neighbour_ids(context.neighbours), options.links, options.masks) {
  question_.base = context.start;
}

double CertifiedAgent::local_residual() const {
  double largest = std::max(method_->last_step(), method_->disagreement());
  const Vector& x = method_->estimate();
  if (const Vector* theta = method_->regularized_estimate())
    largest = std::max(largest, (*theta - x).stableNorm());
  const double scale = x.stableNorm(), result = scale > 0 ? largest / scale : largest;
  return std::isfinite(result) ? result : std::numeric_limits<double>::infinity();
}

void CertifiedAgent::activate(const Activation& activation, Workspace& workspace) {
  method_->activate(activation, workspace);
  ++activations_;
  sums_.begin_activation();
  if (may_poll()) poll();
  if (sums_.wants_answer()) answer(workspace);
  if (sums_.leads() && sums_.total() != nullptr && given_up_ != sums_.wave().id)
    decide(*sums_.total());
  sums_.prepare_messages();
}

void CertifiedAgent::answer(Workspace& workspace) {
  if (question_.kind == NewtonWave::poll) return sums_.answer(estimate_answer());
  Answers own = answers_.answer(question_, workspace.objective, sums_cost_);
  const Vector point = point_of(question_, regularizer_);
  if (!sums_.masked() || answered_.may_answer(AnsweredPoints::hash_of(point), sums_.plan()))
    return sums_.answer(std::move(own));
  sums_.refuse(std::move(own));
}

void CertifiedAgent::decide(const Answers& total) {
  if (total.overflowed > 0 && coarseness_ < FixedPoint::coarsest) {
    ++coarseness_;
    return begin(std::move(question_));
  }
  if (total.refused > 0 || total.overflowed > 0) return wait_longer();
  if (question_.kind == NewtonWave::poll) return decide_poll(total);
  if (const auto totals = answers_.read(total, question_)) decide_certificate(*totals);
}

Message CertifiedAgent::message_to(std::size_t slot) const {
  Message message = method_->message_to(slot);
  message.tree = sums_.fields_to(slot);
  return message;
}

void CertifiedAgent::not_sent(std::size_t slot) {
  method_->not_sent(slot);
  sums_.not_sent(slot);
}

void CertifiedAgent::receive(std::size_t slot, const Message& message) {
  method_->receive(slot, message);
  if (!message.tree) return;
  TreeFields fields = *message.tree;
  std::optional<NewtonQuestion> question;
  if (fields.wave && fields.wave->id > sums_.wave().id) {
    question = decode(question_of(*fields.wave), question_.base.size());
    if (!question) fields.wave.reset();
  }
  sums_.receive(slot, message.sequence, fields);
  if (question) question_ = std::move(*question);
}

void CertifiedAgent::begin(NewtonQuestion question) {
  question_ = std::move(question);
  Question asked = encode(question_);
  asked.coarseness = coarseness_;
  sums_.begin(std::move(asked));
}

/// Nothing is under way in this tree, or it came to nothing.
bool CertifiedAgent::may_poll() const {
  return sums_.leads() && (sums_.needs_wave() || given_up_ == sums_.wave().id) &&
         activations_ >= next_poll_ && local_residual() <= options_.tolerance;
}

void CertifiedAgent::poll() {
  steps_ = 0;
  begin({.kind = NewtonWave::poll,
         .base = method_->estimate(),
         .step = {},
         .certificate = {},
         .support = {}});
}

/// Of each coefficient the value, and whether it is not zero. An agent that keeps the copy theta
/// speaks for all. The last two numbers: locally converged, keeps theta.
Answers CertifiedAgent::estimate_answer() const {
  const Vector* theta = method_->regularized_estimate();
  const Vector& x = theta != nullptr ? *theta : method_->estimate();
  Answers answers;
  for (const double value : x) answers.numbers.push_back(value);
  for (const double value : x) answers.numbers.push_back(value != 0 ? 1 : 0);
  for (const double value : x) answers.numbers.push_back(theta != nullptr ? value : 0);
  answers.numbers.push_back(local_residual() <= options_.tolerance ? 1 : 0);
  answers.numbers.push_back(theta != nullptr ? 1 : 0);
  return answers;
}

void CertifiedAgent::wait_longer() {
  next_poll_ = activations_ + wait_;
  wait_ = std::min(2 * wait_, most_wait);
  given_up_ = sums_.wave().id;
}

/// theta, or the mean of the estimates, with zeros where most have them.
void CertifiedAgent::decide_poll(const Answers& total) {
  const Index d = question_.base.size();
  const auto size = static_cast<std::size_t>(d);
  const auto members = static_cast<double>(sums_.plan().members.size());
  const auto& numbers = total.numbers;
  if (numbers.size() != 3 * size + 2 || numbers[3 * size] < members || !sums_.plan().full)
    return wait_longer();
  const bool has_theta = numbers[3 * size + 1] == 1;
  Vector point(d);
  for (std::size_t k = 0; k < size; ++k) {
    const bool zero = numbers[size + k] < members / 2;
    point[static_cast<Index>(k)] =
        has_theta ? numbers[2 * size + k] : (zero ? 0 : numbers[k] / members);
  }
  begin({.kind = NewtonWave::certify,
         .wants_hessian = true,
         .base = within_bounds(point, regularizer_),
         .step = {},
         .certificate = {},
         .support = {}});
}

void CertifiedAgent::decide_certificate(const NewtonTotals& totals) {
  const std::size_t members = sums_.plan().members.size();
  if (totals.overflowed() || !totals.hessian || !sums_.plan().full) return wait_longer();
  const Regularizer total = weighted(regularizer_, static_cast<double>(members));
  const Vector point = point_of(question_, regularizer_);
  const Vector step = model_step(*totals.hessian, totals.gradient, point, total);
  const AnswerCertificate certificate = certificate_at(question_, totals, step, total, members);
  const bool last = steps_ == most_certified_steps;
  const bool is_short =
      steps_ > 0 && certificate.relative_step <= (last ? enough * options_.tolerance : precise);
  const double bound = certificate.gap_bound;
  if (is_short && (bound <= options_.gap_tolerance || bound >= AnswerCertificate::unknown)) {
    wait_ = 1;
    return begin({.kind = NewtonWave::done,
                  .base = point,
                  .step = {},
                  .certificate = certificate,
                  .support = {}});
  }
  if (last || !step.allFinite()) return wait_longer();
  ++steps_;
  begin({.kind = NewtonWave::certify,
         .wants_hessian = true,
         .base = point,
         .step = step,
         .certificate = {},
         .support = {}});
}

/// The answer stands while the members do. A loaded agent, which has not yet heard of any, has it.
bool CertifiedAgent::has_answer() const {
  return question_.certificate.has_value() && (sums_.plan().id == 0 || sums_.settled());
}

const Vector& CertifiedAgent::estimate() const {
  return has_answer() ? question_.base : method_->estimate();
}

const Vector* CertifiedAgent::regularized_estimate() const {
  return has_answer() ? nullptr : method_->regularized_estimate();
}

const AnswerCertificate* CertifiedAgent::certificate() const {
  return has_answer() ? &*question_.certificate : nullptr;
}

std::span<const AgentId> CertifiedAgent::counted_members() const {
  return has_answer() ? std::span<const AgentId>(sums_.plan().members) : std::span<const AgentId>();
}

void CertifiedAgent::add_neighbour(const Neighbour& neighbour) {
  method_->add_neighbour(neighbour);
  sums_.add_neighbour(neighbour.id);
}

void CertifiedAgent::drop_neighbour(std::size_t slot) {
  method_->drop_neighbour(slot);
  sums_.drop_neighbour(slot);
}

void CertifiedAgent::start_new_epoch() {
  method_->start_new_epoch();
  sums_.start_new_epoch();
}

void CertifiedAgent::set_regularizer_holder(bool holds, const Regularizer& regularizer,
                                            std::size_t network_size) {
  regularizer_ = regularizer;
  method_->set_regularizer_holder(holds, regularizer, network_size);
}

void CertifiedAgent::save(ByteWriter& writer) const {
  method_->save(writer);
  sums_.save(writer);
  answers_.save(writer);
  writer.put(activations_);
  writer.put(next_poll_);
  writer.put(wait_);
  writer.put(steps_);
  writer.put(given_up_);
  writer.put(coarseness_);
  answered_.save(writer);
}

Status CertifiedAgent::load(ByteReader& reader) {
  if (Status status = method_->load(reader); !status) return status;
  sums_.load(reader);
  answers_.load(reader);
  reader.get(activations_);
  reader.get(next_poll_);
  reader.get(wait_);
  reader.get(steps_);
  reader.get(given_up_);
  reader.get(coarseness_);
  coarseness_ = std::min<std::uint8_t>(coarseness_, FixedPoint::coarsest);
  answered_.load(reader);
  const Error unfit{"agent state", "does not fit this agent's problem and neighbours"};
  if (!reader.ok()) return unfit;
  if (!sums_.wave().id.known()) return success();
  auto question = decode(sums_.wave().question, question_.base.size());
  if (!question) return unfit;
  question_ = std::move(*question);
  return success();
}

}  // namespace grove
