#include "grove/coupling/broadcast_links.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "grove/coupling/matrix_columns.h"

namespace grove {

BroadcastLinks::BroadcastLinks(LinkOptions options, const Vector& start)
    : penalties_(std::move(options.penalties)),
      total_penalty_(std::accumulate(penalties_.begin(), penalties_.end(), 0.0)),
      heard_(start.replicate(1, static_cast<Index>(penalties_.size()))),
      dual_(Matrix::Zero(start.size(), static_cast<Index>(penalties_.size()))),
      heard_now_(penalties_.size(), 0),
      unequal_rates_(options.unequal_rates),
      lone_work_(penalties_.size()) {}

void BroadcastLinks::add_pull(const Vector& x, Vector& pull) const {
  for (Index slot = 0; slot < dual_.cols(); ++slot)
    pull += dual_.col(slot) + (0.5 * penalties_[slot]) * (x - heard_.col(slot));
}

std::span<const double> BroadcastLinks::payload_to(std::size_t, const Vector& x) const {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

void BroadcastLinks::receive(std::size_t slot, const Message& message) {
  assert(message.payload.size() == static_cast<std::size_t>(heard_.rows()));
  std::ranges::copy(message.payload, heard_.col(static_cast<Index>(slot)).data());
  heard_now_[slot] = 1;
}

void BroadcastLinks::end_round(const Vector& x, bool spoke) {
  for (Index slot = 0; slot < dual_.cols(); ++slot) {
    if (!spoke && !heard_now_[slot]) continue;
    const double share = unequal_rates_ ? lone_work_[slot].share(spoke, heard_now_[slot]) : 1;
    dual_.col(slot) += (0.5 * share * penalties_[slot]) * (x - heard_.col(slot));
    heard_now_[slot] = 0;
  }
}

void BroadcastLinks::connect(double penalty, const Vector& x) {
  penalties_.push_back(penalty);
  total_penalty_ += penalty;
  append_column(heard_, x);
  append_column(dual_, Vector::Zero(x.size()));
  heard_now_.push_back(0);
  lone_work_.emplace_back();
}

void BroadcastLinks::disconnect(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  penalties_.erase(penalties_.begin() + at);
  total_penalty_ = std::accumulate(penalties_.begin(), penalties_.end(), 0.0);
  remove_column(heard_, static_cast<Index>(slot));
  remove_column(dual_, static_cast<Index>(slot));
  heard_now_.erase(heard_now_.begin() + at);
  lone_work_.erase(lone_work_.begin() + at);
}

double BroadcastLinks::disagreement(const Vector& x) const {
  double largest = 0;
  for (Index slot = 0; slot < heard_.cols(); ++slot)
    largest = std::max(largest, (x - heard_.col(slot)).norm());
  return largest;
}

void BroadcastLinks::save(ByteWriter& writer) const {
  writer.put(std::span<const double>(heard_.data(), heard_.size()));
  writer.put(std::span<const double>(dual_.data(), dual_.size()));
  for (const StalenessDamping& work : lone_work_) writer.put(work);
}

void BroadcastLinks::load(ByteReader& reader) {
  reader.get(std::span<double>(heard_.data(), heard_.size()));
  reader.get(std::span<double>(dual_.data(), dual_.size()));
  for (StalenessDamping& work : lone_work_) reader.get(work);
}

}  // namespace grove
