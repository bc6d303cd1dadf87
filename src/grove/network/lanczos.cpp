#include "grove/network/lanczos.h"

#include <optional>

#include <Eigen/SparseCholesky>

#include "grove/base/eigenvalues.h"

namespace grove {
namespace {

using Factorization = Eigen::SimplicialLDLT<SparseMatrix>;

constexpr Index inverse_restarts = 1000;
constexpr LanczosOptions plain{.restarts = 25};
constexpr LanczosOptions inverse{.restarts = inverse_restarts};

/// Gershgorin: at least the largest eigenvalue.
double norm_bound(const SparseMatrix& matrix) {
  return (matrix.cwiseAbs() * Vector::Ones(matrix.cols())).maxCoeff();
}

/// `solve` applies the inverse of a positive definite map. Should Lanczos fail, 0: a bound that is
/// always safe.
double smallest_by_inverse(Index size, const SymmetricMap& solve) {
  const auto largest = extreme_eigenvalue(size, solve, SpectrumEnd::largest, inverse);
  return largest ? 1 / *largest : 0;
}

/// Distance from `shift` down to the largest eigenvalue, or nothing: the shift is not above it.
std::optional<double> distance_below(double shift, const SparseMatrix& matrix,
                                     Factorization& factorization) {
  SparseMatrix shifted = -matrix;
  shifted.diagonal().array() += shift;
  factorization.factorize(shifted);
  const bool positive_definite = factorization.info() == Eigen::Success &&
                                 factorization.vectorD().minCoeff() > 0;  // Sylvester's inertia
  if (!positive_definite) return std::nullopt;
  return smallest_by_inverse(matrix.rows(),
                             [&](const Vector& x, Vector& y) { y = factorization.solve(x); });
}

}  // namespace

double largest_eigenvalue(const SparseMatrix& matrix) {
  const double norm = norm_bound(matrix);
  const SymmetricMap scaled = [&](const Vector& x, Vector& y) { y = matrix * x / norm; };
  if (const auto found = extreme_eigenvalue(matrix.rows(), scaled, SpectrumEnd::largest, plain))
    return norm * *found;
  // From a rough value below it, the first shift above the eigenvalue that is found is also near.
  const double below = norm * extreme_eigenvalue(matrix.rows(), scaled, SpectrumEnd::largest,
                                                 {.restarts = inverse_restarts, .accuracy = 1e-3})
                                  .value_or(matrix.diagonal().maxCoeff() / norm);
  Factorization factorization;
  factorization.analyzePattern(matrix);
  for (double excess = 1e-8;; excess *= 10) {
    const double shift = below * (1 + excess);
    if (const auto distance = distance_below(shift, matrix, factorization))
      return shift - *distance;
  }
}

double smallest_eigenvalue(const SparseMatrix& positive_definite) {
  const double norm = norm_bound(positive_definite);
  const SymmetricMap scaled = [&](const Vector& x, Vector& y) { y = positive_definite * x / norm; };
  if (const auto found =
          extreme_eigenvalue(positive_definite.rows(), scaled, SpectrumEnd::smallest, plain))
    return norm * *found;
  const Factorization factorization(positive_definite);
  return smallest_by_inverse(positive_definite.rows(),
                             [&](const Vector& x, Vector& y) { y = factorization.solve(x); });
}

double second_smallest_eigenvalue(const SparseMatrix& laplacian) {
  const Index size = laplacian.rows();
  const double norm = norm_bound(laplacian);
  // The constant vector's eigenvalue is moved from 0 to the bound, out of the way.
  const SymmetricMap deflated = [&](const Vector& x, Vector& y) {
    y = laplacian * x / norm;
    y.array() += x.mean();
  };
  if (const auto found = extreme_eigenvalue(size, deflated, SpectrumEnd::smallest, plain))
    return norm * *found;
  // The pseudo-inverse: fix one agent at zero (the rest is positive definite), then centre.
  const Factorization grounded(laplacian.bottomRightCorner(size - 1, size - 1));
  return smallest_by_inverse(size, [&](const Vector& x, Vector& y) {
    y[0] = 0;
    y.tail(size - 1) = grounded.solve((x.tail(size - 1).array() - x.mean()).matrix());
    y.array() -= y.mean();
  });
}

}  // namespace grove
