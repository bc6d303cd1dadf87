#include <algorithm>
#include <cassert>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "grove/base/eigenvalues.h"
#include "grove/problem/dense_shard.h"
#include "grove/problem/objective.h"
#include "grove/problem/shard_pass.h"
#include "grove/problem/sparse_shard.h"
#include "grove/problem/symmetric.h"

namespace grove {
namespace {

/// The largest eigenvalue of W'W comes from a dense solver up to the first dimension, from Lanczos
/// on the stored matrix up to the second, and beyond from Lanczos by passes over the rows.
constexpr Index dense_eigenvalues_limit = 64;
constexpr Index stored_gram_limit = 500;

using Shard = std::variant<DenseShard, SparseShard>;

Shard make_shard(Features features, bool intercept, const kernels::Kernels& kernels) {
  if (auto* rows = std::get_if<SparseRows>(&features))
    return SparseShard(std::move(*rows), intercept);
  return DenseShard(std::get<DenseRows>(features), intercept, kernels);
}

/// Takes each sample with the chance min(1, second derivative / level), and at a second derivative
/// of at least the level, so that sums are right in the mean and the samples that matter are all
/// there. The level is that at which so many are taken. Chances are carried over from sample to
/// sample: no random numbers, and neighbours stand for each other.
void take_by_second_derivative(Index count, ObjectiveScratch& scratch) {
  const auto& second_derivatives = scratch.second_derivatives;
  double level = 0;
  for (;;) {
    double light = 0;  // the sum of second derivatives below the level
    Index heavy = 0;
    for (const double second_derivative : second_derivatives) {
      if (level > 0 && second_derivative >= level)
        ++heavy;
      else
        light += second_derivative;
    }
    const double next = heavy < count ? light / static_cast<double>(count - heavy) : level;
    if (!(next > 0) || std::abs(next - level) <= 1e-3 * level) break;
    level = next;
  }
  scratch.taken.clear();
  scratch.taken_second_derivatives.clear();
  double chance = 0.5;
  for (std::size_t k = 0; k < second_derivatives.size(); ++k) {
    chance += std::min(1.0, second_derivatives[k] / level);
    if (!(chance >= 1)) continue;
    chance -= 1;
    scratch.taken.push_back(static_cast<std::uint32_t>(k));
    scratch.taken_second_derivatives.push_back(std::max(level, second_derivatives[k]));
  }
}

class ShardObjective final : public Objective {
 public:
  ShardObjective(Shard shard, Vector targets, const ShardTerms& terms,
                 const kernels::Kernels& kernels)
      : kernels_(kernels),
        shard_(std::move(shard)),
        targets_(std::move(targets)),
        terms_(terms),
        dimension_(std::visit([](const auto& rows) { return rows.dimension(); }, shard_)),
        penalized_(dimension_ - (terms.intercept ? 1 : 0)) {
    assert(targets_.size() > 0);
    assert(terms_.offsets.size() == 0 || terms_.offsets.size() == targets_.size());
    assert(terms_.weights.size() == 0 || terms_.weights.size() == targets_.size());
    double least = 0;
    for (Index row = 0; row < samples(); ++row)
      least += weight_of(row) * least_value(terms_.loss, targets_[row]);
    least_mean_ = terms_.scale * least / static_cast<double>(samples());
  }

  Index dimension() const override { return dimension_; }
  Index samples() const override { return targets_.size(); }

  double evaluate(const Vector& x, Batch batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch& scratch) const override {
    return pass(x, batch, {.gradient = gradient, .hessian = hessian}, scratch);
  }

  double evaluate_second_derivatives(const Vector& x, Batch batch, Vector* gradient,
                                     std::span<double> second_derivatives,
                                     ObjectiveScratch& scratch) const override {
    assert(static_cast<Index>(second_derivatives.size()) == size_of(batch, samples()));
    return pass(x, batch, {.gradient = gradient, .second_derivatives = second_derivatives.data()},
                scratch);
  }

  void weighted_hessian_times(std::span<const double> second_derivatives, Batch batch,
                              const Vector& direction, Vector& result,
                              ObjectiveScratch& scratch) const override {
    assert(direction.size() == dimension_ && &result != &direction);
    assert(static_cast<Index>(second_derivatives.size()) == size_of(batch, samples()));
    std::visit(
        [&](const auto& shard) {
          sum_products(shard, batch, second_derivatives, direction, result, scratch.block);
        },
        shard_);
    result *= sample_weight(batch);
    result.head(penalized_) += penalty() * direction.head(penalized_);
  }

  bool restricts() const override { return true; }

  bool append_restricted(std::span<const double> second_derivatives, ColumnPlaces places,
                         double factor, RestrictedRows& result) const override {
    const double weight = factor * sample_weight(Batch::all());
    std::visit(
        [&](const auto& shard) {
          for (Index row = 0; row < samples(); ++row) {
            const double second = second_derivatives[static_cast<std::size_t>(row)];
            if (!(second > 0)) continue;
            const double root = std::sqrt(weight * second);
            shard.visit_row(row, [&](std::int32_t column, double value) {
              const std::int32_t place = places[static_cast<std::size_t>(column)];
              if (place >= 0 && value != 0) result.add_entry(place, root * value);
            });
            result.end_row();
          }
        },
        shard_);
    if (penalty() > 0)
      for (Index k = 0; k < penalized_; ++k)
        if (const std::int32_t place = places[static_cast<std::size_t>(k)]; place >= 0)
          result.ridge[place] += factor * penalty();
    return true;
  }

  bool hessian_diagonal(std::span<const double> second_derivatives, Vector& result) const override {
    result.setZero(dimension_);
    std::visit(
        [&](const auto& shard) {
          for (Index row = 0; row < samples(); ++row) {
            const double second = second_derivatives[static_cast<std::size_t>(row)];
            shard.visit_row(row, [&](std::int32_t column, double value) {
              result[column] += second * value * value;
            });
          }
        },
        shard_);
    result *= sample_weight(Batch::all());
    result.head(penalized_).array() += penalty();
    return true;
  }

  /// Of dense shards: the Hessian of a sparse one costs less than what is done with it.
  Index sketch_hessian(const Vector& x, Index samples_to_take, Matrix& hessian,
                       ObjectiveScratch& scratch) const override {
    const auto* dense = std::get_if<DenseShard>(&shard_);
    if (!dense || samples_to_take >= samples() || std::holds_alternative<SquaredLoss>(terms_.loss))
      return Objective::sketch_hessian(x, samples_to_take, hessian, scratch);
    scratch.second_derivatives.resize(samples());
    pass(x, Batch::all(), {.second_derivatives = scratch.second_derivatives.data()}, scratch);
    take_by_second_derivative(samples_to_take, scratch);
    sum_hessian(*dense, Batch::of(scratch.taken), scratch.taken_second_derivatives, hessian,
                scratch.block);
    dense->sum_squares(scratch.second_derivatives, scratch.part_vector);
    hessian.diagonal() = hessian.diagonal().cwiseMax(scratch.part_vector);
    finish_hessian(Batch::all(), hessian);
    return static_cast<Index>(scratch.taken.size());
  }

  std::optional<double> fenchel_gap(const Vector& x, const Vector& step,
                                    Vector& correction) const override {
    std::vector<double> margins(static_cast<std::size_t>(samples())), changes(margins.size());
    AlignedNumbers memory;
    std::visit(
        [&](const auto& shard) {
          multiply_rows(shard, x, margins, memory);
          multiply_rows(shard, step, changes, memory);
        },
        shard_);
    double sum = 0;
    std::visit(
        [&](const auto& loss) {
          for (Index row = 0; row < samples(); ++row) {
            const double offset = terms_.offsets.size() > 0 ? terms_.offsets[row] : 0;
            const auto k = static_cast<std::size_t>(row);
            const FenchelGap part = loss.gap(margins[k] + offset, targets_[row], changes[k]);
            sum += weight_of(row) * part.gap;
            changes[k] = weight_of(row) * part.correction;
          }
        },
        terms_.loss);
    if (std::isnan(sum)) return std::nullopt;
    correction.setZero(dimension_);
    if (std::ranges::any_of(changes, [](double change) { return change != 0; })) {
      std::visit([&](const auto& shard) { sum_rows(shard, changes, correction, memory); }, shard_);
      correction *= sample_weight(Batch::all());
    }
    return sample_weight(Batch::all()) * sum +
           0.5 * penalty() * step.head(penalized_).squaredNorm();
  }

  /// Where every margin of a logistic loss favours its label, x separates the classes.
  bool falls_along(const Vector& x) const override {
    if (!std::holds_alternative<LogisticLoss>(terms_.loss) || penalty() > 0 ||
        terms_.offsets.size() > 0)
      return false;
    std::vector<double> margins(static_cast<std::size_t>(samples()));
    AlignedNumbers memory;
    std::visit([&](const auto& shard) { multiply_rows(shard, x, margins, memory); }, shard_);
    for (Index row = 0; row < samples(); ++row)
      if (!((2 * targets_[row] - 1) * margins[static_cast<std::size_t>(row)] > 0) &&
          weight_of(row) > 0)
        return false;
    return true;
  }

  std::optional<ColumnMoments> column_moments() const override {
    const Index features = terms_.intercept ? dimension_ - 1 : dimension_;
    ColumnMoments result;
    Vector weights = terms_.weights;
    if (weights.size() == 0) weights = Vector::Ones(samples());
    result.mass = sample_weight(Batch::all()) * weights.sum();
    for (Vector* sum : {&result.mean, &result.variance, &result.medians, &result.log_deviation,
                        &result.deviations, &result.log_size, &result.sizes})
      sum->setZero(features);
    if (!(result.mass > 0)) return result;  // no sample counts
    weights /= weights.sum();
    std::visit(
        [&](const auto& shard) {
          const auto [mean, variance] = shard.weighted_moments(weights);
          result.mean = mean.head(features);
          result.variance = variance.head(features);
        },
        shard_);
    result.sparse = std::holds_alternative<SparseShard>(shard_);
    std::visit([&](const auto& shard) { shard.add_robust_moments(result); }, shard_);
    return result;
  }

  /// Of Huber's loss: the quadratic that touches it at the margin and lies above has the second
  /// derivative delta / |residual| beyond delta.
  bool majorizer(const Vector& x, Matrix& result, ObjectiveScratch& scratch) const override {
    const auto* huber = std::get_if<HuberLoss>(&terms_.loss);
    if (huber == nullptr) return false;
    std::vector<double> weights(static_cast<std::size_t>(samples()));
    std::visit(
        [&](const auto& shard) {
          multiply_rows(shard, x, weights, scratch.block);
          for (Index row = 0; row < samples(); ++row) {
            double& weight = weights[static_cast<std::size_t>(row)];
            const double offset = terms_.offsets.size() > 0 ? terms_.offsets[row] : 0;
            const double residual = std::abs(weight + offset - targets_[row]);
            weight = weight_of(row) * (residual > huber->delta ? huber->delta / residual : 1);
          }
          sum_hessian(shard, Batch::all(), weights, result, scratch.block);
        },
        shard_);
    finish_hessian(Batch::all(), result);
    return true;
  }

  void metric(const ColumnScaling& scaling, Matrix& result) const override {
    constexpr double longest = 10;  // squared length, in units of that of a usual row
    std::vector<double> second_derivatives(static_cast<std::size_t>(samples()));
    usual_second_derivatives(second_derivatives);
    AlignedNumbers memory;
    std::visit(
        [&](const auto& shard) {
          for (Index row = 0; row < samples(); ++row) {
            const double square =
                shard.scaled_square(row, scaling) / static_cast<double>(dimension_);
            if (square > longest)
              second_derivatives[static_cast<std::size_t>(row)] *= longest / square;
          }
          sum_hessian(shard, Batch::all(), second_derivatives, result, memory);
        },
        shard_);
    finish_hessian(Batch::all(), result);
    scaling.scale_hessian(result);
  }

  void usual_second_derivatives(std::span<double> second_derivatives) const override {
    for (Index row = 0; row < samples(); ++row)
      second_derivatives[static_cast<std::size_t>(row)] =
          weight_of(row) * usual_second_derivative(terms_.loss, targets_[row]);
  }

  double largest_second_derivative() const override {
    double largest = 0;
    for (Index row = 0; row < samples(); ++row)
      largest =
          std::max(largest, weight_of(row) * usual_second_derivative(terms_.loss, targets_[row]));
    return largest;
  }

  bool penalizes() const override { return terms_.l2 > 0; }
  double smoothness() const override {
    std::call_once(smoothness_known_, [&] { smoothness_ = largest_eigenvalue(); });
    return smoothness_;
  }

 private:
  double pass(const Vector& x, Batch batch, const PassResults& results,
              ObjectiveScratch& scratch) const {
    assert(x.size() == dimension_);
    const double losses = std::visit(
        [&](const auto& shard) {
          return sum_losses({kernels_, terms_.loss, targets_, terms_.offsets, terms_.weights},
                            shard, batch, x, results, scratch.block);
        },
        shard_);
    const double weight = sample_weight(batch);
    const auto penalized = x.head(penalized_);
    if (Vector* gradient = results.gradient) {
      *gradient *= weight;
      gradient->head(penalized_) += penalty() * penalized;
    }
    if (results.hessian) finish_hessian(batch, *results.hessian);
    return weight * losses - least_mean_ + 0.5 * penalty() * penalized.squaredNorm();
  }

  /// Of the lower triangle of a sum over the batch.
  void finish_hessian(Batch batch, Matrix& hessian) const {
    hessian *= sample_weight(batch);
    mirror_lower_triangle(hessian);
    hessian.diagonal().head(penalized_).array() += penalty();
  }

  double penalty() const { return terms_.scale * terms_.l2; }

  double sample_weight(Batch batch) const {
    const Index size = size_of(batch, samples());
    assert(size > 0);
    return terms_.scale / static_cast<double>(size);
  }

  double weight_of(Index row) const { return terms_.weights.size() > 0 ? terms_.weights[row] : 1; }

  /// Of the Hessian if every loss had its usual second derivative.
  double largest_eigenvalue() const {
    std::vector<double> second_derivatives(static_cast<std::size_t>(samples()));
    usual_second_derivatives(second_derivatives);
    const double largest = std::ranges::max(second_derivatives);
    if (dimension_ <= stored_gram_limit) {
      const Matrix gram = gram_matrix(second_derivatives, largest);
      const SymmetricMap product = [&gram](const Vector& in, Vector& out) {
        out.setZero();
        add_symmetric_product(gram, in, out);
      };
      if (dimension_ > dense_eigenvalues_limit)
        if (const auto found = lanczos_eigenvalue(product)) return *found;
      return symmetric_eigenvalues(gram).tail(1)[0];
    }
    ObjectiveScratch scratch;
    const SymmetricMap passes = [&](const Vector& in, Vector& out) {
      weighted_hessian_times(second_derivatives, Batch::all(), in, out, scratch);
    };
    if (const auto found = lanczos_eigenvalue(passes)) return *found;
    // The trace bounds the largest eigenvalue: still a valid constant, only a cautious one.
    const double squares =
        std::visit([](const auto& shard) { return shard.squared_norm(); }, shard_);
    return largest * sample_weight(Batch::all()) * squares + penalty();
  }

  /// Its lower triangle.
  Matrix gram_matrix(const std::vector<double>& second_derivatives, double largest) const {
    Matrix gram;
    AlignedNumbers memory;
    std::vector<double> shares(second_derivatives);  // all 1 for most losses: sums are exact then
    if (largest > 0)
      for (double& share : shares) share /= largest;
    std::visit([&](const auto& shard) { sum_hessian(shard, Batch::all(), shares, gram, memory); },
               shard_);
    gram *= largest * sample_weight(Batch::all());
    gram.diagonal().head(penalized_).array() += penalty();
    return gram;
  }

  /// With few vectors first: where one direction stands out, as in most data, 13 products do.
  std::optional<double> lanczos_eigenvalue(const SymmetricMap& hessian) const {
    for (const LanczosOptions& effort :
         {LanczosOptions{.vectors = 12, .restarts = 10, .accuracy = 1e-13},
          LanczosOptions{.vectors = 40, .restarts = 1000, .accuracy = 1e-13}})
      if (const auto found = extreme_eigenvalue(dimension_, hessian, SpectrumEnd::largest, effort))
        return found;
    return std::nullopt;
  }

  const kernels::Kernels& kernels_;
  Shard shard_;
  Vector targets_;
  ShardTerms terms_;
  Index dimension_;
  Index penalized_;        ///< coordinates that l2 sees: all but the intercept
  double least_mean_ = 0;  ///< of the losses, scaled: taken off every value
  mutable std::once_flag smoothness_known_;
  mutable double smoothness_ = 0;
};

}  // namespace

std::unique_ptr<const Objective> make_shard_objective(Samples samples, const ShardTerms& terms) {
  return make_shard_objective(std::move(samples), terms, *kernels::available().front());
}

std::unique_ptr<const Objective> make_shard_objective(Samples samples, const ShardTerms& terms,
                                                      const kernels::Kernels& kernels) {
  return std::make_unique<ShardObjective>(
      make_shard(std::move(samples.features), terms.intercept, kernels), std::move(samples.targets),
      terms, kernels);
}

std::unique_ptr<const Objective> make_shard_objective(const FeatureView& features,
                                                      std::vector<std::uint32_t> rows,
                                                      Vector targets, const ShardTerms& terms) {
  assert(static_cast<Index>(rows.size()) == targets.size());
  const kernels::Kernels& kernels = *kernels::available().front();
  const auto* dense = std::get_if<DenseView>(&features);
  Shard shard =
      dense ? Shard(DenseShard(*dense, std::move(rows), terms.intercept, kernels))
            : Shard(SparseShard(std::get<CsrView>(features), std::move(rows), terms.intercept));
  return std::make_unique<ShardObjective>(std::move(shard), std::move(targets), terms, kernels);
}

}  // namespace grove
