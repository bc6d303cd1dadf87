#include "grove/problem/sparse_shard.h"

#include <utility>

namespace grove {
namespace {

SparseRows with_constant_column(const SparseRows& rows) {
  SparseRows extended(rows.rows(), rows.cols() + 1);
  extended.reserve(rows.nonZeros() + rows.rows());
  for (Index row = 0; row < rows.rows(); ++row) {
    extended.startVec(row);
    for (SparseRows::InnerIterator entry(rows, row); entry; ++entry)
      extended.insertBack(row, entry.col()) = entry.value();
    extended.insertBack(row, rows.cols()) = 1;
  }
  extended.finalize();
  return extended;
}

}  // namespace

SparseShard::SparseShard(SparseRows rows, bool intercept) {
  rows.makeCompressed();
  rows_ = intercept ? with_constant_column(rows) : std::move(rows);
}

void SparseShard::multiply(const Rows& rows, const double* x, double* margins) const {
  for (Index k = 0; k < rows.count; ++k) {
    const Row entries = row(rows.row(k));
    double even = 0, odd = 0;  // two sums: the next product need not wait for the last addition
    Index j = 0;
    for (; j + 1 < entries.count; j += 2) {
      even += entries.values[j] * x[entries.columns[j]];
      odd += entries.values[j + 1] * x[entries.columns[j + 1]];
    }
    if (j < entries.count) even += entries.values[j] * x[entries.columns[j]];
    margins[k] = even + odd;
  }
}

void SparseShard::add_combination(const Rows& rows, const double* weights, double* sum) const {
  for (Index k = 0; k < rows.count; ++k) {
    const Row entries = row(rows.row(k));
    for (Index j = 0; j < entries.count; ++j)
      sum[entries.columns[j]] += weights[k] * entries.values[j];
  }
}

void SparseShard::HessianSum::add(const Rows& rows, const double* curvatures) {
  for (Index k = 0; k < rows.count; ++k) {
    const Row entries = shard_.row(rows.row(k));
    for (Index left = 0; left < entries.count; ++left) {
      double* column = hessian_.col(entries.columns[left]).data();
      const double weighted = curvatures[k] * entries.values[left];
      for (Index j = left; j < entries.count; ++j)
        column[entries.columns[j]] += weighted * entries.values[j];
    }
  }
}

}  // namespace grove
