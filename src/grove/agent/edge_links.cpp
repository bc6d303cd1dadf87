#include "grove/agent/edge_links.h"

#include <cassert>
#include <numeric>

namespace grove {

EdgeLinks::EdgeLinks(std::vector<double> penalties, const Vector& start)
    : penalties_(std::move(penalties)),
      total_penalty_(std::accumulate(penalties_.begin(), penalties_.end(), 0.0)),
      u_(start.size(), static_cast<Index>(penalties_.size())),
      spoken_(Matrix::Zero(start.size(), static_cast<Index>(penalties_.size()))),
      latest_(penalties_.size(), 0) {
  // u_ij = mu x_i: a link that does not pull, as broadcast links start.
  for (Index slot = 0; slot < u_.cols(); ++slot) u_.col(slot) = penalties_[slot] * start;
}

void EdgeLinks::add_pull(const Vector& x, Vector& pull) const {
  for (Index slot = 0; slot < u_.cols(); ++slot) pull += penalties_[slot] * x - u_.col(slot);
}

void EdgeLinks::speak(const Vector& x) {
  for (Index slot = 0; slot < u_.cols(); ++slot)
    spoken_.col(slot) = (2 * penalties_[slot]) * x - u_.col(slot);
}

std::span<const double> EdgeLinks::payload_to(std::size_t slot, const Vector&) const {
  return {spoken_.col(static_cast<Index>(slot)).data(), static_cast<std::size_t>(spoken_.rows())};
}

void EdgeLinks::receive(std::size_t slot, const Message& message) {
  assert(message.payload.size() == static_cast<std::size_t>(u_.rows()));
  if (message.sequence <= latest_[slot]) return;
  latest_[slot] = message.sequence;
  auto u = u_.col(static_cast<Index>(slot));
  u = 0.5 * (u + Eigen::Map<const Vector>(message.payload.data(), u.size()));
}

void EdgeLinks::save(ByteWriter& writer) const {
  writer.put(std::span<const double>(u_.data(), u_.size()));
  writer.put(std::span<const double>(spoken_.data(), spoken_.size()));
  for (std::uint64_t sequence : latest_) writer.put(sequence);
}

void EdgeLinks::load(ByteReader& reader) {
  reader.get(std::span<double>(u_.data(), u_.size()));
  reader.get(std::span<double>(spoken_.data(), spoken_.size()));
  for (std::uint64_t& sequence : latest_) reader.get(sequence);
}

}  // namespace grove
