#include "grove/coupling/link_weight.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "grove/coupling/largest_eigenpairs.h"
#include "grove/coupling/sparse_weight.h"
#include "grove/problem/symmetric.h"

namespace grove {
namespace {

std::size_t size_of(Index count) { return static_cast<std::size_t>(count); }

/// Eigenvectors have length 1 up to rounding; longer ones would mean larger eigenvalues.
bool unit_columns(std::span<const float> numbers, Index rows) {
  const Eigen::Map<const Eigen::MatrixXf> columns(numbers.data(), rows,
                                                  static_cast<Index>(numbers.size()) / rows);
  return (columns.cast<double>().colwise().squaredNorm().array() <= 1.01).all();
}

/// Range of the numbers of a weight: single precision holds them to six digits, and their sums do
/// not overflow.
constexpr float smallest_number = 1e-39f, largest_number = 1e37f;

float within_range(double number) {
  return static_cast<float>(std::clamp<double>(number, smallest_number, 0.99 * largest_number));
}

/// Factors of rows and columns that bring the diagonal, and with it a whole positive definite
/// matrix, into the range. Features below 1e-19 or above 1e18 need them. The weights of their links
/// then differ from their Hessians, which costs rounds but not exactness.
Vector factors_into_range(const Matrix& matrix) {
  return matrix.diagonal().unaryExpr([](double number) {
    if (smallest_number <= number && number < 0.99 * largest_number) return 1.0;
    return number > 0 ? std::sqrt(double{within_range(number)} / number) : 1.0;
  });
}

}  // namespace

std::size_t LinkWeightForm::numbers(Index dimension) const {
  switch (shape) {
    case LinkWeightShape::scalar:
      return 1;
    case LinkWeightShape::diagonal:
      return size_of(dimension);
    case LinkWeightShape::low_rank:
      return size_of(1 + rank + rank * dimension);
    case LinkWeightShape::sparse: {
      const std::size_t support = SparseWeight::largest_support(dimension);
      return 1 + size_of(dimension) / sizeof(float) + 1 + support + support * (support + 1) / 2;
    }
    case LinkWeightShape::full:
      break;
  }
  return size_of(dimension * (dimension + 1) / 2);
}

LinkWeight::LinkWeight(LinkWeightForm form, const Matrix& matrix)
    : form_(form), dimension_(matrix.rows()), numbers_(form.numbers(matrix.rows())) {
  float* out = numbers_.data();
  switch (form_.shape) {
    case LinkWeightShape::scalar:
      out[0] = within_range(matrix.diagonal().mean());
      break;
    case LinkWeightShape::diagonal:
      for (Index k = 0; k < dimension_; ++k) out[k] = within_range(matrix(k, k));
      break;
    case LinkWeightShape::low_rank:
      set_low_rank(matrix);
      break;
    case LinkWeightShape::sparse:
    case LinkWeightShape::full:
      set_full(matrix);
      break;
  }
}

void LinkWeight::set_full(const Matrix& matrix) {
  const Vector factors = factors_into_range(matrix);
  float* out = numbers_.data();
  for (Index column = 0; column < dimension_; ++column)
    for (Index row = column; row < dimension_; ++row)
      *out++ = static_cast<float>(factors[row] * matrix(row, column) * factors[column]);
}

/// Logarithm of the determinant; not a number where the matrix is not positive definite.
double log_determinant(Matrix lower) {
  if (!factorize_cholesky(lower)) return std::nan("");
  return 2 * lower.diagonal().array().log().sum();
}

/// Keeps the largest eigenpairs and replaces the rest of the spectrum by its geometric mean.
void LinkWeight::set_low_rank(const Matrix& matrix) {
  const Index rank = form_.rank, rest = dimension_ - rank;
  assert(0 < rank && rank <= dimension_);
  const Eigenpairs kept = largest_eigenpairs(matrix, rank);
  double base = kept.values[0];
  if (rest > 0) {
    const double others = log_determinant(matrix) - kept.values.array().log().sum();
    if (const double mean = std::exp(others / static_cast<double>(rest)); mean < base) base = mean;
  }
  float* out = numbers_.data();
  *out++ = within_range(base);
  for (Index k = 0; k < rank; ++k) *out++ = within_range(kept.values[k]);
  for (Index k = 0; k < rank; ++k)
    for (Index row = 0; row < dimension_; ++row) *out++ = static_cast<float>(kept.vectors(row, k));
}

std::optional<LinkWeight> LinkWeight::from_numbers(LinkWeightForm form, Index dimension,
                                                   std::span<const float> numbers) {
  if (numbers.size() != form.numbers(dimension)) return std::nullopt;
  LinkWeight result;
  result.form_ = form;
  result.dimension_ = dimension;
  result.numbers_.assign(numbers.begin(), numbers.end());
  return result;
}

LinkWeight LinkWeight::mean_of(const LinkWeight& a, const LinkWeight& b) {
  if (a.form_.shape == LinkWeightShape::low_rank) return {};
  LinkWeight result = a;
  for (std::size_t k = 0; k < a.numbers_.size(); ++k)
    result.numbers_[k] = 0.5f * a.numbers_[k] + 0.5f * b.numbers_[k];
  return result;
}

/// Rounding to single precision does not make a correct weight fail: scaled to a unit diagonal the
/// rounding error is at most 6e-8 d, and the ridge of 1e-3 of the diagonal exceeds that for up to
/// 16,000 coefficients.
bool LinkWeight::is_positive_definite(LinkWeightForm form, Index dimension,
                                      std::span<const float> numbers) {
  if (!std::ranges::all_of(numbers,
                           [](float number) { return std::abs(number) <= largest_number; }))
    return false;  // also of NaN
  switch (form.shape) {
    case LinkWeightShape::scalar:
    case LinkWeightShape::diagonal:
      return std::ranges::all_of(numbers, [](float number) { return number > 0; });
    case LinkWeightShape::low_rank:
      // A positive multiple of I and positive semidefinite terms.
      return numbers[0] > 0 &&
             std::ranges::all_of(numbers.subspan(1, size_of(form.rank)),
                                 [&](float l) { return l >= numbers[0]; }) &&
             unit_columns(numbers.subspan(size_of(1 + form.rank)), dimension);
    case LinkWeightShape::sparse:
    case LinkWeightShape::full:
      break;
  }
  Matrix lower = Matrix::Zero(dimension, dimension);
  const float* number = numbers.data();
  for (Index column = 0; column < dimension; ++column)
    for (Index row = column; row < dimension; ++row)
      lower(row, column) = static_cast<double>(*number++);
  return factorize_cholesky(lower);
}

double LinkWeight::mean_diagonal(LinkWeightForm form, Index dimension,
                                 std::span<const float> numbers) {
  const auto size = static_cast<double>(dimension);
  double sum = 0;
  switch (form.shape) {
    case LinkWeightShape::scalar:
      return numbers[0];
    case LinkWeightShape::diagonal:
      return std::accumulate(numbers.begin(), numbers.end(), 0.0) / size;
    case LinkWeightShape::low_rank:  // the vectors have length 1
      for (const float l : numbers.subspan(1, size_of(form.rank))) sum += l - numbers[0];
      return numbers[0] + sum / size;
    case LinkWeightShape::sparse:
    case LinkWeightShape::full:
      break;
  }
  const float* number = numbers.data();
  for (Index column = 0; column < dimension; number += dimension - column++) sum += *number;
  return sum / size;
}

void LinkWeight::add_product(double factor, const Vector& v, Vector& result) const {
  const float* number = numbers_.data();
  switch (form_.shape) {
    case LinkWeightShape::scalar:
      result += (factor * static_cast<double>(number[0])) * v;
      break;
    case LinkWeightShape::diagonal:
      for (Index k = 0; k < dimension_; ++k)
        result[k] += factor * static_cast<double>(number[k]) * v[k];
      break;
    case LinkWeightShape::low_rank: {
      const double base = static_cast<double>(number[0]);
      const float* vectors = number + 1 + form_.rank;
      result += (factor * base) * v;
      for (Index k = 0; k < form_.rank; ++k) {
        const auto axis =
            Eigen::Map<const Eigen::VectorXf>(vectors + k * dimension_, dimension_).cast<double>();
        const double along = axis.dot(v);
        result += (factor * (static_cast<double>(number[1 + k]) - base) * along) * axis;
      }
      break;
    }
    case LinkWeightShape::sparse:
    case LinkWeightShape::full:
      add_packed_product(numbers_, factor, v, result);
      break;
  }
}

void LinkWeight::add_products(const std::array<const Vector*, 2>& vs,
                              const std::array<Vector*, 2>& results) const {
  if (form_.shape == LinkWeightShape::full) return add_packed_products(numbers_, vs, results);
  for (std::size_t k = 0; k < vs.size(); ++k) add_product(1, *vs[k], *results[k]);
}

void LinkWeight::add_to_diagonal(double factor, Vector& diagonal) const {
  assert(form_.shape == LinkWeightShape::scalar || form_.shape == LinkWeightShape::diagonal);
  if (form_.shape == LinkWeightShape::scalar)
    diagonal.array() += factor * static_cast<double>(numbers_[0]);
  else
    diagonal +=
        factor * Eigen::Map<const Eigen::VectorXf>(numbers_.data(), dimension_).cast<double>();
}

void LinkWeight::add_to(double factor, Matrix& lower) const {
  const float* number = numbers_.data();
  switch (form_.shape) {
    case LinkWeightShape::scalar:
      lower.diagonal().array() += factor * static_cast<double>(number[0]);
      break;
    case LinkWeightShape::diagonal:
      for (Index k = 0; k < dimension_; ++k) lower(k, k) += factor * static_cast<double>(number[k]);
      break;
    case LinkWeightShape::low_rank: {
      const double base = static_cast<double>(number[0]);
      const float* vectors = number + 1 + form_.rank;
      lower.diagonal().array() += factor * base;
      for (Index k = 0; k < form_.rank; ++k) {
        const Vector axis =
            Eigen::Map<const Eigen::VectorXf>(vectors + k * dimension_, dimension_).cast<double>();
        lower += (factor * (static_cast<double>(number[1 + k]) - base) * axis) * axis.transpose();
      }
      break;
    }
    case LinkWeightShape::sparse:
    case LinkWeightShape::full:
      for (Index column = 0; column < dimension_; ++column) {
        const Index count = dimension_ - column;
        lower.col(column).tail(count) +=
            factor * Eigen::Map<const Eigen::VectorXf>(number, count).cast<double>();
        number += count;
      }
      break;
  }
}

}  // namespace grove
