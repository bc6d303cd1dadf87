#pragma once

#include <vector>

#include "grove/base/types.h"
#include "grove/data/samples.h"
#include "grove/problem/objective.h"

/// The inner loops over sparse rows, in time proportional to the non-zeros (their squares, row by
/// row, for a Hessian). The file to replace for speed.
namespace grove::sparse {

/// The non-zeros of one row, columns ascending. Needs a compressed matrix.
struct Row {
  const std::int32_t* columns;
  const double* values;
  Index count;

  double dot(const Vector& x) const {
    double sum = 0;
    for (Index k = 0; k < count; ++k) sum += values[k] * x[columns[k]];
    return sum;
  }

  void add_to(Vector& sum, double weight) const {
    for (Index k = 0; k < count; ++k) sum[columns[k]] += weight * values[k];
  }

  /// Lower triangle of sum += weight * row' row.
  void add_square_to(Matrix& sum, double weight) const {
    for (Index k = 0; k < count; ++k) {
      double* column = sum.col(columns[k]).data();
      const double weighted = weight * values[k];
      for (Index j = k; j < count; ++j) column[columns[j]] += weighted * values[j];
    }
  }
};

inline Row row_at(const SparseRows& rows, Index index) {
  const Index begin = rows.outerIndexPtr()[index];
  return {rows.innerIndexPtr() + begin, rows.valuePtr() + begin,
          rows.outerIndexPtr()[index + 1] - begin};
}

template <class Visit>
void for_each_row(const SparseRows& rows, Batch batch, const Visit& visit) {
  if (batch.whole()) {
    for (Index index = 0; index < rows.rows(); ++index) visit(index, row_at(rows, index));
  } else {
    for (const std::uint32_t index : batch.rows()) visit(Index{index}, row_at(rows, index));
  }
}

}  // namespace grove::sparse

namespace grove {

/// Returns the sum of the losses over the batch; adds the sums of the gradients and of the Hessians
/// (lower triangle) to what is not null.
template <class LossType>
double add_losses(const LossType& loss, const SparseRows& rows, const Vector& targets, Batch batch,
                  const Vector& x, Vector* gradient, Matrix* hessian, std::vector<double>&) {
  double total = 0;
  sparse::for_each_row(rows, batch, [&](Index index, const sparse::Row& row) {
    const LossPoint point = loss.at(row.dot(x), targets[index]);
    total += point.value;
    if (gradient) row.add_to(*gradient, point.slope);
    if (hessian) row.add_square_to(*hessian, point.curvature);
  });
  return total;
}

/// result += (sum over the batch of the Hessians at x) * direction.
template <class LossType>
void add_curvature_times(const LossType& loss, const SparseRows& rows, const Vector& targets,
                         Batch batch, const Vector& x, const Vector& direction, Vector& result,
                         std::vector<double>&) {
  sparse::for_each_row(rows, batch, [&](Index index, const sparse::Row& row) {
    const double curvature = loss.at(row.dot(x), targets[index]).curvature;
    row.add_to(result, curvature * row.dot(direction));
  });
}

}  // namespace grove
