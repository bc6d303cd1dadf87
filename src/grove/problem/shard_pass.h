#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "grove/kernels/kernels.h"
#include "grove/problem/aligned_numbers.h"
#include "grove/problem/loss.h"
#include "grove/problem/objective.h"

/// The passes over the rows of a shard, dense or sparse, block by block: sums over a batch, without
/// the weights and the penalty of an objective.
namespace grove {

/// Working memory of a pass, laid out in the scratch of its thread.
class PassMemory {
 public:
  template <class Shard>
  PassMemory(AlignedNumbers& numbers, const Shard& shard, bool hessian)
      : stride_(kernels::padded(shard.stride())), block_(kernels::padded(shard.block_rows())) {
    staging_ = hessian ? kernels::padded(shard.hessian_memory()) : 0;
    start_ = numbers.fit(2 * stride_ + 6 * block_ + staging_ + shard.staging_memory());
  }

  double* point() const { return start_; }
  double* sum() const { return start_ + stride_; }
  double* margins() const { return sum() + stride_; }
  double* targets() const { return margins() + block_; }
  double* slopes() const { return targets() + block_; }
  double* second_derivatives() const { return slopes() + block_; }
  double* weights() const { return second_derivatives() + block_; }
  double* offsets() const { return weights() + block_; }
  double* hessian() const { return offsets() + block_; }
  double* staging() const { return hessian() + staging_; }

  void set_point(const Vector& x) const {
    std::copy_n(x.data(), x.size(), point());
    std::fill(point() + x.size(), point() + stride_, 0.0);
  }
  void clear_sum() const { std::fill_n(sum(), stride_, 0.0); }
  Eigen::Map<const Vector> sum_of(Index dimension) const { return {sum(), dimension}; }

 private:
  Index stride_, block_, staging_;
  double* start_;
};

inline double evaluate_losses(const kernels::Kernels& kernels, const Loss& loss,
                              const kernels::LossBlock& block) {
  struct Dispatch {
    const kernels::Kernels& kernels;
    const kernels::LossBlock& block;
    double operator()(const LogisticLoss&) const { return kernels.logistic(block); }
    double operator()(const SquaredLoss&) const { return kernels.squared(block); }
    double operator()(const HuberLoss& huber) const { return kernels.huber(huber.delta, block); }
    double operator()(const PoissonLoss&) const { return kernels.poisson(block); }
    double operator()(const GammaLoss&) const { return kernels.gamma(block); }
    double operator()(const NegativeBinomialLoss& loss) const {
      return kernels.negative_binomial(loss.theta, block);
    }
    double operator()(const SquaredHingeLoss&) const { return kernels.squared_hinge(block); }
    double operator()(const CustomLoss& custom) const {
      double sum = 0;
      for (Index k = 0; k < block.count; ++k) {
        const LossPoint point = custom.at(block.margins[k], block.targets[k]);
        const double weight = block.weights ? block.weights[k] : 1;
        sum += weight * point.value;
        block.slopes[k] = weight * point.slope;
        block.second_derivatives[k] = weight * point.second_derivative;
      }
      return sum;
    }
  };
  return std::visit(Dispatch{kernels, block}, loss);
}

inline Index size_of(Batch batch, Index samples) {
  return batch.whole() ? samples : static_cast<Index>(batch.rows().size());
}

/// Calls visit(rows, begin) for the batch cut into blocks.
template <class Shard, class Visit>
void for_each_block(const Shard& shard, Batch batch, const PassMemory& memory, const Visit& visit) {
  const Index size = size_of(batch, shard.samples());
  for (Index begin = 0; begin < size; begin += shard.block_rows()) {
    const Index count = std::min(shard.block_rows(), size - begin);
    visit(shard.rows(batch, begin, count, memory.staging()), begin);
  }
}

/// What a pass fills besides the sum of the losses: whatever is not null.
struct PassResults {
  Vector* gradient = nullptr;
  Matrix* hessian = nullptr;             ///< lower triangle
  double* second_derivatives = nullptr;  ///< of each sample of the batch
};

/// Numbers of the samples of a block: in place where the batch is whole, else gathered; null where
/// there are none.
inline const double* block_of(const Vector& numbers, Batch batch, Index begin, Index count,
                              double* gathered) {
  if (numbers.size() == 0) return nullptr;
  if (batch.whole()) return numbers.data() + begin;
  for (Index k = 0; k < count; ++k) gathered[k] = numbers[batch.rows()[begin + k]];
  return gathered;
}

struct Losses {
  const kernels::Kernels& kernels;
  const Loss& loss;
  const Vector& targets;
  const Vector& offsets;  ///< empty: none
  const Vector& weights;  ///< empty: all 1
};

/// Returns the sum of the losses over the batch at x, in one pass over the rows.
template <class Shard>
double sum_losses(const Losses& losses, const Shard& shard, Batch batch, const Vector& x,
                  const PassResults& results, AlignedNumbers& numbers) {
  const PassMemory memory(numbers, shard, results.hessian);
  memory.set_point(x);
  memory.clear_sum();
  std::optional<typename Shard::HessianSum> hessian;
  if (results.hessian) hessian.emplace(shard, *results.hessian, memory.hessian());
  double total = 0;
  for_each_block(shard, batch, memory, [&](const auto& rows, Index begin) {
    double* second_derivatives = results.second_derivatives ? results.second_derivatives + begin
                                                            : memory.second_derivatives();
    shard.multiply(rows, memory.point(), memory.margins());
    const Index count = rows.count;
    if (const double* offsets = block_of(losses.offsets, batch, begin, count, memory.offsets()))
      for (Index k = 0; k < count; ++k) memory.margins()[k] += offsets[k];
    total += evaluate_losses(
        losses.kernels, losses.loss,
        {count, memory.margins(), block_of(losses.targets, batch, begin, count, memory.targets()),
         memory.slopes(), second_derivatives,
         block_of(losses.weights, batch, begin, count, memory.weights())});
    if (results.gradient) shard.add_combination(rows, memory.slopes(), memory.sum());
    if (hessian) hessian->add(rows, second_derivatives);
  });
  if (results.gradient) *results.gradient = memory.sum_of(shard.dimension());
  if (hessian) hessian->finish();
  return total;
}

/// products[k] = row k times x, of all rows.
template <class Shard>
void multiply_rows(const Shard& shard, const Vector& x, std::span<double> products,
                   AlignedNumbers& numbers) {
  const PassMemory memory(numbers, shard, false);
  memory.set_point(x);
  for_each_block(shard, Batch::all(), memory, [&](const auto& rows, Index begin) {
    shard.multiply(rows, memory.point(), products.data() + begin);
  });
}

/// result = sum over all rows of number * row.
template <class Shard>
void sum_rows(const Shard& shard, std::span<const double> numbers_of_rows, Vector& result,
              AlignedNumbers& numbers) {
  const PassMemory memory(numbers, shard, false);
  memory.clear_sum();
  for_each_block(shard, Batch::all(), memory, [&](const auto& rows, Index begin) {
    shard.add_combination(rows, numbers_of_rows.data() + begin, memory.sum());
  });
  result = memory.sum_of(shard.dimension());
}

/// result = sum over the batch of second derivative * row row' direction.
template <class Shard>
void sum_products(const Shard& shard, Batch batch, std::span<const double> second_derivatives,
                  const Vector& direction, Vector& result, AlignedNumbers& numbers) {
  const PassMemory memory(numbers, shard, false);
  memory.set_point(direction);
  memory.clear_sum();
  for_each_block(shard, batch, memory, [&](const auto& rows, Index begin) {
    double* weights = memory.margins();
    shard.multiply(rows, memory.point(), weights);
    for (Index k = 0; k < rows.count; ++k) weights[k] *= second_derivatives[begin + k];
    shard.add_combination(rows, weights, memory.sum());
  });
  result = memory.sum_of(shard.dimension());
}

/// hessian = lower triangle of the sum over the batch of second derivative * row row'.
template <class Shard>
void sum_hessian(const Shard& shard, Batch batch, std::span<const double> second_derivatives,
                 Matrix& hessian, AlignedNumbers& numbers) {
  const PassMemory memory(numbers, shard, true);
  typename Shard::HessianSum sum(shard, hessian, memory.hessian());
  for_each_block(shard, batch, memory, [&](const auto& rows, Index begin) {
    sum.add(rows, second_derivatives.data() + begin);
  });
  sum.finish();
}

}  // namespace grove
