#include "grove/coupling/curvature_edge_links.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "grove/coupling/matrix_columns.h"
#include "grove/problem/symmetric.h"

namespace grove {
namespace {

/// An answer to a message takes at least one activation here and one there.
constexpr std::uint32_t first_patience = 2, longest_patience = 64;

/// Of its bits (FNV-1a).
std::uint32_t digest_of(const Curvature& curvature) {
  std::vector<double> words;
  curvature.append_words(words);
  std::uint32_t hash = 2166136261;
  for (const double word : words)
    for (const std::uint32_t half : std::bit_cast<std::array<std::uint32_t, 2>>(word))
      hash = (hash ^ half) * 16777619;
  return hash;
}

}  // namespace

CurvatureEdgeLinks::CurvatureEdgeLinks(CurvatureForm form, Index dimension, std::size_t neighbours)
    : weights_(form, dimension, neighbours),
      u_(Matrix::Zero(dimension, static_cast<Index>(neighbours))),
      mismatch_(u_),
      agreed_(neighbours, 0),
      links_(neighbours),
      spoken_(neighbours) {}

void CurvatureEdgeLinks::publish(Curvature own, std::uint64_t version, const Vector& x) {
  for (std::size_t slot = 0; slot < links_.size(); ++slot) shift(slot, -1, x);
  own_ = {static_cast<Version>(version), digest_of(own)};
  weights_.set_own(std::move(own));
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    shift(slot, 1, x);
    tell_soon(links_[slot]);
    agreed_[slot] = 0;
  }
}

void CurvatureEdgeLinks::tell_soon(Link& link) const {
  link.wait = 0;
  link.patience = first_patience;
}

/// u_ij += factor P x_i: by -1 with the old P and 1 with the new, a link pulls as before; one that
/// begins to work, with u_ij = P x_i, does not pull.
void CurvatureEdgeLinks::shift(std::size_t slot, double factor, const Vector& x) {
  if (!weights_.works(slot)) return;
  Vector product = Vector::Zero(x.size());
  weights_.add_product(slot, factor, x, product);
  u_.col(static_cast<Index>(slot)) += product;
}

void CurvatureEdgeLinks::adopt(std::size_t slot, Identity identity, Curvature curvature,
                               const Vector& x) {
  shift(slot, -1, x);
  weights_.set_theirs(slot, std::move(curvature));
  shift(slot, 1, x);
  links_[slot].theirs = identity;
  agreed_[slot] = 0;
}

bool CurvatureEdgeLinks::outrun() const {
  return std::ranges::any_of(
      links_, [this](const Link& link) { return link.confirmed.version > own_.version; });
}

void CurvatureEdgeLinks::add_pull(const Vector& x, Vector& pull) const {
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (!weights_.works(slot)) continue;
    weights_.add_product(slot, 1, x, pull);
    pull -= u_.col(static_cast<Index>(slot));
  }
}

// A message less u_ij is P_ij (x_j - x_i), but for what the two have moved meanwhile: a force, and
// so is what a step changes. Forces are measured in units of each coordinate's own stiffness, which
// takes no system to solve.
double CurvatureEdgeLinks::movement(const Vector& step) {
  force_.setZero(step.size());
  add_symmetric_product(weights_.sum(), step, force_);
  return force_.cwiseAbs2().cwiseQuotient(weights_.sum().diagonal()).sum();
}

std::optional<double> CurvatureEdgeLinks::news_of_tension(const Vector&) {
  const auto waits = [this](std::size_t slot) {
    return weights_.works(slot) && links_[slot].news == 0;
  };
  for (std::size_t slot = 0; slot < links_.size(); ++slot)
    if (waits(slot)) return std::nullopt;
  double sum = 0;
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (!weights_.works(slot)) continue;
    links_[slot].news = 0;
    const auto mismatch = mismatch_.col(static_cast<Index>(slot));
    sum += mismatch.cwiseAbs2().cwiseQuotient(weights_.sum().diagonal()).sum();
  }
  return static_cast<double>(weights_.working()) * sum;  // a link has its share of the stiffness
}

void CurvatureEdgeLinks::speak(const Vector& x, double word) {
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    Link& link = links_[slot];
    CurvatureMessage message{.version = own_.version,
                             .of_yours = link.theirs.version,
                             .digest = static_cast<std::uint32_t>(own_.digest),
                             .digest_of_yours = static_cast<std::uint32_t>(link.theirs.digest)};
    if (weights_.works(slot)) {
      said_ = -u_.col(static_cast<Index>(slot));
      weights_.add_product(slot, 2, x, said_);
      message.vector = {said_.data(), static_cast<std::size_t>(said_.size())};
    }
    spoken_[slot].assign(1, word);
    message.append_to(spoken_[slot]);
    if (link.confirmed == own_ || own_.version == none) continue;
    if (link.wait > 0) {
      --link.wait;
      continue;
    }
    weights_.own().append_words(spoken_[slot]);
    link.wait = link.patience - 1;
    link.patience = std::min(2 * link.patience, longest_patience);
  }
}

std::span<const double> CurvatureEdgeLinks::payload_to(std::size_t slot) const {
  return spoken_[slot];
}

std::size_t CurvatureEdgeLinks::vectors_to(std::size_t slot) const {
  return whole_vectors(spoken_[slot].size() - 1 - CurvatureMessage::header, u_.rows());
}

bool CurvatureEdgeLinks::receive(std::size_t slot, const Message& message, const Vector& x) {
  const auto told = CurvatureMessage::read(message.payload, u_.rows());
  if (!told) return false;
  Link& link = links_[slot];
  const Identity theirs{told->version, told->digest}, mine{told->of_yours, told->digest_of_yours};
  const bool later = message.sequence > link.latest;
  bool news = false;
  if (theirs.version > link.theirs.version ||
      (later && theirs.version == link.theirs.version && theirs != link.theirs))
    if (auto curvature = Curvature::from_words(weights_.form(), u_.rows(), told->curvature)) {
      adopt(slot, theirs, std::move(*curvature), x);
      news = true;
    }
  if (!later) return news;
  link.latest = message.sequence;
  if (link.confirmed == own_ && mine != own_) tell_soon(link);  // it has forgotten
  link.confirmed = mine;
  agreed_[slot] =
      weights_.works(slot) && !told->vector.empty() && theirs == link.theirs && mine == own_;
  if (agreed_[slot] == 0) return news;
  auto u = u_.col(static_cast<Index>(slot));
  auto mismatch = mismatch_.col(static_cast<Index>(slot));
  const Eigen::Map<const Vector> heard(told->vector.data(), u.size());
  mismatch = heard - u;
  ++link.news;
  u += 0.5 * relaxation * mismatch;
  return news;
}

void CurvatureEdgeLinks::not_sent(std::size_t slot) {
  if (links_[slot].confirmed != own_) tell_soon(links_[slot]);
}

void CurvatureEdgeLinks::connect(const Vector& x) {
  weights_.add_slot();
  append_column(u_, Vector::Zero(x.size()));
  append_column(mismatch_, Vector::Zero(x.size()));
  agreed_.push_back(0);
  links_.emplace_back();
  spoken_.emplace_back();
}

void CurvatureEdgeLinks::disconnect(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  weights_.remove_slot(slot);
  remove_column(u_, static_cast<Index>(slot));
  remove_column(mismatch_, static_cast<Index>(slot));
  agreed_.erase(agreed_.begin() + at);
  links_.erase(links_.begin() + at);
  spoken_.erase(spoken_.begin() + at);
}

double CurvatureEdgeLinks::disagreement(const Vector&) const {
  double largest = 0;
  for (std::size_t slot = 0; slot < links_.size(); ++slot) {
    if (agreed_[slot] == 0) return std::numeric_limits<double>::infinity();
    largest =
        std::max(largest, weights_.displacement(slot, mismatch_.col(static_cast<Index>(slot))));
  }
  return largest;
}

void CurvatureEdgeLinks::save(ByteWriter& writer) const {
  weights_.save(writer);
  writer.put(own_);
  writer.put(std::span<const double>(u_.data(), u_.size()));
  writer.put(std::span<const double>(mismatch_.data(), mismatch_.size()));
  for (const Link& link : links_) writer.put(link);
}

void CurvatureEdgeLinks::load(ByteReader& reader) {
  weights_.load(reader);
  reader.get(own_);
  reader.get(std::span<double>(u_.data(), u_.size()));
  reader.get(std::span<double>(mismatch_.data(), mismatch_.size()));
  for (Link& link : links_) reader.get(link);
  agreed_.assign(links_.size(), 0);
}

}  // namespace grove
