#include "grove/coupling/curvature.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include <Eigen/Eigenvalues>

#include "grove/problem/symmetric.h"

namespace grove {
namespace {

std::size_t size_of(Index count) { return static_cast<std::size_t>(count); }

/// No longer than 1, but for rounding: longer ones would stand for larger eigenvalues than told.
bool unit_columns(std::span<const float> numbers, Index rows) {
  const Eigen::Map<const Eigen::MatrixXf> columns(numbers.data(), rows,
                                                  static_cast<Index>(numbers.size()) / rows);
  return (columns.cast<double>().colwise().squaredNorm().array() <= 1.01).all();
}

/// What numbers of a curvature may be: what single precision holds to six digits and more, with
/// room for a sum.
constexpr float smallest_number = 1e-39f, largest_number = 1e37f;

float within_range(double number) {
  return static_cast<float>(std::clamp<double>(number, smallest_number, 0.99 * largest_number));
}

/// Factors of rows and columns that bring the diagonal, and with it all of a positive definite
/// matrix, into the range. Features of 1e-19 and less, or 1e18 and more, need them: their links
/// weigh more or less than their curvature asks for then, which costs rounds, not exactness.
Vector factors_into_range(const Matrix& matrix) {
  return matrix.diagonal().unaryExpr([](double number) {
    if (smallest_number <= number && number < 0.99 * largest_number) return 1.0;
    return number > 0 ? std::sqrt(double{within_range(number)} / number) : 1.0;
  });
}

}  // namespace

std::size_t CurvatureForm::floats(Index dimension) const {
  switch (shape) {
    case CurvatureShape::scalar:
      return 1;
    case CurvatureShape::diagonal:
      return size_of(dimension);
    case CurvatureShape::low_rank:
      return size_of(1 + rank + rank * dimension);
    case CurvatureShape::full:
      break;
  }
  return size_of(dimension * (dimension + 1) / 2);
}

Curvature::Curvature(CurvatureForm form, const Matrix& matrix)
    : form_(form), dimension_(matrix.rows()), numbers_(2 * form.words(matrix.rows()), 0.0f) {
  float* out = numbers_.data();
  switch (form_.shape) {
    case CurvatureShape::scalar:
      out[0] = within_range(matrix.diagonal().mean());
      break;
    case CurvatureShape::diagonal:
      for (Index k = 0; k < dimension_; ++k) out[k] = within_range(matrix(k, k));
      break;
    case CurvatureShape::low_rank:
      set_low_rank(matrix);
      break;
    case CurvatureShape::full:
      set_full(matrix);
      break;
  }
}

void Curvature::set_full(const Matrix& matrix) {
  const Vector factors = factors_into_range(matrix);
  float* out = numbers_.data();
  for (Index column = 0; column < dimension_; ++column)
    for (Index row = column; row < dimension_; ++row)
      *out++ = static_cast<float>(factors[row] * matrix(row, column) * factors[column]);
}

/// The largest eigenpairs; the rest of the spectrum becomes its geometric mean.
void Curvature::set_low_rank(const Matrix& matrix) {
  const Index rank = form_.rank, rest = dimension_ - rank;
  assert(0 < rank && rank <= dimension_);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(matrix);  // increasing eigenvalues
  const double base = rest > 0 ? std::exp(eigen.eigenvalues().head(rest).array().log().mean())
                               : eigen.eigenvalues()[0];
  float* out = numbers_.data();
  *out++ = within_range(base);
  for (Index k = 0; k < rank; ++k) *out++ = within_range(eigen.eigenvalues()[rest + k]);
  for (Index k = 0; k < rank; ++k)
    for (Index row = 0; row < dimension_; ++row)
      *out++ = static_cast<float>(eigen.eigenvectors()(row, rest + k));
}

std::optional<Curvature> Curvature::from_words(CurvatureForm form, Index dimension,
                                               std::span<const double> words) {
  if (words.size() != form.words(dimension)) return std::nullopt;
  Curvature result;
  result.form_ = form;
  result.dimension_ = dimension;
  result.numbers_.resize(2 * words.size());
  std::memcpy(result.numbers_.data(), words.data(), words.size_bytes());  // bits, not numbers
  return result;
}

Curvature Curvature::mean_of(const Curvature& a, const Curvature& b) {
  if (a.form_.shape == CurvatureShape::low_rank) return {};
  Curvature result = a;
  for (std::size_t k = 0; k < a.numbers_.size(); ++k)
    result.numbers_[k] = 0.5f * a.numbers_[k] + 0.5f * b.numbers_[k];
  return result;
}

void Curvature::append_words(std::vector<double>& words) const {
  if (!known()) return;
  const std::size_t before = words.size();
  words.resize(before + numbers_.size() / 2);
  std::memcpy(words.data() + before, numbers_.data(), numbers_.size() * sizeof(float));
}

/// Rounding to single precision cannot make an honest curvature fail: scaled to a diagonal of ones
/// it is off by at most 6e-8 d, and the floor of 1e-3 of the diagonal is more up to 16,000
/// coefficients.
bool Curvature::sound(CurvatureForm form, Index dimension, std::span<const float> numbers) {
  if (!std::ranges::all_of(numbers,
                           [](float number) { return std::abs(number) <= largest_number; }))
    return false;  // also of NaN
  switch (form.shape) {
    case CurvatureShape::scalar:
    case CurvatureShape::diagonal:
      return std::ranges::all_of(numbers, [](float number) { return number > 0; });
    case CurvatureShape::low_rank:
      // A positive multiple of I and positive semidefinite terms.
      return numbers[0] > 0 &&
             std::ranges::all_of(numbers.subspan(1, size_of(form.rank)),
                                 [&](float l) { return l >= numbers[0]; }) &&
             unit_columns(numbers.subspan(size_of(1 + form.rank)), dimension);
    case CurvatureShape::full:
      break;
  }
  Matrix lower = Matrix::Zero(dimension, dimension);
  const float* number = numbers.data();
  for (Index column = 0; column < dimension; ++column)
    for (Index row = column; row < dimension; ++row)
      lower(row, column) = static_cast<double>(*number++);
  return factorize_cholesky(lower);
}

void Curvature::add_product(double factor, const Vector& v, Vector& result) const {
  const float* number = numbers_.data();
  switch (form_.shape) {
    case CurvatureShape::scalar:
      result += (factor * static_cast<double>(number[0])) * v;
      break;
    case CurvatureShape::diagonal:
      for (Index k = 0; k < dimension_; ++k)
        result[k] += factor * static_cast<double>(number[k]) * v[k];
      break;
    case CurvatureShape::low_rank: {
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
    case CurvatureShape::full:
      add_packed_product(numbers_, factor, v, result);
      break;
  }
}

void Curvature::add_products(const std::array<const Vector*, 2>& vs,
                             const std::array<Vector*, 2>& results) const {
  if (form_.shape == CurvatureShape::full) return add_packed_products(numbers_, vs, results);
  for (std::size_t k = 0; k < vs.size(); ++k) add_product(1, *vs[k], *results[k]);
}

void Curvature::add_to(double factor, Matrix& lower) const {
  const float* number = numbers_.data();
  switch (form_.shape) {
    case CurvatureShape::scalar:
      lower.diagonal().array() += factor * static_cast<double>(number[0]);
      break;
    case CurvatureShape::diagonal:
      for (Index k = 0; k < dimension_; ++k) lower(k, k) += factor * static_cast<double>(number[k]);
      break;
    case CurvatureShape::low_rank: {
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
    case CurvatureShape::full:
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
