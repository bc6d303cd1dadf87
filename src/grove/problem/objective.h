#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "grove/base/types.h"
#include "grove/data/samples.h"
#include "grove/problem/aligned_numbers.h"
#include "grove/problem/column_scaling.h"
#include "grove/problem/feature_view.h"
#include "grove/problem/loss.h"
#include "grove/problem/restricted_rows.h"

namespace grove {

/// The rows of a shard that one stochastic evaluation looks at: all, or the listed ones.
class Batch {
 public:
  static Batch all() { return Batch{}; }
  static Batch of(std::span<const std::uint32_t> rows) { return Batch{rows}; }

  bool whole() const { return whole_; }
  std::span<const std::uint32_t> rows() const { return rows_; }

 private:
  Batch() = default;
  explicit Batch(std::span<const std::uint32_t> rows) : rows_(rows), whole_(false) {}

  std::span<const std::uint32_t> rows_;
  bool whole_ = true;
};

/// Buffers of one thread, so that objectives are const, shareable and never allocate when warm.
struct ObjectiveScratch {
  AlignedNumbers block;                    ///< rows in work and their derivatives
  std::vector<double> second_derivatives;  ///< of every sample, for one product or sketch
  std::vector<std::uint32_t> taken;        ///< samples of a sketch
  std::vector<double> taken_second_derivatives;
  Vector part_vector;  ///< one part of a mean: gradient or Hessian-vector product
  Matrix part_hessian;
  Vector original_point, original_direction;  ///< of a scaled objective
};

/// A smooth convex f: R^d -> R with sub-sampled derivatives. What an agent knows of its data.
class Objective {
 public:
  virtual ~Objective() = default;

  virtual Index dimension() const = 0;
  virtual Index samples() const = 0;

  /// Value at x over the batch; fills gradient and Hessian (both triangles) where not null, in
  /// one pass over the rows.
  virtual double evaluate(const Vector& x, Batch batch, Vector* gradient, Matrix* hessian,
                          ObjectiveScratch& scratch) const = 0;

  /// How many numbers evaluate_second_derivatives() fills: one per sample of the batch, unless an
  /// objective knows its Hessian otherwise.
  virtual Index second_derivative_count(Batch batch) const {
    return batch.whole() ? samples() : static_cast<Index>(batch.rows().size());
  }

  /// Value at x over the batch; fills the gradient where not null, and the second derivative of
  /// each sample's loss, in the order of the batch: all that products with this Hessian need of x.
  virtual double evaluate_second_derivatives(const Vector& x, Batch batch, Vector* gradient,
                                             std::span<double> second_derivatives,
                                             ObjectiveScratch& scratch) const = 0;

  /// result = H direction, where H is the Hessian over the batch at the point where
  /// evaluate_second_derivatives() gave these.
  virtual void weighted_hessian_times(std::span<const double> second_derivatives, Batch batch,
                                      const Vector& direction, Vector& result,
                                      ObjectiveScratch& scratch) const = 0;

  /// Appends factor times the Hessian over all samples, where evaluate_second_derivatives() gave
  /// these, on the chosen columns: in time proportional to the non-zeros. False: an objective
  /// cannot, and what was appended means nothing.
  virtual bool append_restricted(std::span<const double> /*second_derivatives*/,
                                 ColumnPlaces /*places*/, double /*factor*/,
                                 RestrictedRows& /*result*/) const {
    return false;
  }
  /// The diagonal of that Hessian; false where append_restricted() is.
  virtual bool hessian_diagonal(std::span<const double> /*second_derivatives*/,
                                Vector& /*result*/) const {
    return false;
  }
  /// Whether both can be had.
  virtual bool restricts() const { return false; }

  /// Approximates the Hessian over all samples at x by importance sampling: samples with a second
  /// derivative above a threshold are all used, the others are drawn in proportion to it and
  /// reweighted. The result is positive semidefinite, and its diagonal is exact. Uses about
  /// `samples_to_take` samples and returns their number; all samples where that is as cheap.
  virtual Index sketch_hessian(const Vector& x, Index /*samples_to_take*/, Matrix& hessian,
                               ObjectiveScratch& scratch) const {
    evaluate(x, Batch::all(), nullptr, &hessian, scratch);
    return samples();
  }

  /// The smoothness constant L: no Hessian has a larger eigenvalue. Worked out at the first call.
  /// Of losses without one (poisson, gamma) it is the scale of the Hessian where the model fits.
  virtual double smoothness() const = 0;

  /// An upper bound of f(x) + f*(p) - p'x with p = gradient + Hessian step at x, which is at least
  /// 0: the height of f at x above its tangent plane of slope p. With the step of Newton's method
  /// it bounds the gap of f at x. Where p is no slope of f, a slope nearby takes its place, and the
  /// correction is that slope less p. Nothing where an objective does not know its conjugate.
  virtual std::optional<double> fenchel_gap(const Vector& /*x*/, const Vector& /*step*/,
                                            Vector& /*correction*/) const {
    return std::nullopt;
  }

  /// Whether f has a quadratic penalty on the regularized coordinates, so that it grows along them.
  virtual bool penalizes() const { return false; }

  /// Whether f falls towards its infimum along t x as t grows for ever, and so has no minimizer.
  virtual bool falls_along(const Vector& /*x*/) const { return false; }

  /// Of the columns that margins are made of, without the constant one; nothing where f is no sum
  /// over samples with one margin each.
  virtual std::optional<ColumnMoments> column_moments() const { return std::nullopt; }

  /// A matrix that is at least the Hessian at x in the directions of samples whose second
  /// derivative vanishes although they pull: with it, x has a scale there. False: the Hessian will
  /// do.
  virtual bool majorizer(const Vector& /*x*/, Matrix& /*result*/,
                         ObjectiveScratch& /*scratch*/) const {
    return false;
  }

  /// The Hessian if every loss had its usual second derivative, and rows that are much longer than
  /// others in scaled coordinates were shorter; with respect to scaled coefficients. Of objectives
  /// with column moments.
  virtual void metric(const ColumnScaling& /*scaling*/, Matrix& /*result*/) const {}

  /// The largest second derivative of each sample's loss, or the usual one where there is none, in
  /// the place of evaluate_second_derivatives(). Of objectives with column moments.
  virtual void usual_second_derivatives(std::span<double> /*second_derivatives*/) const {}
  /// The largest of them; 0: not known.
  virtual double largest_second_derivative() const { return 0; }

  /// result = Hessian(x) over the batch times direction. For many products at one point, keep the
  /// second derivatives.
  void hessian_times(const Vector& x, Batch batch, const Vector& direction, Vector& result,
                     ObjectiveScratch& scratch) const {
    scratch.second_derivatives.resize(second_derivative_count(batch));
    evaluate_second_derivatives(x, batch, nullptr, scratch.second_derivatives, scratch);
    weighted_hessian_times(scratch.second_derivatives, batch, direction, result, scratch);
  }
};

struct ShardTerms {
  Loss loss = LogisticLoss{};
  double l2 = 0;           ///< adds (l2/2)|x|^2 over the regularized coordinates
  bool intercept = false;  ///< appends a constant column, never regularized
  double scale = 1;        ///< multiplies the data term and l2; n D_i / sum D weighs by samples
  Vector offsets = {};     ///< added to the margins, one per sample; empty: none
  Vector weights = {};     ///< of the samples' losses; empty: all 1
};

/// f(x) = scale * [(1/D) sum_j weight_j loss(offset_j + w_j'x; y_j) + (l2/2)|x|^2] over one shard,
/// each loss less its least value. A batch replaces the
/// mean over all D samples by the mean over its own. Sums run in row order: the same bits always.
std::unique_ptr<const Objective> make_shard_objective(Samples samples, const ShardTerms& terms);

/// The same over the listed rows of features in the caller's memory, which are not copied.
/// `targets` has one number for every listed row, in that order.
std::unique_ptr<const Objective> make_shard_objective(const FeatureView& features,
                                                      std::vector<std::uint32_t> rows,
                                                      Vector targets, const ShardTerms& terms);

namespace kernels {
struct Kernels;
}

/// The same with a given variant of the inner loops, instead of the fastest this machine has.
std::unique_ptr<const Objective> make_shard_objective(Samples samples, const ShardTerms& terms,
                                                      const kernels::Kernels& kernels);

/// f as a function of scaled coefficients (ColumnScaling): the same values.
std::unique_ptr<const Objective> make_scaled_objective(
    std::shared_ptr<const Objective> original, std::shared_ptr<const ColumnScaling> scaling);

/// (1/n) sum_i f_i: what the network minimizes, before the regularizer. Borrows its parts,
/// which are not means themselves and are only evaluated over all their samples. Its smoothness()
/// is the mean of the parts' constants: an upper bound, tight when the shards are alike. Uses as
/// many threads as given, 0: as the process may; the same bits with any number.
std::unique_ptr<const Objective> make_mean_objective(std::vector<const Objective*> parts,
                                                     int threads = 1);

}  // namespace grove
