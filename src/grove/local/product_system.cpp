#include "grove/local/product_system.h"

#include <algorithm>
#include <utility>

namespace grove {
namespace {

/// Each costs a pass over the shard. A solution cut short still leads downhill.
constexpr Index max_products = 1000;

}  // namespace

void PairedInverse::offer(const Vector& direction, const Vector& product) {
  const double direction_curvature = direction.dot(product);
  if (used_ == room || !(direction_curvature > 0)) return;
  if (used_ == pairs_.size()) pairs_.emplace_back();
  Pair& pair = pairs_[used_++];
  pair.direction = direction;
  pair.product = product;
  pair.direction_curvature = direction_curvature;
}

/// The two-loop recursion of L-BFGS. The identity is scaled as the last pair says, which is the
/// nearest to the eigenvalues that the pairs do not know.
void PairedInverse::apply(const Vector& right, Vector& result) const {
  result = right;
  if (used_ == 0) return;
  shares_.resize(used_);
  for (std::size_t k = used_; k-- > 0;) {
    shares_[k] = pairs_[k].direction.dot(result) / pairs_[k].direction_curvature;
    result -= shares_[k] * pairs_[k].product;
  }
  const Pair& last = pairs_[used_ - 1];
  result *= last.direction_curvature / last.product.squaredNorm();
  for (std::size_t k = 0; k < used_; ++k)
    result += (shares_[k] - pairs_[k].product.dot(result) / pairs_[k].direction_curvature) *
              pairs_[k].direction;
}

void PairedInverse::save(ByteWriter& writer) const {
  writer.put(used_);
  for (std::size_t k = 0; k < used_; ++k) {
    writer.put(pairs_[k].direction);
    writer.put(pairs_[k].product);
    writer.put(pairs_[k].direction_curvature);
  }
}

void PairedInverse::load(ByteReader& reader, Index dimension) {
  reader.get(used_);
  used_ = std::min(used_, room);
  pairs_.resize(used_);
  for (Pair& pair : pairs_) {
    pair.direction.resize(dimension);
    pair.product.resize(dimension);
    reader.get(pair.direction);
    reader.get(pair.product);
    reader.get(pair.direction_curvature);
  }
}

double ProductSystem::take(const Objective& objective, const Vector& x, Batch batch,
                           Vector* gradient, ObjectiveScratch& scratch) {
  second_derivatives_.resize(static_cast<std::size_t>(objective.second_derivative_count(batch)));
  return objective.evaluate_second_derivatives(x, batch, gradient, second_derivatives_, scratch);
}

void ProductSystem::solve(const LocalModel& model, Batch batch, double tolerance,
                          ObjectiveScratch& scratch, Vector& vector) {
  next_.clear();
  const auto times = [&](const Vector& direction, Vector& product) {
    model.objective.weighted_hessian_times(second_derivatives_, batch, direction, product, scratch);
    product += model.penalty_sum.scalar * direction;
    next_.offer(direction, product);
  };
  const auto precondition = [&](const Vector& residual, Vector& result) {
    known_.apply(residual, result);
  };
  conjugate_gradients(times, precondition, vector, {.tolerance = tolerance, .steps = max_products},
                      scratch_, solution_);
  vector = solution_;
  std::swap(known_, next_);
}

}  // namespace grove
