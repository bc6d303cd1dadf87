// Products, factors and solves of random symmetric matrices against plain loops in extended
// precision.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grove/base/random.h"
#include "grove/kernels/kernels.h"

namespace grove::kernels {
namespace {

using Real = long double;

constexpr double untouched = 7e77;

std::vector<double> numbers(Index count, std::uint64_t seed) {
  KeyedRandom random({.seed = seed, .purpose = Purpose::synthetic});
  std::vector<double> result(count);
  for (double& number : result) number = random.normal();
  return result;
}

/// Positive definite; the entries above the diagonal and the rows that the stride adds hold numbers
/// that must not matter.
struct Lower {
  Index dimension, stride;
  std::vector<double> entries;

  explicit Lower(Index size)
      : dimension(size), stride(size + 3), entries(stride * size, untouched) {
    const auto rows = numbers(size * size, static_cast<std::uint64_t>(size));
    for (Index c = 0; c < size; ++c)
      for (Index r = c; r < size; ++r) {
        Real sum = r == c ? 1 : 0;
        for (Index k = 0; k < size; ++k) sum += Real{rows[k * size + r]} * rows[k * size + c];
        at(r, c) = static_cast<double>(sum);
      }
  }
  double& at(Index row, Index column) { return entries[column * stride + row]; }
  double at(Index row, Index column) const { return entries[column * stride + row]; }
  double symmetric(Index row, Index column) const {
    return row < column ? at(column, row) : at(row, column);
  }
  std::vector<float> packed() const {
    std::vector<float> result;
    for (Index c = 0; c < dimension; ++c)
      for (Index r = c; r < dimension; ++r) result.push_back(static_cast<float>(at(r, c)));
    return result;
  }
};

/// Largest |got - (start + A x)|, or with A rounded to floats |got - (start - 3 A x)|, relative to
/// the sizes of what was added.
double error_of_product(const Lower& matrix, bool rounded, const std::vector<double>& x,
                        const std::vector<double>& start, const std::vector<double>& got) {
  Real worst = 0;
  for (Index r = 0; r < matrix.dimension; ++r) {
    Real want = start[r], size = std::abs(want);
    for (Index c = 0; c < matrix.dimension; ++c) {
      const double entry = matrix.symmetric(r, c);
      const Real term = (rounded ? Real{-3} * static_cast<float>(entry) : Real{entry}) * x[c];
      want += term;
      size += std::abs(term);
    }
    worst = std::max(worst, std::abs(got[r] - want) / size);
  }
  return static_cast<double>(worst);
}

/// Largest |A - L L'| relative to the diagonal.
double error_of_factor(const Lower& matrix, const Lower& factor) {
  Real worst = 0;
  for (Index c = 0; c < matrix.dimension; ++c)
    for (Index r = c; r < matrix.dimension; ++r) {
      Real sum = 0;
      for (Index k = 0; k <= c; ++k) sum += Real{factor.at(r, k)} * factor.at(c, k);
      const Real scale = std::sqrt(Real{matrix.at(r, r)} * matrix.at(c, c));
      worst = std::max(worst, std::abs(sum - matrix.at(r, c)) / scale);
    }
  return static_cast<double>(worst);
}

/// Largest |right - L y| or |right - L'y| relative to the sizes of what was added.
double error_of_solve(const Lower& factor, bool transposed, const std::vector<double>& right,
                      const std::vector<double>& y) {
  Real worst = 0;
  for (Index r = 0; r < factor.dimension; ++r) {
    Real sum = 0, size = std::abs(right[r]);
    for (Index c = 0; c < factor.dimension; ++c) {
      if (transposed ? c < r : c > r) continue;
      const Real term = Real{transposed ? factor.at(c, r) : factor.at(r, c)} * y[c];
      sum += term;
      size += std::abs(term);
    }
    worst = std::max(worst, std::abs(sum - right[r]) / size);
  }
  return static_cast<double>(worst);
}

class EachTriangleKernel : public testing::TestWithParam<const Kernels*> {};

INSTANTIATE_TEST_SUITE_P(, EachTriangleKernel, testing::ValuesIn(available()),
                         [](const auto& info) { return std::string(info.param->name); });

/// Calls visit with every rest of rows and columns, and more columns than are taken off at once.
template <class Visit>
void for_each_size(const Visit& visit) {
  for (Index size = 1; size < 160; size += size < 22 ? 1 : 43) visit(size);
}

TEST_P(EachTriangleKernel, AddsProductsOfTheLowerTriangle) {
  for_each_size([](Index size) {
    const Lower matrix(size);
    const auto x = numbers(size, 1), start = numbers(size, 2);
    auto result = start;
    GetParam()->add_symmetric(matrix.entries.data(), matrix.stride, size, x.data(), result.data());
    EXPECT_LT(error_of_product(matrix, false, x, start, result), 1e-14) << size;
    result = start;
    GetParam()->add_symmetric_packed(matrix.packed().data(), size, -3, x.data(), result.data());
    EXPECT_LT(error_of_product(matrix, true, x, start, result), 1e-14) << size;
  });
}

// The two ends of a link have the same two vectors, each in its own order.
TEST_P(EachTriangleKernel, AddsTwoProductsWithTheSameBitsInEitherOrder) {
  for_each_size([](Index size) {
    const Lower matrix(size);
    const auto packed = matrix.packed();
    const auto x = numbers(size, 1), y = numbers(size, 2), start = numbers(size, 3);
    auto scaled = x;
    for (double& number : scaled) number *= -3;
    auto of_x = start, of_y = start, again_x = start, again_y = start;
    const std::array<const double*, 2> xs{scaled.data(), y.data()}, turned{y.data(), scaled.data()};
    const std::array results{of_x.data(), of_y.data()},
        turned_results{again_y.data(), again_x.data()};
    GetParam()->add_symmetric_packed_twice(packed.data(), size, xs.data(), results.data());
    GetParam()->add_symmetric_packed_twice(packed.data(), size, turned.data(),
                                           turned_results.data());
    EXPECT_LT(error_of_product(matrix, true, x, start, of_x), 1e-14) << size;
    EXPECT_EQ(again_x, of_x) << size;
    EXPECT_EQ(again_y, of_y) << size;
  });
}

TEST_P(EachTriangleKernel, AddsAMultipleOfAColumn) {
  for_each_size([](Index size) {
    const auto column = numbers(size, 1), start = numbers(size, 2);
    auto result = start;
    result.push_back(untouched);
    GetParam()->add_column(column.data(), size, -3, result.data());
    for (Index k = 0; k < size; ++k)
      EXPECT_NEAR(result[k], start[k] - 3 * column[k],
                  1e-15 * (std::abs(start[k]) + 3 * std::abs(column[k])))
          << size;
    EXPECT_EQ(result[size], untouched) << size;
  });
}

TEST_P(EachTriangleKernel, FactorizesAndSolves) {
  for_each_size([](Index size) {
    const Lower matrix(size);
    Lower factor = matrix;
    ASSERT_TRUE(GetParam()->cholesky(factor.entries.data(), factor.stride, size)) << size;
    EXPECT_LT(error_of_factor(matrix, factor), 1e-14) << size;
    for (Index c = 0; c < size; ++c)
      for (Index r = size; r < factor.stride; ++r) ASSERT_EQ(factor.at(r, c), untouched) << size;
    const auto right = numbers(size, 3);
    auto solution = right;
    GetParam()->solve_lower(factor.entries.data(), factor.stride, size, solution.data());
    EXPECT_LT(error_of_solve(factor, false, right, solution), 1e-14) << size;
    solution = right;
    GetParam()->solve_upper(factor.entries.data(), factor.stride, size, solution.data());
    EXPECT_LT(error_of_solve(factor, true, right, solution), 1e-14) << size;
  });
}

// Wherever the first pivot that is not positive stands, and for numbers that are none.
TEST_P(EachTriangleKernel, RefusesWhatIsNotPositiveDefinite) {
  for (const Index size : {1, 4, 5, 22, 70})
    for (Index k = 0; k < size; ++k)
      for (const double pivot : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
        Lower matrix(size);
        matrix.at(k, k) = pivot;
        EXPECT_FALSE(GetParam()->cholesky(matrix.entries.data(), matrix.stride, size))
            << size << " " << k;
      }
}

}  // namespace
}  // namespace grove::kernels
