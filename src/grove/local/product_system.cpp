#include "grove/local/product_system.h"

#include <algorithm>
#include <utility>

namespace grove {
namespace {

/// Each costs a pass over the shard. A solution cut short still leads downhill.
constexpr Index max_products = 1000;

}  // namespace

void PairedInverse::offer(const Vector& direction, const Vector& product) {
  const double curvature = direction.dot(product);
  if (used_ == room || !(curvature > 0)) return;
  if (used_ == pairs_.size()) pairs_.emplace_back();
  Pair& pair = pairs_[used_++];
  pair.direction = direction;
  pair.product = product;
  pair.curvature = curvature;
}

/// The two-loop recursion of L-BFGS. The identity is scaled as the last pair says, which is the
/// nearest to the eigenvalues that the pairs do not know.
void PairedInverse::apply(const Vector& right, Vector& result) const {
  result = right;
  if (used_ == 0) return;
  shares_.resize(used_);
  for (std::size_t k = used_; k-- > 0;) {
    shares_[k] = pairs_[k].direction.dot(result) / pairs_[k].curvature;
    result -= shares_[k] * pairs_[k].product;
  }
  const Pair& last = pairs_[used_ - 1];
  result *= last.curvature / last.product.squaredNorm();
  for (std::size_t k = 0; k < used_; ++k)
    result +=
        (shares_[k] - pairs_[k].product.dot(result) / pairs_[k].curvature) * pairs_[k].direction;
}

void PairedInverse::save(ByteWriter& writer) const {
  writer.put(used_);
  for (std::size_t k = 0; k < used_; ++k) {
    writer.put(pairs_[k].direction);
    writer.put(pairs_[k].product);
    writer.put(pairs_[k].curvature);
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
    reader.get(pair.curvature);
  }
}

double ProductSystem::take(const Objective& objective, const Vector& x, Batch batch,
                           Vector* gradient, ObjectiveScratch& scratch) {
  curvatures_.resize(static_cast<std::size_t>(objective.curvature_count(batch)));
  return objective.evaluate_curvatures(x, batch, gradient, curvatures_, scratch);
}

void ProductSystem::solve(const LocalModel& model, Batch batch, double tolerance,
                          ObjectiveScratch& scratch, Vector& vector) {
  next_.clear();
  const auto times = [&](const Vector& direction, Vector& product) {
    model.objective.weighted_hessian_times(curvatures_, batch, direction, product, scratch);
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
