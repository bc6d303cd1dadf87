#include "grove/coupling/broadcast_coupling.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "grove/coupling/matrix_columns.h"

namespace grove {

BroadcastCoupling::BroadcastCoupling(const CouplingOptions& options, const Vector& start,
                                     std::size_t neighbours)
    : weights_(options.weighting, start.size(), neighbours),
      share_(0.5 * options.relaxation),
      next_neighbours_(neighbours),
      received_(neighbours, 0),
      neighbour_x_(start.replicate(1, static_cast<Index>(neighbours))),
      dual_(Matrix::Zero(start.size(), static_cast<Index>(neighbours))),
      z_(neighbour_x_) {
  if (!weights_.fixed()) residual_ = neighbour_residual_ = dual_;
}

void BroadcastCoupling::publish(LinkWeight own, std::uint64_t, const Vector&) {
  next_own_ = std::move(own);
}

void BroadcastCoupling::add_gradient(const Vector& x, Vector& gradient) const {
  for (Index slot = 0; slot < dual_.cols(); ++slot) {
    if (const auto mu = weights_.fixed())
      gradient += dual_.col(slot) + *mu * (x - z_.col(slot));
    else
      gradient += dual_.col(slot) + residual_.col(slot);
  }
}

double BroadcastCoupling::squared_step(const Vector& step) {
  product_.setZero(step.size());
  weights_.sum().add_product(step, product_);
  return step.dot(product_);
}

/// An inactive neighbour is where it was, so that there is always an answer.
std::optional<double> BroadcastCoupling::squared_residual(const Vector& x) {
  double sum = 0;
  for (Index slot = 0; slot < dual_.cols(); ++slot)
    sum += (residual_.col(slot) - neighbour_residual_.col(slot)).dot(x - neighbour_x_.col(slot));
  return sum;
}

void BroadcastCoupling::fill_message(std::size_t, const Vector& x, Message& message) const {
  message.vector = {x.data(), static_cast<std::size_t>(x.size())};
  message.weight_update = next_own_.numbers();
}

bool BroadcastCoupling::receive(std::size_t slot, const Message& message, const Vector&) {
  assert(message.vector.size() == static_cast<std::size_t>(neighbour_x_.rows()));
  std::ranges::copy(message.vector, neighbour_x_.col(static_cast<Index>(slot)).data());
  received_[slot] = 1;
  if (message.weight_update.empty()) return false;
  auto weight =
      LinkWeight::from_numbers(weights_.form(), neighbour_x_.rows(), message.weight_update);
  if (weight) next_neighbours_[slot] = std::move(*weight);
  return weight.has_value();
}

void BroadcastCoupling::compute_residual(Index slot, const Eigen::Ref<const Vector>& end,
                                         Matrix& residual) {
  difference_ = end - z_.col(slot);
  product_.setZero(end.size());
  weights_.add_product(slot, 1, difference_, product_);
  residual.col(slot) = product_;
}

/// Both residuals in one pass over the weight.
void BroadcastCoupling::compute_both_residuals(Index slot, const Vector& x) {
  difference_ = x - z_.col(slot);
  neighbour_difference_ = neighbour_x_.col(slot) - z_.col(slot);
  product_.setZero(x.size());
  neighbour_product_.setZero(x.size());
  weights_.add_products(slot, {&difference_, &neighbour_difference_},
                        {&product_, &neighbour_product_});
  residual_.col(slot) = product_;
  neighbour_residual_.col(slot) = neighbour_product_;
}

/// The factors 0 and 1 keep the order of operations the same at both ends, whoever was active.
void BroadcastCoupling::update_fixed_link(Index slot, const Vector& x, bool active) {
  auto z = z_.col(slot);
  const double here = active ? 1 : 0, there = received_[slot] ? 1 : 0;
  difference_ = here * (x - z);
  neighbour_difference_ = there * (neighbour_x_.col(slot) - z);
  dual_.col(slot) += (share_ * *weights_.fixed()) * (difference_ - neighbour_difference_);
  z += share_ * (difference_ + neighbour_difference_);
}

void BroadcastCoupling::update_link(Index slot, const Vector& x, bool active) {
  if (weights_.fixed()) return update_fixed_link(slot, x, active);
  auto z = z_.col(slot);
  const auto neighbour_x = neighbour_x_.col(slot);
  if (!weights_.established(slot)) {
    z = 0.5 * (x + neighbour_x);
    return;
  }
  const double here = active ? 1 : 0, there = received_[slot] ? 1 : 0;
  auto residual = residual_.col(slot), neighbour_residual = neighbour_residual_.col(slot);
  if (active && received_[slot])
    compute_both_residuals(slot, x);
  else if (active)
    compute_residual(slot, x, residual_);
  else
    compute_residual(slot, neighbour_x, neighbour_residual_);
  dual_.col(slot) += share_ * (here * residual - there * neighbour_residual);
  z += share_ * (here * (x - z) + there * (neighbour_x - z));
  product_ = share_ * (here * residual + there * neighbour_residual);
  residual -= product_;
  neighbour_residual -= product_;
}

void BroadcastCoupling::end_round(const Vector& x, bool active) {
  for (Index slot = 0; slot < dual_.cols(); ++slot)
    if (active || received_[slot]) update_link(slot, x, active);
  const bool own_is_new = next_own_.known();
  if (own_is_new) weights_.set_own(std::exchange(next_own_, {}));
  for (Index slot = 0; slot < dual_.cols(); ++slot) {
    received_[slot] = 0;
    const bool neighbour_is_new = next_neighbours_[slot].known();
    if (neighbour_is_new) weights_.set_neighbour(slot, std::exchange(next_neighbours_[slot], {}));
    if (weights_.established(slot) && (own_is_new || neighbour_is_new))
      compute_both_residuals(slot, x);
  }
}

void BroadcastCoupling::add_link(const Vector& x) {
  weights_.add_link();
  next_neighbours_.emplace_back();
  received_.push_back(0);
  append_column(neighbour_x_, x);
  append_column(dual_, Vector::Zero(x.size()));
  append_column(z_, x);
  if (weights_.fixed()) return;
  append_column(residual_, Vector::Zero(x.size()));
  append_column(neighbour_residual_, Vector::Zero(x.size()));
}

void BroadcastCoupling::remove_link(std::size_t slot) {
  const auto at = static_cast<std::ptrdiff_t>(slot);
  weights_.remove_link(slot);
  next_neighbours_.erase(next_neighbours_.begin() + at);
  received_.erase(received_.begin() + at);
  for (Matrix* columns : {&neighbour_x_, &dual_, &z_, &residual_, &neighbour_residual_})
    if (columns->cols() > 0) remove_column(*columns, static_cast<Index>(slot));
}

double BroadcastCoupling::disagreement(const Vector& x) const {
  return neighbour_x_.cols() == 0 ? 0 : (neighbour_x_.colwise() - x).colwise().norm().maxCoeff();
}

void BroadcastCoupling::save(ByteWriter& writer) const {
  weights_.save(writer);
  for (const Matrix* columns : {&neighbour_x_, &dual_, &z_, &residual_, &neighbour_residual_})
    writer.put(std::span<const double>(columns->data(), columns->size()));
}

void BroadcastCoupling::load(ByteReader& reader) {
  weights_.load(reader);
  for (Matrix* columns : {&neighbour_x_, &dual_, &z_, &residual_, &neighbour_residual_})
    reader.get(std::span<double>(columns->data(), columns->size()));
}

}  // namespace grove
