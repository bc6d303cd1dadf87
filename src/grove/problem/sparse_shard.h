#pragma once

#include "grove/data/samples.h"
#include "grove/problem/feature_view.h"
#include "grove/problem/objective.h"

namespace grove {

/// Compressed rows, with the constant column if asked. Products cost the non-zeros, a Hessian the
/// sum over rows of their squares; nothing is ever stored densely but the Hessian itself.
class SparseShard {
 public:
  SparseShard(SparseRows rows, bool intercept);
  /// The listed rows of a view, in that order.
  SparseShard(const CsrView& view, std::vector<std::uint32_t> rows, bool intercept);

  Index samples() const { return samples_; }
  Index dimension() const { return dimension_; }
  Index stride() const { return dimension_; }
  Index block_rows() const { return block; }
  double squared_norm() const;
  /// Squared length of a row in scaled coordinates, which are not centered.
  double scaled_square(Index row, const ColumnScaling& scaling) const;
  /// Fills in sizes: the root of the mean square of the non-zeros of each column.
  void add_robust_moments(ColumnMoments& moments) const;
  /// By column, with weights of sum 1.
  WeightedMoments weighted_moments(const Vector& weights) const;
  /// visit(column, value) for the non-zeros of a row, columns ascending.
  template <class Visit>
  void visit_row(Index index, const Visit& visit) const {
    const Row entries = row(index);
    for (Index j = 0; j < entries.count; ++j) visit(entries.columns[j], entries.values[j]);
    if (constant_) visit(static_cast<std::int32_t>(dimension_ - 1), 1.0);
  }
  Index hessian_memory() const { return 0; }
  Index staging_memory() const { return 0; }

  struct Rows {
    const std::uint32_t* listed;  ///< null: consecutive rows
    const std::uint8_t* order;    ///< in which they are best gone through; null: as they come
    Index begin;
    Index count;
    Index nth(Index k) const { return order ? static_cast<Index>(order[k]) : k; }
    Index row(Index k) const { return listed ? static_cast<Index>(listed[k]) : begin + k; }
  };
  Rows rows(Batch batch, Index begin, Index count, double* /*staging*/) const {
    if (!batch.whole()) return {batch.rows().data() + begin, nullptr, begin, count};
    return {nullptr, order_.data() + begin, begin, count};
  }

  /// margins[k] = row k times x.
  void multiply(const Rows& rows, const double* x, double* margins) const;

  /// sum += sum_k weights[k] row k.
  void add_combination(const Rows& rows, const double* weights, double* sum) const;

  /// The lower triangle of a Hessian, from zero, row block by row block.
  class HessianSum {
   public:
    HessianSum(const SparseShard& shard, Matrix& hessian, double* /*memory*/)
        : shard_(shard), hessian_(hessian) {
      hessian.setZero(shard.dimension(), shard.dimension());
    }
    void add(const Rows& rows, const double* second_derivatives);
    void finish() {}

   private:
    const SparseShard& shard_;
    Matrix& hessian_;
  };

 private:
  static constexpr Index block = 128;  ///< rows whose margins stay in the first-level cache

  template <class Values>
  void multiply_by(const Rows& rows, const double* x, double* margins, Values values) const;
  template <class Values>
  void add_combination_by(const Rows& rows, const double* weights, double* sum,
                          Values values) const;
  template <class Values>
  void add_squares(const Rows& rows, const double* second_derivatives, Matrix& hessian,
                   Values values) const;

  /// The non-zeros of one row, columns ascending.
  struct Row {
    const std::int32_t* columns;
    const double* values;
    Index count;
  };
  Row row(Index index) const {
    const Index at = listed_.empty() ? index : static_cast<Index>(listed_[index]);
    const Index begin = view_.offsets[at];
    return {view_.indices + begin, view_.values + begin, view_.offsets[at + 1] - begin};
  }
  void look_at_rows();
  void prefetch_after(const Rows& rows, Index n) const;

  SparseRows owned_;                   ///< empty: the rows are the caller's
  CsrView view_;                       ///< of the owned rows, or of the caller's
  std::vector<std::uint32_t> listed_;  ///< rows of the view; empty: all
  Index samples_ = 0, dimension_ = 0;
  bool constant_ = false;  ///< the last column is one, and stored nowhere
  /// By blocks: its rows from short to long. Rows of one length follow each other, and the
  /// processor guesses right where they end: a third less time on w8a.
  std::vector<std::uint8_t> order_;
  bool ones_ = false;  ///< all that is not zero is one: values need not be read
};

}  // namespace grove
