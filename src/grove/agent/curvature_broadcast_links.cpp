#include "grove/agent/curvature_broadcast_links.h"

#include <algorithm>
#include <cassert>

#include "grove/agent/matrix_columns.h"

namespace grove {

CurvatureBroadcastLinks::CurvatureBroadcastLinks(CurvatureForm form, Index dimension,
                                                 std::size_t neighbours)
    : weights_(form, dimension, neighbours),
      next_theirs_(neighbours),
      heard_(Matrix::Zero(dimension, static_cast<Index>(neighbours))),
      dual_(Matrix::Zero(dimension, static_cast<Index>(neighbours))),
      heard_now_(neighbours, 0) {}

void CurvatureBroadcastLinks::publish(Curvature own, std::uint64_t, const Vector&) {
  next_own_ = std::move(own);
}

void CurvatureBroadcastLinks::add_pull(const Vector& x, Vector& pull) const {
  for (Index slot = 0; slot < dual_.cols(); ++slot) {
    if (!weights_.works(slot)) continue;
    pull += dual_.col(slot);
    apart_ = x - heard_.col(slot);
    weights_.add_product(slot, 0.5, apart_, pull);
  }
}

double CurvatureBroadcastLinks::tension(const Vector& x, Vector& difference,
                                        Vector& product) const {
  double sum = 0;
  for (Index slot = 0; slot < dual_.cols(); ++slot) {
    if (!weights_.works(slot)) continue;
    difference = x - heard_.col(slot);
    product.setZero(x.size());
    weights_.add_product(slot, 1, difference, product);
    sum += difference.dot(product);
  }
  return sum;
}

void CurvatureBroadcastLinks::speak(const Vector& x) {
  spoken_.assign(x.begin(), x.end());
  next_own_.append_words(spoken_);
}

std::span<const double> CurvatureBroadcastLinks::payload_to(std::size_t) const { return spoken_; }

std::size_t CurvatureBroadcastLinks::vectors_to(std::size_t) const {
  return whole_vectors(spoken_.size(), heard_.rows());
}

bool CurvatureBroadcastLinks::receive(std::size_t slot, const Message& message, const Vector&) {
  const auto dimension = static_cast<std::size_t>(heard_.rows());
  assert(message.payload.size() >= dimension);
  std::ranges::copy(message.payload.first(dimension), heard_.col(static_cast<Index>(slot)).data());
  heard_now_[slot] = 1;
  auto curvature =
      Curvature::from_words(weights_.form(), heard_.rows(), message.payload.subspan(dimension));
  if (curvature) next_theirs_[slot] = std::move(*curvature);
  return curvature.has_value();
}

void CurvatureBroadcastLinks::end_round(const Vector& x, bool spoke) {
  for (Index slot = 0; slot < dual_.cols(); ++slot) {
    if (weights_.works(slot) && (spoke || heard_now_[slot])) {
      apart_ = x - heard_.col(slot);
      step_.setZero(x.size());
      weights_.add_product(slot, 0.5, apart_, step_);
      dual_.col(slot) += step_;
    }
    heard_now_[slot] = 0;
    if (!next_theirs_[slot].known()) continue;
    weights_.set_theirs(slot, std::move(next_theirs_[slot]));
    next_theirs_[slot] = {};
  }
  if (!next_own_.known()) return;
  weights_.set_own(std::move(next_own_));
  next_own_ = {};
}

void CurvatureBroadcastLinks::connect(const Vector& x) {
  weights_.add_slot();
  next_theirs_.emplace_back();
  append_column(heard_, x);
  append_column(dual_, Vector::Zero(x.size()));
  heard_now_.push_back(0);
}

void CurvatureBroadcastLinks::disconnect(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  weights_.remove_slot(slot);
  next_theirs_.erase(next_theirs_.begin() + at);
  remove_column(heard_, static_cast<Index>(slot));
  remove_column(dual_, static_cast<Index>(slot));
  heard_now_.erase(heard_now_.begin() + at);
}

double CurvatureBroadcastLinks::disagreement(const Vector& x) const {
  return heard_.cols() == 0 ? 0 : (heard_.colwise() - x).colwise().norm().maxCoeff();
}

void CurvatureBroadcastLinks::save(ByteWriter& writer) const {
  weights_.save(writer);
  writer.put(std::span<const double>(heard_.data(), heard_.size()));
  writer.put(std::span<const double>(dual_.data(), dual_.size()));
}

void CurvatureBroadcastLinks::load(ByteReader& reader) {
  weights_.load(reader);
  reader.get(std::span<double>(heard_.data(), heard_.size()));
  reader.get(std::span<double>(dual_.data(), dual_.size()));
}

}  // namespace grove
