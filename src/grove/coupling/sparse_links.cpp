#include "grove/coupling/sparse_links.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "grove/coupling/weight_ids.h"
#include "grove/problem/symmetric.h"

namespace grove {
namespace {

void schedule(std::uint32_t& wait, std::uint32_t& interval) {
  wait = 0;
  interval = first_interval;
}

}  // namespace

SparseLinks::SparseLinks(Index dimension, double relaxation, std::size_t neighbours)
    : dimension_(dimension),
      share_(0.5 * relaxation),
      places_(static_cast<std::size_t>(dimension), -1),
      links_(neighbours) {}

void SparseLinks::touch(const std::vector<std::uint32_t>& ascending) {
  const bool known =
      std::ranges::all_of(ascending, [this](std::uint32_t k) { return places_[k] >= 0; });
  if (known) return;
  std::vector<std::uint32_t> all;
  all.reserve(touched_.size() + ascending.size());
  std::ranges::set_union(touched_, ascending, std::back_inserter(all));
  const auto extend = [&](Vector& numbers) {
    Vector extended = Vector::Zero(std::ssize(all));
    for (Index k = 0; k < std::ssize(all); ++k)
      if (const std::int32_t place = places_[all[static_cast<std::size_t>(k)]]; place >= 0)
        extended[k] = numbers[place];
    numbers = std::move(extended);
  };
  for (Link& link : links_) {
    extend(link.u);
    extend(link.mismatch);
  }
  touched_ = std::move(all);
  for (std::size_t k = 0; k < touched_.size(); ++k)
    places_[touched_[k]] = static_cast<std::int32_t>(k);
}

void SparseLinks::touch_support(const SparseWeight& weight) { touch(weight.support()); }

std::size_t SparseLinks::established() const {
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < links_.size(); ++slot) count += established(slot);
  return count;
}

void SparseLinks::publish(SparseWeight own, std::uint64_t version) {
  next_id_ = {static_cast<std::int64_t>(version), own.digest()};
  next_ = std::move(own);
  for (Link& link : links_) schedule(link.wait, link.interval);
}

void SparseLinks::settle(const Vector& x) {
  if (!next_.known()) return;
  touch_support(next_);
  for (std::size_t slot = 0; slot < links_.size(); ++slot) shift(slot, -1, x);
  own_ = std::move(next_);
  own_id_ = next_id_;
  next_ = {};
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    shift(slot, 1, x);
    links_[slot].same_weights = false;
  }
}

bool SparseLinks::rolled_back() const {
  return std::ranges::any_of(
      links_, [this](const Link& link) { return link.confirmed.version > newest().version; });
}

Vector SparseLinks::gathered(const Vector& whole) const {
  Vector part(std::ssize(touched_));
  for (Index k = 0; k < part.size(); ++k) part[k] = whole[touched_[static_cast<std::size_t>(k)]];
  return part;
}

/// Both vectors have the touched coordinates.
void SparseLinks::add_weight_product(const SparseWeight& weight, double factor, const Vector& v,
                                     Vector& result) const {
  for (Index k = 0; k < v.size(); ++k)
    if (v[k] != 0) result[k] += factor * weight.coded(touched_[static_cast<std::size_t>(k)]) * v[k];
  const auto& support = weight.support();
  if (support.empty()) return;
  Vector part(std::ssize(support)), product = Vector::Zero(std::ssize(support));
  for (Index k = 0; k < part.size(); ++k)
    part[k] = v[places_[support[static_cast<std::size_t>(k)]]];
  add_packed_product(weight.block(), factor, part, product);
  for (Index k = 0; k < part.size(); ++k)
    result[places_[support[static_cast<std::size_t>(k)]]] += product[k];
}

void SparseLinks::add_link_product(std::size_t slot, double factor, const Vector& v,
                                   Vector& result) const {
  add_weight_product(own_, 0.5 * factor, v, result);
  add_weight_product(links_[slot].weight, 0.5 * factor, v, result);
}

/// u_ij += factor P_ij x_i. With -1 before and 1 after a change of P_ij the gradient of the link
/// stays the same.
void SparseLinks::shift(std::size_t slot, double factor, const Vector& x) {
  if (established(slot)) add_link_product(slot, factor, gathered(x), links_[slot].u);
}

double SparseLinks::sum_coded(Index k) const {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (!established(slot)) continue;
    sum += links_[slot].weight.coded(k);
    ++count;
  }
  return count == 0 ? 0 : 0.5 * (sum + static_cast<double>(count) * own_.coded(k));
}

void SparseLinks::add_sum_product(const Vector& v, Vector& result) const {
  const auto count = static_cast<double>(established());
  if (count == 0) return;
  const Vector part = gathered(v);
  if (part.isZero(0)) return;
  Vector product = Vector::Zero(part.size());
  add_weight_product(own_, 0.5 * count, part, product);
  for (std::size_t slot = 0; slot < links_.size(); ++slot)
    if (established(slot)) add_weight_product(links_[slot].weight, 0.5, part, product);
  for (Index k = 0; k < part.size(); ++k)
    result[touched_[static_cast<std::size_t>(k)]] += product[k];
}

void SparseLinks::sum_blocks(ColumnPlaces places, std::vector<Index>& block_places,
                             Matrix& block) const {
  std::vector<std::pair<const SparseWeight*, double>> weights;
  for (std::size_t slot = 0; slot < links_.size(); ++slot)
    if (established(slot)) weights.emplace_back(&links_[slot].weight, 0.5);
  if (!weights.empty()) weights.emplace_back(&own_, 0.5 * static_cast<double>(weights.size()));
  block_places.clear();
  for (const auto& [weight, factor] : weights)
    for (const std::uint32_t k : weight->support())
      if (places[k] >= 0) block_places.push_back(places[k]);
  std::ranges::sort(block_places);
  block_places.erase(std::unique(block_places.begin(), block_places.end()), block_places.end());
  block.setZero(std::ssize(block_places), std::ssize(block_places));
  std::vector<Index> within;
  for (const auto& [weight, factor] : weights) {
    within.clear();
    for (const std::uint32_t k : weight->support())
      within.push_back(places[k] < 0 ? -1
                                     : std::ranges::lower_bound(block_places, Index{places[k]}) -
                                           block_places.begin());
    const float* number = weight->block().data();
    for (std::size_t column = 0; column < within.size(); ++column) {
      const auto count = within.size() - column;
      if (within[column] >= 0) {
        double* into = block.col(within[column]).data();
        for (std::size_t row = 0; row < count; ++row)
          if (const Index at = within[column + row]; at >= 0)
            into[at] += factor * static_cast<double>(number[row]);
      }
      number += count;
    }
  }
  mirror_lower_triangle(block);
}

void SparseLinks::add_gradient(const Vector& x, Vector& gradient) const {
  add_sum_product(x, gradient);
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (!established(slot)) continue;
    for (Index k = 0; k < links_[slot].u.size(); ++k)
      gradient[touched_[static_cast<std::size_t>(k)]] -= links_[slot].u[k];
  }
}

/// The blocks correct it only a little: on the support it is that of the Hessians.
Vector SparseLinks::sum_diagonal() const {
  Vector result(std::ssize(touched_));
  for (Index k = 0; k < result.size(); ++k)
    result[k] = sum_coded(touched_[static_cast<std::size_t>(k)]);
  return result;
}

double SparseLinks::squared_step(const Vector& step) {
  const Vector part = gathered(step);
  const auto count = static_cast<double>(established());
  if (count == 0) return 0;
  Vector force = Vector::Zero(part.size());
  add_weight_product(own_, 0.5 * count, part, force);
  for (std::size_t slot = 0; slot < links_.size(); ++slot)
    if (established(slot)) add_weight_product(links_[slot].weight, 0.5, part, force);
  return force.cwiseAbs2().cwiseQuotient(sum_diagonal()).sum();
}

std::optional<double> SparseLinks::squared_residual() {
  const std::size_t count = established();
  for (std::size_t slot = 0; slot < links_.size(); ++slot)
    if (established(slot) && links_[slot].unread == 0) return std::nullopt;
  if (count == 0) return std::nullopt;
  const Vector diagonal = sum_diagonal();
  double sum = 0;
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (!established(slot)) continue;
    links_[slot].unread = 0;
    sum += links_[slot].mismatch.cwiseAbs2().cwiseQuotient(diagonal).sum();
  }
  return static_cast<double>(count) * sum;
}

void SparseLinks::prepare_messages(const Vector& x) {
  const Vector at = gathered(x);
  Vector own_part = Vector::Zero(at.size());
  if (own_.known()) add_weight_product(own_, 1, at, own_part);
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    Link& link = links_[slot];
    link.outgoing = {own_id_, link.neighbour};
    link.indices.clear();
    link.values.clear();
    link.has_vector = established(slot);
    if (link.has_vector) {
      Vector message = own_part - link.u;
      add_weight_product(link.weight, 1, at, message);
      for (Index k = 0; k < message.size(); ++k) {
        if (message[k] == 0) continue;
        link.indices.push_back(touched_[static_cast<std::size_t>(k)]);
        link.values.push_back(message[k]);
      }
    }
    link.send_weight = false;
    if (link.confirmed == newest() || !newest().known()) continue;
    if (link.wait > 0) {
      --link.wait;
      continue;
    }
    link.send_weight = true;
    link.wait = link.interval - 1;
    link.interval = std::min(2 * link.interval, longest_interval);
  }
}

void SparseLinks::fill_message(std::size_t slot, Message& message) const {
  const Link& link = links_[slot];
  message.weights = link.outgoing;
  message.vector = link.values;
  message.sparse = {.indices = link.indices, .codes = {}, .support = {}, .update = {}};
  if (!link.send_weight) return;
  const SparseWeight& weight = newest_weight();
  message.weight_update = weight.numbers();
  message.sparse->codes = weight.codes();
  message.sparse->support = weight.support();
  message.sparse->update = newest();
}

void SparseLinks::release_message(std::size_t slot) {
  links_[slot].indices = {};
  links_[slot].values = {};
}

void SparseLinks::not_sent(std::size_t slot) {
  Link& link = links_[slot];
  if (link.confirmed != newest()) schedule(link.wait, link.interval);
}

/// Takes C_j from the message if it is another one than the known. A weight of an older version is
/// taken never, one of the same version only from a later message.
void SparseLinks::adopt(std::size_t slot, const Message& message, const Vector& x) {
  Link& link = links_[slot];
  const WeightId offered = message.sparse->update;
  const bool later = message.sequence > link.latest;
  const bool is_new =
      offered.version > link.neighbour.version ||
      (later && offered.version == link.neighbour.version && offered != link.neighbour);
  if (!is_new) return;
  SparseWeight weight =
      SparseWeight::from_message(dimension_, message.weight_update, *message.sparse);
  if (!weight.known()) return;
  touch_support(weight);
  shift(slot, -1, x);
  link.weight = std::move(weight);
  shift(slot, 1, x);
  link.neighbour = offered;
  link.same_weights = false;
}

void SparseLinks::take_vector(std::size_t slot, const Message& message, const Vector& x) {
  const auto& indices = message.sparse->indices;
  const auto beyond = [this](std::uint32_t k) { return static_cast<Index>(k) >= dimension_; };
  if (indices.size() != message.vector.size() || std::ranges::any_of(indices, beyond) ||
      std::ranges::adjacent_find(indices, std::greater_equal{}) != indices.end())
    return;
  touch({indices.begin(), indices.end()});
  Link& link = links_[slot];
  link.same_weights = true;
  link.mismatch = -link.u;
  for (std::size_t k = 0; k < indices.size(); ++k)
    link.mismatch[places_[indices[k]]] += message.vector[k];
  ++link.unread;
  link.u += share_ * link.mismatch;
  limit_gradient(slot, x);
}

bool SparseLinks::receive(std::size_t slot, const Message& message, const Vector& x) {
  if (!message.weights || !message.sparse) return false;
  Link& link = links_[slot];
  const WeightPair& pair = *message.weights;
  if (next_.known() && pair.receiver == next_id_) settle(x);
  const WeightId before = link.neighbour;
  // The weight that the vector was computed with may be the one that comes with it.
  const bool first = message.sparse->update == pair.sender;
  if (first) adopt(slot, message, x);
  if (message.sequence > link.latest) {
    if (link.confirmed == newest() && pair.receiver != newest() && pair.receiver != own_id_)
      schedule(link.wait, link.interval);  // it lost its state
    link.confirmed = pair.receiver;
    link.same_weights = false;
    if (established(slot) && pair.sender == link.neighbour && pair.receiver == own_id_)
      take_vector(slot, message, x);
  }
  if (!first && message.sparse->update.known()) adopt(slot, message, x);
  link.latest = std::max(link.latest, message.sequence);
  return !(link.neighbour == before);
}

/// Moves u_ij so that the gradient P_ij x_i - u_ij of the link is within the limit.
void SparseLinks::limit_gradient(std::size_t slot, const Vector& x) {
  if (!std::isfinite(limit_.length)) return;
  const Vector at = gathered(x);
  Vector force = -links_[slot].u;
  add_link_product(slot, 1, at, force);
  const double size = at.squaredNorm();
  if (size > 0) force -= std::clamp(force.dot(at) / size, 0.0, limit_.ridge) * at;
  const double length = force.stableNorm();
  if (length <= limit_.length) return;
  ++gradients_limited_;
  links_[slot].u += (1 - limit_.length / length) * force;
}

void SparseLinks::add_link() {
  Link link;
  link.u = link.mismatch = Vector::Zero(std::ssize(touched_));
  links_.push_back(std::move(link));
}

void SparseLinks::remove_link(std::size_t slot) {
  links_.erase(links_.begin() + static_cast<std::ptrdiff_t>(slot));
}

/// The mismatch in units of x: conjugate gradients on P_ij, scaled by its diagonal, to a percent.
double SparseLinks::disagreement() const {
  constexpr int most_steps = 100;
  constexpr double accuracy = 1e-2;
  double largest = 0;
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    const Link& link = links_[slot];
    if (!link.same_weights) return std::numeric_limits<double>::infinity();
    Vector inverse(link.u.size());
    for (Index k = 0; k < inverse.size(); ++k) {
      const Index at = touched_[static_cast<std::size_t>(k)];
      inverse[k] = 2 / (own_.coded(at) + link.weight.coded(at));
    }
    Vector residual = link.mismatch, p = Vector::Zero(residual.size());
    Vector scaled = inverse.cwiseProduct(residual), direction = scaled, product;
    double squares = residual.dot(scaled);
    const double goal = accuracy * accuracy * squares;
    for (int step = 0; step < most_steps && squares > goal && squares > 0; ++step) {
      product.setZero(p.size());
      add_link_product(slot, 1, direction, product);
      const double length = squares / direction.dot(product);
      p += length * direction;
      residual -= length * product;
      scaled = inverse.cwiseProduct(residual);
      const double next = residual.dot(scaled);
      direction = scaled + (next / squares) * direction;
      squares = next;
    }
    largest = std::max(largest, p.norm());
  }
  return largest;
}

void SparseLinks::save(ByteWriter& writer) const {
  writer.put(touched_.size());
  for (const std::uint32_t k : touched_) writer.put(k);
  own_.save(writer);
  next_.save(writer);
  put(writer, own_id_);
  put(writer, next_id_);
  for (const Link& link : links_) {
    link.weight.save(writer);
    writer.put(link.u);
    writer.put(link.mismatch);
    writer.put(link.latest);
    writer.put(link.unread);
    put(writer, link.neighbour);
    put(writer, link.confirmed);
    writer.put(link.wait);
    writer.put(link.interval);
  }
}

void SparseLinks::load(ByteReader& reader) {
  std::size_t size = 0;
  reader.get(size);
  if (size > static_cast<std::size_t>(dimension_)) return reader.fail();
  std::vector<std::uint32_t> touched(size);
  for (std::uint32_t& k : touched) reader.get(k);
  const auto beyond = [this](std::uint32_t k) { return static_cast<Index>(k) >= dimension_; };
  if (!reader.ok() || std::ranges::any_of(touched, beyond) ||
      std::ranges::adjacent_find(touched, std::greater_equal{}) != touched.end())
    return reader.fail();
  std::ranges::fill(places_, -1);
  touched_ = std::move(touched);
  for (std::size_t k = 0; k < touched_.size(); ++k)
    places_[touched_[k]] = static_cast<std::int32_t>(k);
  own_.load(reader, dimension_);
  next_.load(reader, dimension_);
  get(reader, own_id_);
  get(reader, next_id_);
  const auto untouched = [this](std::uint32_t k) { return places_[k] < 0; };
  if (std::ranges::any_of(own_.support(), untouched)) return reader.fail();
  for (Link& link : links_) {
    link.weight.load(reader, dimension_);
    if (std::ranges::any_of(link.weight.support(), untouched)) return reader.fail();
    link.u.setZero(std::ssize(touched_));
    link.mismatch.setZero(std::ssize(touched_));
    reader.get(link.u);
    reader.get(link.mismatch);
    reader.get(link.latest);
    reader.get(link.unread);
    link.same_weights = false;
    get(reader, link.neighbour);
    get(reader, link.confirmed);
    reader.get(link.wait);
    reader.get(link.interval);
  }
}

}  // namespace grove
