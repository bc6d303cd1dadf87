#include "grove/coupling/edge_coupling.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "grove/coupling/weight_ids.h"

namespace grove {
namespace {

/// FNV-1a over the bits of the numbers.
std::uint32_t digest_of(std::span<const float> numbers) {
  std::uint32_t hash = 2166136261;
  for (const float number : numbers)
    hash = (hash ^ std::bit_cast<std::uint32_t>(number)) * 16777619;
  return hash;
}

}  // namespace

EdgeCoupling::EdgeCoupling(const CouplingOptions& options, const Vector& start,
                           std::size_t neighbours)
    : weights_(options.weighting, start.size(), neighbours), share_(0.5 * options.relaxation) {
  for (std::size_t slot = 0; slot < neighbours; ++slot) links_.push_back(make_link(start));
}

/// A fixed weight begins with u_ij = mu x_i, published weights with u_ij = 0 until P_ij is known:
/// either way the gradient of the link is zero at x.
EdgeCoupling::Link EdgeCoupling::make_link(const Vector& x) const {
  const Vector zero = Vector::Zero(x.size());
  Link link;
  if (const auto mu = weights_.fixed())
    link.u = *mu * x;
  else
    link.u = link.mismatch = zero;
  return link;
}

void EdgeCoupling::publish(LinkWeight own, std::uint64_t version, const Vector& x) {
  for (std::size_t slot = 0; slot < links_.size(); ++slot) shift(slot, -1, x);
  own_ = {static_cast<std::int64_t>(version), digest_of(own.numbers())};
  weights_.set_own(std::move(own));
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    shift(slot, 1, x);
    schedule_weight(links_[slot]);
    links_[slot].same_weights = false;
  }
}

void EdgeCoupling::schedule_weight(Link& link) const {
  link.wait = 0;
  link.interval = first_interval;
}

/// u_ij += factor P_ij x_i. With -1 before and 1 after a change of P_ij the gradient of the link
/// stays the same.
void EdgeCoupling::shift(std::size_t slot, double factor, const Vector& x) {
  if (weights_.established(slot)) weights_.add_product(slot, factor, x, links_[slot].u);
}

bool EdgeCoupling::rolled_back() const {
  return std::ranges::any_of(
      links_, [this](const Link& link) { return link.confirmed.version > own_.version; });
}

void EdgeCoupling::add_gradient(const Vector& x, Vector& gradient) const {
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (!weights_.established(slot)) continue;
    weights_.add_product(slot, 1, x, gradient);
    gradient -= links_[slot].u;
  }
}

// A message minus u_ij is P_ij (x_j - x_i) up to what both ends have moved meanwhile: a gradient.
// So is the change of the coupling's gradient along a step. Both are measured relative to the
// diagonal of the sum of P_ij, which needs no solution of a system.
double EdgeCoupling::squared_step(const Vector& step) {
  force_.setZero(step.size());
  weights_.sum().add_product(step, force_);
  return force_.cwiseAbs2().cwiseQuotient(weights_.sum_diagonal()).sum();
}

std::optional<double> EdgeCoupling::squared_residual(const Vector&) {
  for (std::size_t slot = 0; slot < links_.size(); ++slot)
    if (weights_.established(slot) && links_[slot].unread == 0) return std::nullopt;
  double sum = 0;
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (!weights_.established(slot)) continue;
    links_[slot].unread = 0;
    sum += links_[slot].mismatch.cwiseAbs2().cwiseQuotient(weights_.sum_diagonal()).sum();
  }
  // P_ij is about the sum over the number of links.
  return static_cast<double>(weights_.established()) * sum;
}

void EdgeCoupling::prepare_messages(const Vector& x) {
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    Link& link = links_[slot];
    if (!weights_.established(slot)) link.outgoing.resize(0);
    link.outgoing_neighbour = link.neighbour;
    if (weights_.established(slot)) {
      link.outgoing = -link.u;
      weights_.add_product(slot, 2, x, link.outgoing);
    }
    link.send_weight = false;
    if (link.confirmed == own_ || !own_.known()) continue;
    if (link.wait > 0) {
      --link.wait;
      continue;
    }
    link.send_weight = true;
    link.wait = link.interval - 1;
    link.interval = std::min(2 * link.interval, longest_interval);
  }
}

void EdgeCoupling::fill_message(std::size_t slot, const Vector&, Message& message) const {
  const Link& link = links_[slot];
  message.vector = {link.outgoing.data(), static_cast<std::size_t>(link.outgoing.size())};
  if (weights_.fixed()) return;
  message.weights = WeightPair{.sender = own_, .receiver = link.outgoing_neighbour};
  if (link.send_weight) message.weight_update = weights_.own().numbers();
}

/// Moves u_ij so that the gradient P_ij x_i - u_ij of the link is within the limit. The fixed point
/// of an honest network is within it, so that it stays the fixed point.
void EdgeCoupling::limit_gradient(std::size_t slot, const Vector& x) {
  if (!std::isfinite(limit_.length)) return;
  force_ = -links_[slot].u;
  weights_.add_product(slot, 1, x, force_);
  const double size = x.squaredNorm();
  if (size > 0) force_ -= std::clamp(force_.dot(x) / size, 0.0, limit_.ridge) * x;
  const double length = force_.stableNorm();
  if (length <= limit_.length) return;
  ++gradients_limited_;
  links_[slot].u += (1 - limit_.length / length) * force_;
}

bool EdgeCoupling::receive_fixed(std::size_t slot, const Message& message, const Vector& x) {
  Link& link = links_[slot];
  if (message.sequence <= link.latest || std::ssize(message.vector) != link.u.size()) return false;
  link.latest = message.sequence;
  const Eigen::Map<const Vector> received(message.vector.data(), link.u.size());
  link.mismatch_norm = (received - link.u).norm() / *weights_.fixed();
  link.u += share_ * (received - link.u);
  limit_gradient(slot, x);
  return false;
}

/// Takes C_j from the message if it is another one than the known. A weight of an older version is
/// taken never, one of the same version only from a later message.
bool EdgeCoupling::adopt_weight(std::size_t slot, const Message& message, const Vector& x) {
  Link& link = links_[slot];
  const WeightId offered = message.weights->sender;
  const bool later = message.sequence > link.latest;
  const bool is_new =
      offered.version > link.neighbour.version ||
      (later && offered.version == link.neighbour.version && offered != link.neighbour);
  if (!is_new) return false;
  auto weight = LinkWeight::from_numbers(weights_.form(), link.u.size(), message.weight_update);
  if (!weight) return false;
  shift(slot, -1, x);
  weights_.set_neighbour(slot, std::move(*weight));
  shift(slot, 1, x);
  link.neighbour = offered;
  link.same_weights = false;
  return true;
}

bool EdgeCoupling::receive(std::size_t slot, const Message& message, const Vector& x) {
  Link& link = links_[slot];
  if (weights_.fixed()) return receive_fixed(slot, message, x);
  if (!message.weights) return false;
  const bool new_weight = adopt_weight(slot, message, x);
  if (message.sequence <= link.latest) return new_weight;
  link.latest = message.sequence;
  const WeightPair& pair = *message.weights;
  if (link.confirmed == own_ && pair.receiver != own_) schedule_weight(link);  // it lost its state
  link.confirmed = pair.receiver;
  link.same_weights = weights_.established(slot) && std::ssize(message.vector) == link.u.size() &&
                      pair.sender == link.neighbour && pair.receiver == own_;
  if (!link.same_weights) return new_weight;
  link.mismatch = Eigen::Map<const Vector>(message.vector.data(), link.u.size()) - link.u;
  ++link.unread;
  link.u += share_ * link.mismatch;
  limit_gradient(slot, x);
  return new_weight;
}

void EdgeCoupling::not_sent(std::size_t slot) {
  if (links_[slot].confirmed != own_) schedule_weight(links_[slot]);
}

void EdgeCoupling::add_link(const Vector& x) {
  weights_.add_link();
  links_.push_back(make_link(x));
}

void EdgeCoupling::remove_link(std::size_t slot) {
  weights_.remove_link(slot);
  links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(slot));
}

double EdgeCoupling::disagreement(const Vector&) const {
  double largest = 0;
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    const Link& link = links_[slot];
    if (!weights_.fixed() && !link.same_weights) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, weights_.fixed() ? link.mismatch_norm
                                                 : weights_.inverse_norm(slot, link.mismatch));
  }
  return largest;
}

void EdgeCoupling::save(ByteWriter& writer) const {
  weights_.save(writer);
  put(writer, own_);
  for (const Link& link : links_) {
    writer.put(link.u);
    writer.put(link.latest);
    writer.put(link.unread);
    writer.put(link.mismatch_norm);
    if (weights_.fixed()) continue;
    writer.put(link.mismatch);
    put(writer, link.neighbour);
    put(writer, link.confirmed);
    writer.put(link.wait);
    writer.put(link.interval);
  }
}

void EdgeCoupling::load(ByteReader& reader) {
  weights_.load(reader);
  get(reader, own_);
  for (Link& link : links_) {
    reader.get(link.u);
    reader.get(link.latest);
    reader.get(link.unread);
    reader.get(link.mismatch_norm);
    link.same_weights = false;
    if (weights_.fixed()) continue;
    reader.get(link.mismatch);
    get(reader, link.neighbour);
    get(reader, link.confirmed);
    reader.get(link.wait);
    reader.get(link.interval);
  }
}

}  // namespace grove
