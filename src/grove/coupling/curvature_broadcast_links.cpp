#include "grove/coupling/curvature_broadcast_links.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "grove/coupling/matrix_columns.h"
#include "grove/problem/symmetric.h"

namespace grove {

CurvatureBroadcastLinks::CurvatureBroadcastLinks(CurvatureForm form, Index dimension,
                                                 std::size_t neighbours)
    : weights_(form, dimension, neighbours),
      next_theirs_(neighbours),
      heard_(Matrix::Zero(dimension, static_cast<Index>(neighbours))),
      dual_(Matrix::Zero(dimension, static_cast<Index>(neighbours))),
      middle_(dual_),
      bent_(dual_),
      their_bent_(dual_),
      heard_now_(neighbours, 0) {}

void CurvatureBroadcastLinks::publish(Curvature own, std::uint64_t, const Vector&) {
  next_own_ = std::move(own);
}

void CurvatureBroadcastLinks::add_pull(const Vector&, Vector& pull) const {
  for (Index slot = 0; slot < dual_.cols(); ++slot) pull += dual_.col(slot) + bent_.col(slot);
}

double CurvatureBroadcastLinks::movement(const Vector& step) {
  product_.setZero(step.size());
  add_symmetric_product(weights_.sum(), step, product_);
  return step.dot(product_);
}

/// A neighbour that rests is known to stay where it was.
std::optional<double> CurvatureBroadcastLinks::news_of_tension(const Vector& x) {
  double sum = 0;
  for (Index slot = 0; slot < dual_.cols(); ++slot)
    sum += (bent_.col(slot) - their_bent_.col(slot)).dot(x - heard_.col(slot));
  return sum;
}

void CurvatureBroadcastLinks::speak(const Vector& x, double word) {
  spoken_.assign(1, word);
  spoken_.insert(spoken_.end(), x.begin(), x.end());
  next_own_.append_words(spoken_);
}

std::span<const double> CurvatureBroadcastLinks::payload_to(std::size_t) const { return spoken_; }

std::size_t CurvatureBroadcastLinks::vectors_to(std::size_t) const {
  return whole_vectors(spoken_.size() - 1, heard_.rows());
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

void CurvatureBroadcastLinks::bend(Index slot, const Eigen::Ref<const Vector>& end, Matrix& bent) {
  apart_ = end - middle_.col(slot);
  product_.setZero(end.size());
  weights_.add_product(slot, 1, apart_, product_);
  bent.col(slot) = product_;
}

/// Both bends at once.
void CurvatureBroadcastLinks::bend_both(Index slot, const Vector& x) {
  apart_ = x - middle_.col(slot);
  their_apart_ = heard_.col(slot) - middle_.col(slot);
  product_.setZero(x.size());
  their_product_.setZero(x.size());
  weights_.add_products(slot, {&apart_, &their_apart_}, {&product_, &their_product_});
  bent_.col(slot) = product_;
  their_bent_.col(slot) = their_product_;
}

/// The two ends of a link do the same to the same numbers, so that their middles stay equal and
/// their duals opposite. That is why one and zero are factors, and the share a common one.
void CurvatureBroadcastLinks::move_middle(Index slot, const Vector& x, bool spoke) {
  auto middle = middle_.col(slot);
  const auto theirs = heard_.col(slot);
  if (!weights_.works(slot)) {
    middle = 0.5 * (x + theirs);
    return;
  }
  constexpr double share = 0.5 * relaxation;
  const double here = spoke ? 1 : 0, there = heard_now_[slot] ? 1 : 0;
  auto bent = bent_.col(slot), their_bent = their_bent_.col(slot);
  if (spoke && heard_now_[slot])
    bend_both(slot, x);
  else if (spoke)
    bend(slot, x, bent_);
  else
    bend(slot, theirs, their_bent_);
  dual_.col(slot) += share * (here * bent - there * their_bent);
  middle += share * (here * (x - middle) + there * (theirs - middle));
  product_ = share * (here * bent + there * their_bent);
  bent -= product_;
  their_bent -= product_;
}

void CurvatureBroadcastLinks::end_round(const Vector& x, bool spoke) {
  const bool own_is_new = next_own_.known();
  for (Index slot = 0; slot < dual_.cols(); ++slot)
    if (spoke || heard_now_[slot]) move_middle(slot, x, spoke);
  if (own_is_new) weights_.set_own(std::exchange(next_own_, {}));
  for (Index slot = 0; slot < dual_.cols(); ++slot) {
    heard_now_[slot] = 0;
    const bool theirs_is_new = next_theirs_[slot].known();
    if (theirs_is_new) weights_.set_theirs(slot, std::exchange(next_theirs_[slot], {}));
    if (!weights_.works(slot) || !(own_is_new || theirs_is_new)) continue;
    bend_both(slot, x);
  }
}

void CurvatureBroadcastLinks::connect(const Vector& x) {
  weights_.add_slot();
  next_theirs_.emplace_back();
  append_column(heard_, x);
  append_column(dual_, Vector::Zero(x.size()));
  append_column(middle_, x);
  append_column(bent_, Vector::Zero(x.size()));
  append_column(their_bent_, Vector::Zero(x.size()));
  heard_now_.push_back(0);
}

void CurvatureBroadcastLinks::disconnect(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  weights_.remove_slot(slot);
  next_theirs_.erase(next_theirs_.begin() + at);
  remove_column(heard_, static_cast<Index>(slot));
  remove_column(dual_, static_cast<Index>(slot));
  remove_column(middle_, static_cast<Index>(slot));
  remove_column(bent_, static_cast<Index>(slot));
  remove_column(their_bent_, static_cast<Index>(slot));
  heard_now_.erase(heard_now_.begin() + at);
}

double CurvatureBroadcastLinks::disagreement(const Vector& x) const {
  return heard_.cols() == 0 ? 0 : (heard_.colwise() - x).colwise().norm().maxCoeff();
}

void CurvatureBroadcastLinks::save(ByteWriter& writer) const {
  weights_.save(writer);
  writer.put(std::span<const double>(heard_.data(), heard_.size()));
  writer.put(std::span<const double>(dual_.data(), dual_.size()));
  writer.put(std::span<const double>(middle_.data(), middle_.size()));
  writer.put(std::span<const double>(bent_.data(), bent_.size()));
  writer.put(std::span<const double>(their_bent_.data(), their_bent_.size()));
}

void CurvatureBroadcastLinks::load(ByteReader& reader) {
  weights_.load(reader);
  reader.get(std::span<double>(heard_.data(), heard_.size()));
  reader.get(std::span<double>(dual_.data(), dual_.size()));
  reader.get(std::span<double>(middle_.data(), middle_.size()));
  reader.get(std::span<double>(bent_.data(), bent_.size()));
  reader.get(std::span<double>(their_bent_.data(), their_bent_.size()));
}

}  // namespace grove
