#pragma once

#include <optional>
#include <span>
#include <vector>

#include "grove/data/samples.h"
#include "grove/kernels/kernels.h"
#include "grove/problem/aligned_numbers.h"
#include "grove/problem/feature_view.h"
#include "grove/problem/objective.h"

namespace grove {

/// Dense rows as the kernels want them: padded, at cache lines, with the constant column if asked.
/// Rows in the caller's memory are brought into that form block by block, in the memory of a pass.
class DenseShard {
 public:
  /// `kernels` must outlive the shard, as the tables do.
  DenseShard(const DenseRows& rows, bool intercept, const kernels::Kernels& kernels);
  /// The listed rows of a view, in that order.
  DenseShard(const DenseView& view, std::vector<std::uint32_t> rows, bool intercept,
             const kernels::Kernels& kernels);

  Index samples() const { return samples_; }
  Index dimension() const { return dimension_; }
  Index stride() const { return stride_; }
  Index block_rows() const { return block_rows_; }
  double squared_norm() const;
  /// Squared length of a row in scaled coordinates.
  double scaled_square(Index row, const ColumnScaling& scaling) const {
    return (entries(row) - scaling.center).cwiseQuotient(scaling.scale).squaredNorm();
  }
  /// Fills in medians and spreads, from some hundred rows.
  void add_robust_moments(ColumnMoments& moments) const;
  /// By column, with weights of sum 1.
  WeightedMoments weighted_moments(const Vector& weights) const;
  /// By column, sum over the rows of weight * entry^2.
  void sum_squares(std::span<const double> weights, Vector& sum) const;

  /// visit(column, value) for the entries of a row, columns ascending.
  template <class Visit>
  void visit_row(Index row, const Visit& visit) const {
    const auto numbers = entries(row);
    for (Index k = 0; k < columns_; ++k) visit(static_cast<std::int32_t>(k), numbers[k]);
    if (dimension_ > columns_) visit(static_cast<std::int32_t>(columns_), 1.0);
  }

  /// Numbers a HessianSum needs.
  Index hessian_memory() const { return kernels::panel_rows * stride_; }

  /// Numbers a pass needs to hold one block.
  Index staging_memory() const { return view_ ? block_rows_ * stride_ : 0; }

  using Rows = kernels::Rows;
  Rows rows(Batch batch, Index begin, Index count, double* staging) const;

  /// margins[k] = row k times x. Vectors of coordinates are padded to stride().
  void multiply(const Rows& rows, const double* x, double* margins) const {
    kernels_.multiply(rows, x, margins);
  }
  void add_combination(const Rows& rows, const double* weights, double* sum) const {
    kernels_.add_combination(rows, weights, sum);
  }

  /// The lower triangle of a Hessian, from zero, row block by row block; complete after finish().
  class HessianSum {
   public:
    HessianSum(const DenseShard& shard, Matrix& hessian, double* memory)
        : shard_(shard), hessian_(hessian), panels_(memory) {
      hessian.setZero(shard.dimension(), shard.dimension());
    }
    void add(const Rows& rows, const double* second_derivatives);
    void finish() {
      if (filled_ > 0) flush({});
    }

   private:
    void flush(std::span<const double> upcoming);

    const DenseShard& shard_;
    Matrix& hessian_;
    double* panels_;
    Index filled_ = 0;
  };

 private:
  /// The block that a pass over all rows reads next: worth fetching while the processor is busy.
  std::span<const double> after(const Rows& rows) const;

  void copy_row(const double* from, double* to) const;
  /// Without the constant column.
  Eigen::Map<const Vector> entries(Index row) const {
    return {view_ ? view_->row(listed_[row]) : numbers_.data() + row * stride_, columns_};
  }

  const kernels::Kernels& kernels_;
  Index samples_, dimension_, stride_, block_rows_, gram_rows_;
  Index columns_;  ///< without the constant one
  AlignedNumbers numbers_;
  std::optional<DenseView> view_;      ///< in place of numbers_
  std::vector<std::uint32_t> listed_;  ///< rows of the view
};

}  // namespace grove
