#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// The inner loops over samples and over stored matrices, on plain memory, in one variant per
/// instruction set. All run on the caller's thread, allocate nothing and add in an order fixed by
/// the sizes alone.
namespace grove::kernels {

using Index = std::ptrdiff_t;

/// Dense rows and vectors are padded with zeros to a multiple of this many numbers, so that no
/// kernel has to treat the end of a row apart.
inline constexpr Index row_multiple = 4;

inline constexpr Index padded(Index length) {
  return (length + row_multiple - 1) / row_multiple * row_multiple;
}

/// Some rows of a dense shard.
struct Rows {
  const double* data;
  Index stride;                 ///< numbers from one row to the next: padded(features)
  const std::uint32_t* listed;  ///< which rows; null: the first `count`
  Index count;

  const double* row(Index k) const {
    return data + stride * (listed ? static_cast<Index>(listed[k]) : k);
  }
};

/// A loss over `count` samples: margins and targets in, first and second derivatives out.
struct LossBlock {
  Index count;
  const double* margins;
  const double* targets;
  double* slopes;
  double* second_derivatives;
  const double* weights = nullptr;  ///< multiply value and derivatives of each sample; null: 1
};

/// One variant of every kernel.
struct Kernels {
  const char* name;

  /// The losses of problem/loss.h: each returns the sum of the values.
  double (*logistic)(const LossBlock& block);
  double (*squared)(const LossBlock& block);
  double (*huber)(double delta, const LossBlock& block);
  double (*poisson)(const LossBlock& block);
  double (*gamma)(const LossBlock& block);
  double (*negative_binomial)(double theta, const LossBlock& block);
  double (*squared_hinge)(const LossBlock& block);

  /// margins[k] = row k times x (padded).
  void (*multiply)(const Rows& rows, const double* x, double* margins);

  /// sum (padded) += sum_k weights[k] row k.
  void (*add_combination)(const Rows& rows, const double* weights, double* sum);

  /// Writes sqrt(second_derivatives[k]) row k into rows [first, first + count) of a panel block,
  /// which has room for panel_rows * stride numbers.
  void (*scale_into_panels)(const Rows& rows, const double* second_derivatives, Index first,
                            double* panels);

  /// Lower triangle of hessian (dimension x dimension, column after column) += S'S for the first
  /// `count` rows S of a panel block. Writes some entries above the diagonal too, with the numbers
  /// that belong there. Fetches `upcoming` into the cache meanwhile.
  void (*add_gram)(const double* panels, Index count, Index dimension, double* hessian,
                   std::span<const double> upcoming);

  /// result += (factor) A x for a symmetric A whose lower triangle is read: column after
  /// column, `stride` numbers apart, or packed, each column from its diagonal on, in single
  /// precision.
  void (*add_symmetric)(const double* matrix, Index stride, Index dimension, const double* x,
                        double* result);
  void (*add_symmetric_packed)(const float* matrix, Index dimension, double factor, const double* x,
                               double* result);

  /// results[k] += A xs[k] for two vectors, A packed: read once for both. Either gets the same
  /// bits.
  void (*add_symmetric_packed_twice)(const float* matrix, Index dimension, const double* const* xs,
                                     double* const* results);

  /// result += factor column, of that many numbers.
  void (*add_column)(const double* column, Index dimension, double factor, double* result);

  /// The lower triangle becomes its Cholesky factor L; what stands above is lost. False where a
  /// pivot is not positive, the matrix being spoilt then.
  bool (*cholesky)(double* matrix, Index stride, Index dimension);

  /// vector = L^{-1} vector, and L'^{-1} vector.
  void (*solve_lower)(const double* factor, Index stride, Index dimension, double* vector);
  void (*solve_upper)(const double* factor, Index stride, Index dimension, double* vector);
};

/// Rows a panel block holds. 128 rows of one panel are 12 kB: two of them, the sides of a tile, fit
/// a 32 kB cache.
inline constexpr Index panel_rows = 128;

/// Plain C++ vectors of two numbers: every processor.
const Kernels& portable();

/// What this machine can run, the fastest first; the last is portable().
std::span<const Kernels* const> available();

}  // namespace grove::kernels
