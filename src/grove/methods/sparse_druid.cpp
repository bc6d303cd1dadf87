#include "grove/methods/sparse_druid.h"

#include <algorithm>
#include <cassert>

namespace grove {
namespace {

constexpr double alone_ridge = 1e-3;  ///< of the first activation: of the Hessian's diagonal
constexpr ActiveBudget alone_budget{.steps = 10, .decrease = 1e-4};

/// Q of the links, with the agent's own proximal weight.
class LinksTerm final : public ActiveTerm {
 public:
  LinksTerm(SparseLinks& links, double prox) : links_(links), prox_(prox) {}
  void prepare(const std::vector<std::uint32_t>& coordinates) override {
    links_.touch(coordinates);
  }
  double diagonal(Index k) const override { return links_.sum_coded(k) + prox_; }
  void blocks(ColumnPlaces places, std::vector<Index>& block_places, Matrix& block) const override {
    links_.sum_blocks(places, block_places, block);
  }
  void add_product(const Vector& v, Vector& result) const override {
    links_.add_sum_product(v, result);
    if (prox_ > 0) result += prox_ * v;
  }

 private:
  SparseLinks& links_;
  double prox_;
};

/// A share of the diagonal; of its mean where that is zero.
Vector ridge_of(const Vector& diagonal) {
  const auto seen = (diagonal.array() > 0).count();
  const double usual = seen > 0 ? diagonal.sum() / static_cast<double>(seen) : 1;
  return alone_ridge * (diagonal.array() > 0).select(diagonal, usual);
}

std::vector<std::uint32_t> support_of(const Vector& x) {
  std::vector<std::uint32_t> result;
  for (Index k = 0; k < x.size(); ++k)
    if (x[k] != 0) result.push_back(static_cast<std::uint32_t>(k));
  return result;
}

}  // namespace

SparseDruidAgent::SparseDruidAgent(const DruidOptions& options, AgentContext context)
    : context_(std::move(context)),
      options_(options),
      links_(context_.objective->dimension(), options.coupling.relaxation,
             context_.neighbours.size()),
      publisher_(options.balance_residuals, options.published_hessian, options.largest_weight),
      depth_(context_.id == AgentId{0}, static_cast<double>(context_.network_size)),
      x_(std::move(context_.start)) {
  assert(context_.objective->restricts() && context_.regularizer.separable());
  touch_support();
}

SparseDruidAgent::~SparseDruidAgent() = default;

void SparseDruidAgent::touch_support() { links_.touch(support_of(x_)); }

void SparseDruidAgent::activate(const Activation& activation, Workspace& workspace) {
  ActiveNewton& newton = workspace.active_newton;
  links_.settle(x_);
  step_length_ = 0;
  if (!publisher_.has_published())
    first_activation(newton, activation);
  else if (context_.neighbours.empty() || links_.established() > 0)
    local_update(newton, activation);
  links_.prepare_messages(x_);
  sent_hops_ = depth_.counts();
  sequence_ = activation.round;
  cost_.broadcasts += 1;
  for (std::size_t slot = 0; slot < context_.neighbours.size(); ++slot)
    cost_.count_message(message_to(slot), x_.size());
}

/// Calls use(inputs of the publisher), newton having just arrived at x.
template <class Use>
void SparseDruidAgent::with_inputs(const ActiveNewton& newton, const Use& use) {
  const Objective& f = *context_.objective;
  Vector diagonal;
  f.hessian_diagonal(newton.second_derivatives(), diagonal);
  const std::function<void(const std::vector<std::uint32_t>&, Matrix&)> hessian_on =
      [&](const std::vector<std::uint32_t>& coordinates, Matrix& lower) {
        std::vector<std::int32_t> places(static_cast<std::size_t>(x_.size()), -1);
        for (std::size_t k = 0; k < coordinates.size(); ++k)
          places[coordinates[k]] = static_cast<std::int32_t>(k);
        RestrictedRows rows;
        rows.clear(std::ssize(coordinates));
        f.append_restricted(newton.second_derivatives(), places, 1, rows);
        sum_of_squares(rows, lower);
      };
  use(SparseWeightInputs{.x = x_,
                         .hessian_diagonal = diagonal,
                         .hessian_on = hessian_on,
                         .regularizer = context_.regularizer,
                         .links = links_,
                         .network_depth = depth_.depth()});
}

/// x_i becomes the minimizer of f_i, its share of r and a small ridge: no communication.
void SparseDruidAgent::first_activation(ActiveNewton& newton, const Activation& activation) {
  const Objective& f = *context_.objective;
  const Vector zero = Vector::Zero(x_.size());
  Vector point = x_, diagonal;
  {
    std::vector<double> second(static_cast<std::size_t>(f.second_derivative_count(Batch::all())));
    ObjectiveScratch scratch;
    f.evaluate_second_derivatives(x_, Batch::all(), nullptr, second, scratch);
    f.hessian_diagonal(second, diagonal);
  }
  const Vector ridge = ridge_of(diagonal);
  DiagonalTerm term(ridge);
  ActiveBudget budget = alone_budget;
  if (!options_.solve_alone) budget.steps = 0;
  count(newton.minimize({f, context_.regularizer, x_, zero, term}, budget, point));
  step_length_ = (point - x_).norm();
  x_ = std::move(point);
  touch_support();
  lone_ridge_ = alone_ridge * diagonal.mean();
  with_inputs(newton, [&](const SparseWeightInputs& inputs) {
    links_.publish(publisher_.next(inputs), activation.round);
  });
}

void SparseDruidAgent::local_update(ActiveNewton& newton, const Activation& activation) {
  Vector linear = Vector::Zero(x_.size()), point = x_;
  links_.add_gradient(x_, linear);
  LinksTerm term(links_, options_.prox + (context_.neighbours.empty() ? lone_ridge_ : 0));
  const bool until_quadratic = std::get<ProximalNewtonSteps>(options_.solver).stop_when_quadratic;
  count(newton.minimize({*context_.objective, context_.regularizer, x_, linear, term},
                        {.steps = activation.local_steps, .stop_when_quadratic = until_quadratic},
                        point));
  Vector& step = linear;  // no longer needed
  step = point - x_;
  step_length_ = step.norm();
  x_ = std::move(point);
  touch_support();
  const bool raise = publisher_.observe_step(step, depth_.depth(), links_);
  if (raise)
    events_.push_back({activation.round, AgentEvent::Kind::raised_links, publisher_.raised_by()});
  with_inputs(newton, [&](const SparseWeightInputs& inputs) {
    if (publisher_.due(inputs) || raise || links_.rolled_back())
      links_.publish(publisher_.next(inputs), activation.round);
  });
}

void SparseDruidAgent::count(const ActiveWork& work) {
  const auto samples = static_cast<std::uint64_t>(context_.objective->samples());
  cost_.gradient_samples += static_cast<std::uint64_t>(work.evaluations) * samples;
  cost_.hessian_samples += static_cast<std::uint64_t>(work.steps) * samples;
  cost_.solves += static_cast<std::uint64_t>(work.steps);
  cost_.damped_steps += static_cast<std::uint64_t>(work.damped);
}

Message SparseDruidAgent::message_to(std::size_t slot) const {
  Message message{.sender = context_.id, .sequence = sequence_, .hops = sent_hops_};
  links_.fill_message(slot, message);
  return message;
}

void SparseDruidAgent::receive(std::size_t slot, const Message& message) {
  if (message.hops) depth_.receive(*message.hops);
  if (links_.receive(slot, message, x_)) publisher_.received_weight();
}

void SparseDruidAgent::add_neighbour(const Neighbour& neighbour) {
  context_.neighbours.push_back(neighbour);
  links_.add_link();
}

void SparseDruidAgent::drop_neighbour(std::size_t slot) {
  context_.neighbours.erase(context_.neighbours.begin() + static_cast<std::ptrdiff_t>(slot));
  links_.remove_link(slot);
  publisher_.received_weight();  // the neighbours' mean has changed
}

void SparseDruidAgent::set_regularizer_holder(bool holds, const Regularizer&,
                                              std::size_t network_size) {
  depth_.set_network_size(static_cast<double>(network_size));
  if (holds) depth_.become_root();
}

void SparseDruidAgent::save(ByteWriter& writer) const {
  writer.put(x_);
  writer.put(sequence_);
  writer.put(cost_);
  writer.put(lone_ridge_);
  publisher_.save(writer);
  writer.put(depth_);
  writer.put(events_.size());
  for (const AgentEvent& event : events_) writer.put(event);
  links_.save(writer);
}

Status SparseDruidAgent::load(ByteReader& reader) {
  reader.get(x_);
  reader.get(sequence_);
  reader.get(cost_);
  reader.get(lone_ridge_);
  publisher_.load(reader);
  reader.get(depth_);
  std::size_t events = 0;
  reader.get(events);
  events_.resize(std::min<std::size_t>(events, ResidualBalancing::most_changes));
  for (AgentEvent& event : events_) reader.get(event);
  links_.load(reader);
  if (!reader.ok()) return Error{"agent state", "does not fit this agent's problem and neighbours"};
  touch_support();
  return success();
}

}  // namespace grove
