#include "grove/network/lanczos.h"

#include <algorithm>
#include <optional>

#include <Spectra/SymEigsSolver.h>
#include <Eigen/SparseCholesky>

namespace grove {
namespace {

using Factorization = Eigen::SimplicialLDLT<SparseMatrix>;
using Spectra::SortRule;

constexpr double tolerance = 1e-11;  ///< residual relative to the eigenvalue
constexpr Index plain_restarts = 25;
constexpr Index inverse_restarts = 1000;

/// A symmetric linear map, given by what it does to a vector: what Spectra asks for.
template <class Apply>
class Operator {
 public:
  using Scalar = double;

  Operator(Index size, Apply apply) : size_(size), apply_(std::move(apply)) {}
  Index rows() const { return size_; }
  Index cols() const { return size_; }
  void perform_op(const double* in, double* out) const {
    Eigen::Map<Vector>(out, size_) = apply_(Eigen::Map<const Vector>(in, size_));
  }

 private:
  Index size_;
  Apply apply_;
};

/// Gershgorin: at least the largest eigenvalue. Spectra tells rounding errors from residuals only
/// where the operator's norm is about one.
double norm_bound(const SparseMatrix& matrix) {
  return (matrix.cwiseAbs() * Vector::Ones(matrix.cols())).maxCoeff();
}

/// The eigenvalue at the wanted end of the spectrum, or nothing after too many restarts.
template <class Apply>
std::optional<double> lanczos(Index size, Apply apply, SortRule end, double accuracy,
                              Index max_restarts) {
  Operator<Apply> op(size, std::move(apply));
  Spectra::SymEigsSolver<Operator<Apply>> solver(op, 1, std::min<Index>(size, 30));
  solver.init();
  solver.compute(end, max_restarts, accuracy);
  if (solver.info() != Spectra::CompInfo::Successful) return std::nullopt;
  return solver.eigenvalues()[0];
}

/// `solve` applies the inverse of a positive definite map. Should Lanczos fail, 0: a bound that is
/// always safe.
template <class Solve>
double smallest_by_inverse(Index size, Solve solve) {
  const auto largest = lanczos(size, solve, SortRule::LargestAlge, tolerance, inverse_restarts);
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
                             [&](const auto& x) { return factorization.solve(x).eval(); });
}

}  // namespace

double largest_eigenvalue(const SparseMatrix& matrix) {
  const double norm = norm_bound(matrix);
  const auto apply = [&](const auto& x) { return Vector(matrix * x / norm); };
  if (const auto found =
          lanczos(matrix.rows(), apply, SortRule::LargestAlge, tolerance, plain_restarts))
    return norm * *found;
  // From a rough value below it, the first shift above the eigenvalue that is found is also near.
  const double below =
      norm * lanczos(matrix.rows(), apply, SortRule::LargestAlge, 1e-3, inverse_restarts)
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
  const auto apply = [&](const auto& x) { return Vector(positive_definite * x / norm); };
  if (const auto found = lanczos(positive_definite.rows(), apply, SortRule::SmallestAlge, tolerance,
                                 plain_restarts))
    return norm * *found;
  const Factorization factorization(positive_definite);
  return smallest_by_inverse(positive_definite.rows(),
                             [&](const auto& x) { return factorization.solve(x).eval(); });
}

double second_smallest_eigenvalue(const SparseMatrix& laplacian) {
  const Index size = laplacian.rows();
  const double norm = norm_bound(laplacian);
  // The constant vector's eigenvalue is moved from 0 to the bound, out of the way.
  const auto deflated = [&](const auto& x) {
    Vector y = laplacian * x / norm;
    y.array() += x.mean();
    return y;
  };
  if (const auto found = lanczos(size, deflated, SortRule::SmallestAlge, tolerance, plain_restarts))
    return norm * *found;
  // The pseudo-inverse: fix one agent at zero (the rest is positive definite), then centre.
  const Factorization grounded(laplacian.bottomRightCorner(size - 1, size - 1));
  return smallest_by_inverse(size, [&](const auto& x) {
    Vector y(size);
    y[0] = 0;
    y.tail(size - 1) = grounded.solve((x.tail(size - 1).array() - x.mean()).matrix());
    y.array() -= y.mean();
    return y;
  });
}

}  // namespace grove
