#include "grove/coupling/edge_links.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "grove/coupling/matrix_columns.h"

namespace grove {

EdgeLinks::EdgeLinks(std::vector<double> penalties, const Vector& start)
    : penalties_(std::move(penalties)),
      total_penalty_(std::accumulate(penalties_.begin(), penalties_.end(), 0.0)),
      u_(start.size(), static_cast<Index>(penalties_.size())),
      spoken_(penalties_.size()),
      latest_(penalties_.size(), 0),
      mismatch_(penalties_.size(), 0) {
  // u_ij = mu x_i: a link that does not pull, as broadcast links start.
  for (Index slot = 0; slot < u_.cols(); ++slot) u_.col(slot) = penalties_[slot] * start;
}

void EdgeLinks::add_pull(const Vector& x, Vector& pull) const {
  for (Index slot = 0; slot < u_.cols(); ++slot) pull += penalties_[slot] * x - u_.col(slot);
}

void EdgeLinks::speak(const Vector& x) {
  for (Index slot = 0; slot < u_.cols(); ++slot)
    spoken_[slot] = (2 * penalties_[slot]) * x - u_.col(slot);
}

std::span<const double> EdgeLinks::payload_to(std::size_t slot, const Vector&) const {
  return {spoken_[slot].data(), static_cast<std::size_t>(spoken_[slot].size())};
}

void EdgeLinks::receive(std::size_t slot, const Message& message) {
  assert(message.payload.size() == static_cast<std::size_t>(u_.rows()));
  if (message.sequence <= latest_[slot]) return;
  latest_[slot] = message.sequence;
  auto u = u_.col(static_cast<Index>(slot));
  const Eigen::Map<const Vector> heard(message.payload.data(), u.size());
  mismatch_[slot] = (heard - u).norm() / penalties_[slot];
  u = 0.5 * (u + heard);
}

void EdgeLinks::connect(double penalty, const Vector& x) {
  penalties_.push_back(penalty);
  total_penalty_ += penalty;
  append_column(u_, penalty * x);
  spoken_.emplace_back();
  latest_.push_back(0);
  mismatch_.push_back(0);
}

void EdgeLinks::disconnect(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  penalties_.erase(penalties_.begin() + at);
  total_penalty_ = std::accumulate(penalties_.begin(), penalties_.end(), 0.0);
  remove_column(u_, static_cast<Index>(slot));
  spoken_.erase(spoken_.begin() + at);
  latest_.erase(latest_.begin() + at);
  mismatch_.erase(mismatch_.begin() + at);
}

double EdgeLinks::disagreement(const Vector&) const {
  return mismatch_.empty() ? 0 : std::ranges::max(mismatch_);
}

void EdgeLinks::save(ByteWriter& writer) const {
  writer.put(std::span<const double>(u_.data(), u_.size()));
  for (std::uint64_t sequence : latest_) writer.put(sequence);
  writer.put(std::span<const double>(mismatch_));
}

void EdgeLinks::load(ByteReader& reader) {
  reader.get(std::span<double>(u_.data(), u_.size()));
  for (std::uint64_t& sequence : latest_) reader.get(sequence);
  reader.get(std::span<double>(mismatch_));
}

}  // namespace grove
