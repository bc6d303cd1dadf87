#include "grove/agent/curvature_edge_links.h"

#include <algorithm>

namespace grove {
namespace {

constexpr std::size_t header = 2;
/// An answer to a message takes at least one activation here and one there.
constexpr std::uint32_t first_patience = 2, longest_patience = 64;

}  // namespace

CurvatureEdgeLinks::CurvatureEdgeLinks(CurvatureForm form, Index dimension, std::size_t neighbours)
    : weights_(form, dimension, neighbours),
      u_(Matrix::Zero(dimension, static_cast<Index>(neighbours))),
      links_(neighbours),
      spoken_(neighbours) {}

void CurvatureEdgeLinks::publish(Curvature own, std::uint64_t version, const Vector& x) {
  const bool first = !weights_.own().known();
  Vector shift = Vector::Zero(x.size());
  own.add_product(0.5, x, shift);
  if (!first) weights_.own().add_product(-0.5, x, shift);
  weights_.set_own(std::move(own));
  own_ = static_cast<Version>(version);
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    links_[slot].wait = 0;
    links_[slot].patience = first_patience;
    if (!weights_.works(slot)) continue;
    if (first)
      start_link(slot, x);
    else
      u_.col(static_cast<Index>(slot)) += shift;
  }
}

/// u_ij = P x_i: a link that does not pull.
void CurvatureEdgeLinks::start_link(std::size_t slot, const Vector& x) {
  Vector u = Vector::Zero(x.size());
  weights_.add_product(slot, 1, x, u);
  u_.col(static_cast<Index>(slot)) = u;
}

void CurvatureEdgeLinks::adopt(std::size_t slot, Version version, Curvature curvature,
                               const Vector& x) {
  const bool first = !weights_.works(slot);
  Vector shift = Vector::Zero(x.size());
  curvature.add_product(0.5, x, shift);
  if (!first) weights_.theirs(slot).add_product(-0.5, x, shift);
  weights_.set_theirs(slot, std::move(curvature));
  links_[slot].theirs = version;
  if (!weights_.works(slot)) return;
  if (first)
    start_link(slot, x);
  else
    u_.col(static_cast<Index>(slot)) += shift;
}

bool CurvatureEdgeLinks::outrun() const {
  return std::ranges::any_of(links_, [this](const Link& link) { return link.confirmed > own_; });
}

void CurvatureEdgeLinks::add_pull(const Vector& x, Vector& pull) const {
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (!weights_.works(slot)) continue;
    weights_.add_product(slot, 1, x, pull);
    pull -= u_.col(static_cast<Index>(slot));
  }
}

void CurvatureEdgeLinks::speak(const Vector& x) {
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    Link& link = links_[slot];
    auto& words = spoken_[slot];
    words = {static_cast<double>(own_), static_cast<double>(link.theirs)};
    if (weights_.works(slot)) {
      said_ = -u_.col(static_cast<Index>(slot));
      weights_.add_product(slot, 2, x, said_);
      words.insert(words.end(), said_.begin(), said_.end());
    }
    if (link.confirmed == own_ || own_ == none) continue;
    if (link.wait > 0) {
      --link.wait;
      continue;
    }
    weights_.own().append_words(words);
    link.wait = link.patience - 1;
    link.patience = std::min(2 * link.patience, longest_patience);
  }
}

std::span<const double> CurvatureEdgeLinks::payload_to(std::size_t slot) const {
  return spoken_[slot];
}

std::size_t CurvatureEdgeLinks::vectors_to(std::size_t slot) const {
  return whole_vectors(spoken_[slot].size() - header, u_.rows());
}

bool CurvatureEdgeLinks::receive(std::size_t slot, const Message& message, const Vector& x) {
  if (message.payload.size() < header) return false;
  Link& link = links_[slot];
  const auto version = static_cast<Version>(message.payload[0]);
  const auto mine = static_cast<Version>(message.payload[1]);
  auto rest = message.payload.subspan(header);
  std::span<const double> vector;
  const auto dimension = static_cast<std::size_t>(u_.rows());
  if (mine != none && rest.size() >= dimension) {
    vector = rest.first(dimension);
    rest = rest.subspan(dimension);
  }
  bool news = false;
  if (version > link.theirs)
    if (auto curvature = Curvature::from_words(weights_.form(), u_.rows(), rest)) {
      adopt(slot, version, std::move(*curvature), x);
      news = true;
    }
  if (message.sequence <= link.latest) return news;
  link.latest = message.sequence;
  link.confirmed = mine;
  if (vector.empty() || version != link.theirs || mine != own_) return news;
  auto u = u_.col(static_cast<Index>(slot));
  u = 0.5 * (u + Eigen::Map<const Vector>(vector.data(), u.size()));
  return news;
}

void CurvatureEdgeLinks::save(ByteWriter& writer) const {
  weights_.save(writer);
  writer.put(own_);
  writer.put(std::span<const double>(u_.data(), u_.size()));
  for (const Link& link : links_) writer.put(link);
}

void CurvatureEdgeLinks::load(ByteReader& reader) {
  weights_.load(reader);
  reader.get(own_);
  reader.get(std::span<double>(u_.data(), u_.size()));
  for (Link& link : links_) reader.get(link);
}

}  // namespace grove
