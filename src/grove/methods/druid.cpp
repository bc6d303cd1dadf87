#include "grove/methods/druid.h"

#include <algorithm>
#include <cassert>

namespace grove {
namespace {

/// Of the first activation, relative to the metric of the links: keeps an agent that knows little
/// from going far.
constexpr double first_ridge = 1e-3;

/// Of an agent without neighbours: ridge relative to the mean of its published diagonal.
constexpr double lone_ridge = 1e-3;

constexpr std::size_t most_link_events =
    ResidualBalancing::most_changes + CommonMotion::most_findings;

/// The first activation solves the agent's own problem to 1e-4 of the first predicted decrease,
/// with approximate Hessians while steps predict more than 1e-3 of it.
constexpr NewtonBudget first_budget{.steps = 30, .decrease = 1e-4, .sketch = 1e-3};

std::optional<RegularizerCopy> make_copy(const DruidOptions& options, const AgentContext& context) {
  if (!options.theta_penalty || context.regularizer.trivial()) return std::nullopt;
  return RegularizerCopy(context.regularizer, *options.theta_penalty, context.network_size,
                         context.start);
}

Vector start_at_links(const LinkMetric& metric, const Vector& start) {
  if (metric.is_identity()) return start;
  Vector y;
  metric.to_links(start, y);
  return y;
}

}  // namespace

DruidAgent::DruidAgent(const DruidOptions& options, AgentContext context)
    : context_(std::move(context)),
      options_(options),
      metric_(published_form(options) && !options.theta_penalty ? context_.metric : nullptr),
      coupling_(make_coupling(options.coupling, start_at_links(metric_, context_.start),
                              context_.neighbours.size())),
      solver_(make_local_solver(options.solver, *context_.objective)),
      copy_(make_copy(options, context_)),
      share_(context_.regularizer),
      x_(std::move(context_.start)) {  // the last use of it
  if (!metric_.is_identity()) metric_.to_links(x_, y_);
  if (copy_ || !published_form(options)) share_ = {.regularized = context_.regularizer.regularized};
  if (!published_form(options)) return;
  auto* newton = dynamic_cast<ProximalNewton*>(solver_.get());
  assert(newton != nullptr);  // published weights are made from its Hessian
  publication_.emplace(
      Publication{{*published_form(options), options.balance_residuals, options.published_hessian,
                   options.largest_weight},
                  {context_.id == AgentId{0}, static_cast<double>(context_.network_size)},
                  *newton});
}

void DruidAgent::activate(const Activation& activation, Workspace& workspace) {
  workspace.fit(x_.size());
  const SolverTurn turn{context_.seed, context_.id, activation};
  step_length_ = 0;
  if (publication_ && !publication_->publisher.has_published())
    first_activation(turn, workspace);
  else if (context_.neighbours.empty() || coupling_->weights().established() > 0)
    local_update(turn, workspace);
  // Otherwise no neighbour's weight is known yet, and there is nothing to agree on.
  if (copy_) copy_->update(x_, workspace.trial);
  prepare_messages(activation);
}

/// x_i becomes the minimizer of f_i, its share of r and a small ridge: no communication.
void DruidAgent::first_activation(const SolverTurn& turn, Workspace& workspace) {
  ProximalNewton& newton = publication_->newton;
  const Objective& objective = *context_.objective;
  workspace.point = x_;
  workspace.coupling_gradient.setZero();
  newton.ensure_hessian(options_.solve_alone ? HessianDetail::sketch : HessianDetail::whole,
                        objective, turn, workspace, cost_);
  if (options_.solve_alone) {
    if (!metric_.is_identity())
      metric_.term_from_links({.scalar = first_ridge}, workspace.candidate);
    const QuadraticTerm ridge =
        metric_.is_identity()
            ? QuadraticTerm{.diagonal = &publication_->publisher.ridge(newton.hessian(), objective)}
            : QuadraticTerm{.matrix = &workspace.candidate};
    newton.minimize({objective, x_, workspace.coupling_gradient, ridge, ridge, share_},
                    first_budget, turn, workspace, cost_);
    move_to(workspace.point);
    newton.ensure_hessian(HessianDetail::whole, objective, turn, workspace, cost_);
  }
  publish_weight(turn.activation, workspace);
}

/// E_i steps on the local model, eq. (9a); then a new link weight where one is due.
void DruidAgent::local_update(const SolverTurn& turn, Workspace& workspace) {
  const LocalModel model = local_model(workspace);
  workspace.point = x_;
  solver_->solve(model, turn, workspace, cost_);
  const bool raise = publication_ && changes_weights(turn.activation, workspace);
  move_to(workspace.point);
  if (!publication_) return;
  if (raise || coupling_->rolled_back() ||
      publication_->publisher.due(weight_inputs(workspace), sequence_, workspace.candidate,
                                  workspace.difference))
    publish_weight(turn.activation, workspace);
}

LocalModel DruidAgent::local_model(Workspace& workspace) const {
  workspace.coupling_gradient.setZero();
  coupling_->add_gradient(at_links(), workspace.coupling_gradient);
  if (!metric_.is_identity()) metric_.gradient_from_links(workspace.coupling_gradient);
  if (copy_) copy_->add_gradient(x_, workspace.coupling_gradient);
  QuadraticTerm penalty_sum = this->penalty_sum();
  penalty_sum.scalar += (copy_ ? copy_->penalty() : 0.0) + options_.prox;
  // Links keep the model strongly convex; an agent without links needs a proximal term for that.
  if (publication_ && context_.neighbours.empty())
    penalty_sum.scalar += lone_ridge * publication_->publisher.mean_diagonal();
  const bool augmented = options_.local_model == LocalModelKind::augmented;
  return {.objective = *context_.objective,
          .anchor = x_,
          .coupling_gradient = workspace.coupling_gradient,
          .center_weight = augmented ? penalty_sum : QuadraticTerm{.scalar = options_.prox},
          .penalty_sum = penalty_sum,
          .regularizer = share_};
}

QuadraticTerm DruidAgent::penalty_sum() const {
  const QuadraticTerm sum = coupling_->weights().sum();
  if (metric_.is_identity()) return sum;
  if (penalty_version_ != sum.version || penalty_sum_.size() == 0) {
    metric_.term_from_links(sum, penalty_sum_);
    penalty_version_ = sum.version;
  }
  return {.matrix = &penalty_sum_, .version = sum.version};
}

void DruidAgent::move_to(const Vector& point) {
  step_length_ = (point - x_).norm();
  x_ = point;
  if (!metric_.is_identity()) metric_.to_links(x_, y_);
}

/// Observes the step from x_i to workspace.point.
bool DruidAgent::changes_weights(const Activation& activation, Workspace& workspace) {
  workspace.trial = workspace.point - x_;
  if (!metric_.is_identity()) {
    metric_.to_links(workspace.trial, workspace.displacement);
    workspace.trial = workspace.displacement;
  }
  WeightPublisher& publisher = publication_->publisher;
  switch (publisher.observe_step(workspace.trial, at_links(), publication_->depth.depth(),
                                 *coupling_)) {
    case WeightPublisher::Verdict::none:
      return false;
    case WeightPublisher::Verdict::raise:
      events_.push_back({activation.round, AgentEvent::Kind::raised_links, publisher.raised_by()});
      return true;
    case WeightPublisher::Verdict::lower:
      events_.push_back(
          {activation.round, AgentEvent::Kind::lowered_links, publisher.lowered_by()});
      return true;
  }
  return false;
}

WeightInputs DruidAgent::weight_inputs(Workspace& workspace) {
  const ProximalNewton& newton = publication_->newton;
  if (majorized_hessian_ != newton.hessians_computed()) {
    if (!context_.objective->majorizer(x_, majorizer_, workspace.objective))
      majorizer_.resize(0, 0);
    majorized_hessian_ = newton.hessians_computed();
  }
  return {.hessian = majorizer_.size() > 0 ? majorizer_ : newton.hessian(),
          .hessians_computed = publication_->newton.hessians_computed(),
          .x = x_,
          .regularizer = share_,
          .objective = *context_.objective,
          .weights = coupling_->weights(),
          .metric = metric_,
          .neighbours = context_.neighbours.size(),
          .network_depth = publication_->depth.depth()};
}

/// The number of the activation serves as version: it grows, and a runtime never uses one twice.
void DruidAgent::publish_weight(const Activation& activation, Workspace& workspace) {
  coupling_->publish(publication_->publisher.next(weight_inputs(workspace)), activation.round,
                     at_links());
}

void DruidAgent::prepare_messages(const Activation& activation) {
  coupling_->prepare_messages(at_links());
  if (publication_) sent_hops_ = publication_->depth.counts();
  sequence_ = activation.round;
  active_ = true;
  cost_.broadcasts += 1;
  for (std::size_t slot = 0; slot < context_.neighbours.size(); ++slot)
    cost_.count_message(message_to(slot), x_.size());
}

Message DruidAgent::message_to(std::size_t slot) const {
  Message message{.sender = context_.id, .sequence = sequence_};
  if (publication_) message.hops = sent_hops_;
  coupling_->fill_message(slot, at_links(), message);
  return message;
}

void DruidAgent::receive(std::size_t slot, const Message& message) {
  if (publication_ && message.hops) publication_->depth.receive(*message.hops);
  const bool new_weight = coupling_->receive(slot, message, at_links());
  if (new_weight) publication_->publisher.received_weight();
}

void DruidAgent::end_round() {
  coupling_->end_round(at_links(), active_);
  active_ = false;
}

void DruidAgent::add_neighbour(const Neighbour& neighbour) {
  context_.neighbours.push_back(neighbour);
  coupling_->add_link(at_links());
}

void DruidAgent::drop_neighbour(std::size_t slot) {
  context_.neighbours.erase(context_.neighbours.begin() + static_cast<std::ptrdiff_t>(slot));
  coupling_->remove_link(slot);
  if (publication_) publication_->publisher.received_weight();  // the neighbours' mean has changed
}

void DruidAgent::start_new_epoch() {
  if (publication_) publication_->publisher.start_new_epoch();
}

void DruidAgent::set_regularizer_holder(bool holds, const Regularizer& regularizer,
                                        std::size_t network_size) {
  if (publication_) {
    publication_->depth.set_network_size(static_cast<double>(network_size));
    if (holds) publication_->depth.become_root();
  }
  if (!options_.theta_penalty) return;  // every agent keeps its own share
  if (!holds || regularizer.trivial())
    copy_.reset();
  else if (copy_)
    copy_->set_network_size(network_size);
  else
    copy_.emplace(regularizer, *options_.theta_penalty, network_size, x_);
}

const Vector* DruidAgent::regularized_estimate() const { return copy_ ? &copy_->value() : nullptr; }

void DruidAgent::save(ByteWriter& writer) const {
  writer.put(x_);
  writer.put(sequence_);
  writer.put(cost_);
  if (publication_) {
    publication_->publisher.save(writer);
    writer.put(publication_->depth);
    writer.put(events_.size());
    for (const AgentEvent& event : events_) writer.put(event);
  }
  coupling_->save(writer);
  if (copy_) copy_->save(writer);
  solver_->save(writer);
}

Status DruidAgent::load(ByteReader& reader) {
  reader.get(x_);
  reader.get(sequence_);
  reader.get(cost_);
  if (publication_) {
    publication_->publisher.load(reader, x_.size());
    reader.get(publication_->depth);
    std::size_t events = 0;
    reader.get(events);
    events_.resize(std::min<std::size_t>(events, most_link_events));
    for (AgentEvent& event : events_) reader.get(event);
  }
  coupling_->load(reader);
  if (copy_) copy_->load(reader);
  solver_->load(reader);
  if (!metric_.is_identity()) metric_.to_links(x_, y_);
  active_ = false;
  if (!reader.ok()) return Error{"agent state", "does not fit this agent's problem and neighbours"};
  return success();
}

}  // namespace grove
