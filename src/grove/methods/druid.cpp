#include "grove/methods/druid.h"

namespace grove {
namespace {

std::optional<RegularizerCopy> make_theta(const DruidOptions& options,
                                          const AgentContext& context) {
  if (context.regularizer.trivial()) return std::nullopt;
  return RegularizerCopy(context.regularizer, options.theta_penalty, context.network_size,
                         context.start);
}

}  // namespace

DruidAgent::DruidAgent(const DruidOptions& options, AgentContext context)
    : context_(std::move(context)),
      penalty_(options.penalty),
      theta_penalty_(options.theta_penalty),
      prox_(options.prox),
      model_kind_(options.local_model),
      solver_(make_local_solver(options.solver, *context_.objective)),
      links_(
          make_links({.kind = options.link,
                      .penalties = std::vector<double>(context_.neighbours.size(), options.penalty),
                      .unequal_rates = options.unequal_rates},
                     context_.start)),
      theta_(make_theta(options, context_)),
      x_(std::move(context_.start)) {}  // the last use of it

void DruidAgent::activate(const Activation& activation, Workspace& workspace) {
  workspace.fit(x_.size());
  const LocalModel model = local_model(workspace);
  workspace.point = x_;
  solver_->solve(model, {context_.seed, context_.id, activation}, workspace, cost_);  // eq. (9a)
  step_ = (workspace.point - x_).norm();
  x_ = workspace.point;
  if (theta_) theta_->update(x_, workspace.gradient);
  speak(activation);
}

LocalModel DruidAgent::local_model(Workspace& workspace) const {
  workspace.pull.setZero();
  links_->add_pull(x_, workspace.pull);
  if (theta_) theta_->add_pull(x_, workspace.pull);
  const double stiffness = links_->total_penalty() + (theta_ ? theta_->penalty() : 0.0) + prox_;
  return {.objective = *context_.objective,
          .anchor = x_,
          .pull = workspace.pull,
          .stiffness = stiffness,
          .tether = model_kind_ == LocalModelKind::augmented ? stiffness : prox_};
}

void DruidAgent::speak(const Activation& activation) {
  links_->speak(x_);
  sequence_ = activation.round;
  spoke_ = true;
  cost_.count_broadcast(context_.neighbours.size(), x_.size());
}

Message DruidAgent::message_to(std::size_t slot) const {
  return {.from = context_.id, .sequence = sequence_, .payload = links_->payload_to(slot, x_)};
}

void DruidAgent::receive(std::size_t slot, const Message& message) {
  links_->receive(slot, message);
}

void DruidAgent::add_neighbour(const Neighbour& neighbour) {
  context_.neighbours.push_back(neighbour);
  links_->connect(penalty_, x_);
}

void DruidAgent::drop_neighbour(std::size_t slot) {
  context_.neighbours.erase(context_.neighbours.begin() + static_cast<std::ptrdiff_t>(slot));
  links_->disconnect(slot);
}

void DruidAgent::hold(bool holds, const Regularizer& regularizer, std::size_t network_size) {
  if (!holds || regularizer.trivial())
    theta_.reset();
  else if (theta_)
    theta_->set_network_size(network_size);
  else
    theta_.emplace(regularizer, theta_penalty_, network_size, x_);
}

void DruidAgent::end_round() {
  links_->end_round(x_, spoke_);
  spoke_ = false;
}

const Vector* DruidAgent::regularized_estimate() const {
  return theta_ ? &theta_->value() : nullptr;
}

void DruidAgent::save(ByteWriter& writer) const {
  writer.put(x_);
  writer.put(sequence_);
  writer.put(cost_);
  links_->save(writer);
  if (theta_) theta_->save(writer);
  solver_->save(writer);
}

Status DruidAgent::load(ByteReader& reader) {
  reader.get(x_);
  reader.get(sequence_);
  reader.get(cost_);
  links_->load(reader);
  if (theta_) theta_->load(reader);
  solver_->load(reader);
  spoke_ = false;
  if (!reader.ok()) return Error{"agent state", "does not fit this agent's problem and neighbours"};
  return success();
}

}  // namespace grove
