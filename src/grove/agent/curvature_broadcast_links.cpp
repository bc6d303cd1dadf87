#include "grove/agent/curvature_broadcast_links.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "grove/agent/matrix_columns.h"
#include "grove/problem/symmetric.h"

namespace grove {
namespace {

/// Over-relaxation where both ends worked in a round (docs/methods/curvature_links.md). Below 2 it
/// keeps the fixed points and the convergence of ADMM. Where one end rested it made runs longer.
constexpr double relaxation = 1.6;

}  // namespace

CurvatureBroadcastLinks::CurvatureBroadcastLinks(CurvatureForm form, Index dimension,
                                                 std::size_t neighbours)
    : weights_(form, dimension, neighbours),
      next_theirs_(neighbours),
      heard_(Matrix::Zero(dimension, static_cast<Index>(neighbours))),
      dual_(Matrix::Zero(dimension, static_cast<Index>(neighbours))),
      middle_(dual_),
      bent_(dual_),
      tension_(neighbours, 0.0),
      heard_now_(neighbours, 0),
      lone_work_(neighbours) {}

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
std::optional<double> CurvatureBroadcastLinks::news_of_tension(const Vector&) {
  return std::accumulate(tension_.begin(), tension_.end(), 0.0);
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

/// factor P_ij apart_.
const Vector& CurvatureBroadcastLinks::force(Index slot, double factor) {
  product_.setZero(apart_.size());
  weights_.add_product(slot, factor, apart_, product_);
  return product_;
}

/// Both ends add the same numbers: x_i and x_j enter alike, and so does who worked.
void CurvatureBroadcastLinks::move_dual(Index slot, bool spoke, const Vector& x) {
  const bool works = weights_.works(slot);
  const double beyond = works && spoke && heard_now_[slot] ? relaxation : 1.0;
  const double share = lone_work_[slot].share(spoke, heard_now_[slot]);
  auto middle = middle_.col(slot);
  middle += beyond * (0.5 * (x + heard_.col(slot)) - middle);
  if (!works) return;
  apart_ = x - heard_.col(slot);
  const Vector& half = force(slot, 0.5);
  tension_[slot] = 2 * half.dot(apart_);
  dual_.col(slot) += (beyond * share) * half;
}

void CurvatureBroadcastLinks::bend(Index slot, const Vector& x) {
  if (!weights_.works(slot)) return;
  apart_ = x - middle_.col(slot);
  bent_.col(slot) = force(slot, 1);
}

void CurvatureBroadcastLinks::end_round(const Vector& x, bool spoke) {
  const bool own_is_new = next_own_.known();
  for (Index slot = 0; slot < dual_.cols(); ++slot)
    if (spoke || heard_now_[slot]) move_dual(slot, spoke, x);
  if (own_is_new) weights_.set_own(std::exchange(next_own_, {}));
  for (Index slot = 0; slot < dual_.cols(); ++slot) {
    const bool theirs_is_new = next_theirs_[slot].known();
    if (theirs_is_new) weights_.set_theirs(slot, std::exchange(next_theirs_[slot], {}));
    if (spoke || heard_now_[slot] || own_is_new || theirs_is_new) bend(slot, x);
    heard_now_[slot] = 0;
  }
}

void CurvatureBroadcastLinks::connect(const Vector& x) {
  weights_.add_slot();
  next_theirs_.emplace_back();
  append_column(heard_, x);
  append_column(dual_, Vector::Zero(x.size()));
  append_column(middle_, x);
  append_column(bent_, Vector::Zero(x.size()));
  tension_.push_back(0);
  heard_now_.push_back(0);
  lone_work_.emplace_back();
}

void CurvatureBroadcastLinks::disconnect(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  weights_.remove_slot(slot);
  next_theirs_.erase(next_theirs_.begin() + at);
  remove_column(heard_, static_cast<Index>(slot));
  remove_column(dual_, static_cast<Index>(slot));
  remove_column(middle_, static_cast<Index>(slot));
  remove_column(bent_, static_cast<Index>(slot));
  tension_.erase(tension_.begin() + at);
  heard_now_.erase(heard_now_.begin() + at);
  lone_work_.erase(lone_work_.begin() + at);
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
  writer.put(std::span<const double>(tension_));
  for (const LoneWork& work : lone_work_) writer.put(work);
}

void CurvatureBroadcastLinks::load(ByteReader& reader) {
  weights_.load(reader);
  reader.get(std::span<double>(heard_.data(), heard_.size()));
  reader.get(std::span<double>(dual_.data(), dual_.size()));
  reader.get(std::span<double>(middle_.data(), middle_.size()));
  reader.get(std::span<double>(bent_.data(), bent_.size()));
  reader.get(std::span<double>(tension_));
  for (LoneWork& work : lone_work_) reader.get(work);
}

}  // namespace grove
