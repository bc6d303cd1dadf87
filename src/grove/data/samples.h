#pragma once

#include <array>
#include <string>
#include <variant>
#include <vector>

#include <Eigen/SparseCore>

#include "grove/base/types.h"

namespace grove {

using DenseRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Compressed rows. Eigen 3.4 copies a sparse matrix that is moved; a data set is too large for
/// that.
class SparseRows final : public Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t> {
 public:
  using SparseMatrix::SparseMatrix;
  SparseRows() = default;
  SparseRows(const SparseRows&) = default;
  SparseRows(SparseRows&& other) noexcept { swap(other); }
  SparseRows& operator=(const SparseRows&) = default;
  SparseRows& operator=(SparseRows&& other) noexcept {
    swap(other);
    return *this;
  }
  ~SparseRows() = default;
};

/// One sample per row. Sparse data stays sparse.
using Features = std::variant<DenseRows, SparseRows>;

/// Samples as an agent or a reader holds them: features and the targets in the same order.
struct Samples {
  Features features;
  Vector targets;  ///< 0 or 1 for classification, any number for regression

  Index count() const { return targets.size(); }
  Index dimension() const {
    return std::visit([](const auto& rows) { return Index{rows.cols()}; }, features);
  }
};

/// Calls visit(column, value) for every non-zero of a row, by increasing column.
template <class Visit>
void for_each_nonzero(const Samples& samples, Index row, Visit&& visit) {
  if (const auto* sparse = std::get_if<SparseRows>(&samples.features)) {
    for (SparseRows::InnerIterator entry(*sparse, row); entry; ++entry)
      visit(Index{entry.col()}, entry.value());
    return;
  }
  const auto& dense = std::get<DenseRows>(samples.features);
  for (Index column = 0; column < dense.cols(); ++column)
    if (dense(row, column) != 0) visit(column, dense(row, column));
}

/// Multiplies rows that are longer than the bound, in Euclidean norm, so that they are not.
void shorten_rows(Samples& samples, double bound);

/// How the two class labels of a file became 0 and 1.
struct LabelNames {
  double negative = 0;  ///< the label that is 0 inside: the smaller of the two
  double positive = 1;
  std::array<std::string, 2> texts = {};  ///< as the file has them, where they are not numbers

  bool are_texts() const { return texts[0] != texts[1]; }
};

/// What the columns of a CSV file are called.
struct ColumnNames {
  std::vector<std::string> features;  ///< in the order of the coefficients
  std::string label;                  ///< empty: the file has no labels

  bool operator==(const ColumnNames&) const = default;
};

}  // namespace grove
