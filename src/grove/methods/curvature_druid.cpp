#include "grove/methods/curvature_druid.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "grove/problem/symmetric.h"

namespace grove {
namespace {

constexpr double light_ridge = 1e-3;     ///< of the mean Hessian diagonal; 0.1 was 2-4 times slower
constexpr double first_drift_limit = 3;  ///< told and true curvature may differ by this factor
constexpr double usual_refreshes = 8;    ///< more than any run measured so far needed
constexpr double scale_limit = 2;        ///< a larger change of the scale is told, too
constexpr double l1_zero_weight = 5;     ///< 3 to 10 did about as well on w8a, 1 and 30 worse
constexpr double blend = 0.5;  ///< weight of the neighbours' curvatures in what an agent tells
constexpr NewtonBudget introduction{.steps = 30, .decrease = 1e-4, .sketch = 1e-3};

std::optional<RegularizerCopy> make_theta(const CurvatureDruidOptions& options,
                                          const AgentContext& context) {
  if (!options.theta_penalty || context.regularizer.trivial()) return std::nullopt;
  return RegularizerCopy(context.regularizer, *options.theta_penalty, context.network_size,
                         context.start);
}

/// How far told and true curvature may part. Links are exact between changes of their weights, so
/// changes must come to an end: after a few, each takes more. Hessians along a bounded run differ
/// by a bounded factor, which the limit then exceeds.
double drift_limit(std::uint64_t times_published) {
  return first_drift_limit * std::max(1.0, static_cast<double>(times_published) / usual_refreshes);
}

/// The activation that the next refresh waits for. With an l1 term most agents would refresh in
/// every round while its zeros are found, which took half as many bytes more (on w8a, and on a9a
/// with l1 = 1e-4) and no fewer rounds. Later ones need not wait: the limit widens, and is to end
/// them soon.
std::uint64_t next_refresh(std::uint64_t times_published) {
  const auto waits = std::min(times_published, static_cast<std::uint64_t>(usual_refreshes));
  return waits * (waits - 1);
}

/// Whether some eigenvalue of told^{-1} now has left [1/limit, limit]; in the form's own terms.
bool differ(CurvatureForm form, double limit, const Matrix& told, const Matrix& now,
            Matrix& buffer) {
  if (form.shape == CurvatureShape::scalar) {
    const double ratio = now.diagonal().sum() / told.diagonal().sum();
    return !(ratio < limit && ratio > 1 / limit);
  }
  if (form.shape == CurvatureShape::diagonal) {
    const auto ratio = now.diagonal().cwiseQuotient(told.diagonal());
    return !(ratio.maxCoeff() < limit && ratio.minCoeff() > 1 / limit);
  }
  combine_lower(limit, told, -1, now, buffer);
  if (!factorize_cholesky(buffer)) return true;
  combine_lower(limit, now, -1, told, buffer);
  return !factorize_cholesky(buffer);
}

}  // namespace

CurvatureDruidAgent::CurvatureDruidAgent(const CurvatureDruidOptions& options, AgentContext context)
    : context_(std::move(context)),
      options_(options),
      links_(make_curvature_links(options.link, options.form, context_.objective->dimension(),
                                  context_.neighbours.size())),
      depth_(context_.id == AgentId{0}, static_cast<double>(context_.network_size)),
      share_(context_.regularizer),
      theta_(make_theta(options, context_)),
      newton_(options.sampling, context_.objective->samples()),
      x_(context_.start) {
  if (theta_) share_ = {.regularized = context_.regularizer.regularized};
}

void CurvatureDruidAgent::activate(const Activation& activation, Workspace& workspace) {
  workspace.fit(x_.size());
  step_ = 0;
  if (published_.size() == 0)
    introduce(activation, workspace);
  else if (context_.neighbours.empty() || links_->weights().working() > 0)
    improve(activation, workspace);
  // Otherwise nobody is known yet: an agent alone would only run after its own noise.
  if (theta_) theta_->update(x_, workspace.trial);
  speak(activation);
}

/// x_i becomes the minimizer of f_i and its share of r with a light ridge: no communication.
void CurvatureDruidAgent::introduce(const Activation& activation, Workspace& workspace) {
  const SolverTurn turn{context_.seed, context_.id, activation};
  workspace.point = x_;
  workspace.pull.setZero();
  newton_.take_hessian(options_.solve_alone ? Detail::sketch : Detail::whole, *context_.objective,
                       turn, workspace, cost_);
  if (options_.solve_alone) {
    const Coupling ridge{.diagonal = &floor_of(newton_.hessian())};
    newton_.minimize({*context_.objective, x_, workspace.pull, ridge, ridge, share_}, introduction,
                     turn, workspace, cost_);
    move_to(workspace.point);
    newton_.take_hessian(Detail::whole, *context_.objective, turn, workspace, cost_);
  }
  publish(activation);
}

void CurvatureDruidAgent::improve(const Activation& activation, Workspace& workspace) {
  workspace.pull.setZero();
  links_->add_pull(x_, workspace.pull);
  if (theta_) theta_->add_pull(x_, workspace.pull);
  Coupling coupling{.scalar = options_.prox + (theta_ ? theta_->penalty() : 0.0),
                    .matrix = &links_->weights().sum(),
                    .version = links_->weights().version()};
  // Links keep the model strongly convex; an agent without any has only a proximal term for that.
  if (context_.neighbours.empty()) coupling.scalar += light_ridge * published_.diagonal().mean();
  workspace.point = x_;
  newton_.minimize(
      {*context_.objective, x_, workspace.pull, coupling, coupling, share_},
      {.steps = activation.local_steps, .stop_when_quadratic = options_.stop_when_quadratic},
      {context_.seed, context_.id, activation}, workspace, cost_);
  const bool stalled = options_.balance_residuals && stalls(activation, workspace);
  move_to(workspace.point);
  if (stalled || links_->outrun() || renumbered_ || has_drifted(workspace)) publish(activation);
}

void CurvatureDruidAgent::move_to(const Vector& point) {
  step_ = (point - x_).norm();
  x_ = point;
}

/// Looks at the step from x_i to workspace.point. If the links prove too soft, they are raised.
bool CurvatureDruidAgent::stalls(const Activation& activation, Workspace& workspace) {
  workspace.trial = workspace.point - x_;
  watch_.moved(links_->movement(workspace.trial));
  const auto tension = links_->news_of_tension(x_);
  if (!tension || !watch_.observe(*tension, depth_.depth())) return false;
  events_.push_back({activation.round, AgentEvent::Kind::raised_links, watch_.factor()});
  return true;
}

/// A share of the curvature along each coordinate, so that rescaling a feature rescales all with
/// it; where there is none to be seen, of the mean, or of what the loss can bend at most.
const Vector& CurvatureDruidAgent::floor_of(const Matrix& hessian) {
  double usual = hessian.diagonal().mean();
  if (!(usual > 0)) usual = context_.objective->smoothness() / static_cast<double>(hessian.rows());
  if (!(usual > 0)) usual = 1 / light_ridge;
  floor_.resize(hessian.rows());
  for (Index k = 0; k < hessian.rows(); ++k)
    floor_[k] = light_ridge * (hessian(k, k) > 0 ? hessian(k, k) : usual);
  return floor_;
}

/// The Hessian with a floor of its own scale: positive definite whatever the data. A coordinate
/// that r holds at zero bends as much as l1 over the size of a coefficient, and more: without it
/// its duals would take ages to pass the kink. Then blended with what the neighbours tell, so that
/// agents which see little of a direction learn how stiff the network is in it: averaging by
/// gossip, at most one step of it per refresh.
void CurvatureDruidAgent::look_at_curvature(Matrix& result) {
  const Matrix& hessian = newton_.hessian();
  const Vector& floor = floor_of(hessian);
  const double size = std::sqrt(x_.squaredNorm() / static_cast<double>(x_.size()));
  const double kink = size > 0 ? l1_zero_weight * share_.l1 / size : 0.0;
  const double neighbours = static_cast<double>(links_->weights().working());
  const double own = (neighbours > 0 ? 1 - blend : 1) * scale();
  // The sum is that of (C_i + C_j)/2 over links: twice their mean, less C_i, is the mean of C_j.
  if (neighbours > 0) {
    combine_lower(own, hessian, 2 * blend / neighbours, links_->weights().sum(), result);
    links_->weights().own().add_to(-blend, result);
  } else {
    result = own * hessian;
  }
  for (Index k = 0; k < x_.size(); ++k)
    result(k, k) += own * (floor[k] + (k < share_.regularized && x_[k] == 0 ? kink : 0.0));
}

/// For identical quadratics the penalties at an agent should sum to its Hessian over sqrt(1 - w^2),
/// w being the second eigenvalue of the walk on the graph. On a path or an even ring of that depth
/// w = cos(pi / depth); on other graphs it is near that (docs/methods/curvature_links.md).
double CurvatureDruidAgent::scale() const {
  const double degree = static_cast<double>(std::max<std::size_t>(1, context_.neighbours.size()));
  return watch_.factor() * 2 /
         (degree * std::sin(std::numbers::pi / std::max(2.0, depth_.depth())));
}

/// Compared only when the answer can have changed: a new Hessian was needed, or a neighbour has
/// told a new curvature; and not before the next refresh may come.
bool CurvatureDruidAgent::has_drifted(Workspace& workspace) {
  if (scale() > scale_limit * published_scale_) return true;
  if (newton_.hessians_taken() == checked_ && !heard_curvature_) return false;
  if (sequence_ < next_refresh(times_published_)) return false;
  checked_ = newton_.hessians_taken();
  heard_curvature_ = false;
  look_at_curvature(workspace.curvature);
  return differ(options_.form, drift_limit(times_published_), published_, workspace.curvature,
                workspace.difference);
}

/// The number of the activation serves as version: it grows, and a runtime never uses one twice.
void CurvatureDruidAgent::publish(const Activation& activation) {
  look_at_curvature(published_);
  checked_ = newton_.hessians_taken();
  published_scale_ = scale();
  ++times_published_;
  renumbered_ = false;
  links_->publish(Curvature(options_.form, published_), activation.round, x_);
}

void CurvatureDruidAgent::speak(const Activation& activation) {
  links_->speak(x_, depth_.word());
  sequence_ = activation.round;
  spoke_ = true;
  cost_.broadcasts += 1;
  for (std::size_t slot = 0; slot < context_.neighbours.size(); ++slot) {
    cost_.vectors_sent += links_->vectors_to(slot);
    cost_.bytes_sent += links_->payload_to(slot).size_bytes();
  }
}

Message CurvatureDruidAgent::message_to(std::size_t slot) const {
  return {.from = context_.id, .sequence = sequence_, .payload = links_->payload_to(slot)};
}

void CurvatureDruidAgent::receive(std::size_t slot, const Message& message) {
  if (message.payload.empty()) return;
  depth_.hear(message.payload[0]);
  const Message to_link{message.from, message.sequence, message.payload.subspan(1)};
  heard_curvature_ |= links_->receive(slot, to_link, x_);
}

void CurvatureDruidAgent::end_round() {
  links_->end_round(x_, spoke_);
  spoke_ = false;
}

void CurvatureDruidAgent::add_neighbour(const Neighbour& neighbour) {
  context_.neighbours.push_back(neighbour);
  links_->connect(x_);
}

void CurvatureDruidAgent::drop_neighbour(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  context_.neighbours.erase(context_.neighbours.begin() + at);
  links_->disconnect(slot);
  heard_curvature_ = true;  // the mean of those that remain is another
}

void CurvatureDruidAgent::hold(bool holds, const Regularizer& regularizer,
                               std::size_t network_size) {
  depth_.set_network_size(static_cast<double>(network_size));
  if (holds) depth_.become_root();
  if (!options_.theta_penalty) return;
  if (!holds || regularizer.trivial())
    theta_.reset();
  else if (theta_)
    theta_->set_network_size(network_size);
  else
    theta_.emplace(regularizer, *options_.theta_penalty, network_size, x_);
}

const Vector* CurvatureDruidAgent::regularized_estimate() const {
  return theta_ ? &theta_->value() : nullptr;
}

void CurvatureDruidAgent::save(ByteWriter& writer) const {
  writer.put(x_);
  writer.put(sequence_);
  writer.put(cost_);
  writer.put(published_.size() > 0);
  if (published_.size() > 0)
    writer.put(std::span<const double>(published_.data(), published_.size()));
  writer.put(checked_);
  writer.put(heard_curvature_);
  writer.put(renumbered_);
  writer.put(published_scale_);
  writer.put(times_published_);
  writer.put(depth_);
  writer.put(watch_);
  writer.put(events_.size());
  for (const AgentEvent& event : events_) writer.put(event);
  newton_.save(writer);
  links_->save(writer);
  if (theta_) theta_->save(writer);
}

Status CurvatureDruidAgent::load(ByteReader& reader) {
  reader.get(x_);
  reader.get(sequence_);
  reader.get(cost_);
  bool introduced = false;
  reader.get(introduced);
  published_.resize(introduced ? x_.size() : 0, introduced ? x_.size() : 0);
  if (introduced) reader.get(std::span<double>(published_.data(), published_.size()));
  reader.get(checked_);
  reader.get(heard_curvature_);
  reader.get(renumbered_);
  reader.get(published_scale_);
  reader.get(times_published_);
  reader.get(depth_);
  reader.get(watch_);
  std::size_t events = 0;
  reader.get(events);
  events_.resize(std::min<std::size_t>(events, ResidualBalancing::most_changes));
  for (AgentEvent& event : events_) reader.get(event);
  newton_.load(reader, x_.size());
  links_->load(reader);
  if (theta_) theta_->load(reader);
  spoke_ = false;
  if (!reader.ok()) return Error{"agent state", "does not fit this agent's problem and neighbours"};
  return success();
}

}  // namespace grove
