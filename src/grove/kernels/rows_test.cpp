// Products, combinations and Hessians of random rows against plain loops in extended precision.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "grove/base/random.h"
#include "grove/kernels/kernels.h"

namespace grove::kernels {
namespace {

using Real = long double;

struct Shard {
  Index count, features;
  std::vector<double> numbers;  ///< padded rows

  Shard(Index rows, Index columns)
      : count(rows), features(columns), numbers(rows * padded(columns)) {
    KeyedRandom random(
        {.seed = static_cast<std::uint64_t>(rows * 1000 + columns), .purpose = Purpose::synthetic});
    for (Index k = 0; k < count; ++k)
      for (Index c = 0; c < features; ++c) at(k, c) = random.normal();
  }

  double& at(Index row, Index column) { return numbers[row * padded(features) + column]; }
  double at(Index row, Index column) const { return numbers[row * padded(features) + column]; }
  Rows all() const { return {numbers.data(), padded(features), nullptr, count}; }
  Rows listed(const std::vector<std::uint32_t>& rows) const {
    return {numbers.data(), padded(features), rows.data(), static_cast<Index>(rows.size())};
  }
};

/// Numbers in (0, 1).
std::vector<double> weights(Index count) {
  KeyedRandom random({.seed = 5, .purpose = Purpose::synthetic, .agent = 2});
  std::vector<double> result(count);
  for (double& weight : result) weight = random.uniform();
  return result;
}

/// Rows 0, 1, ..., count - 1 and then some of them again.
std::vector<std::uint32_t> with_repeats(Index count) {
  std::vector<std::uint32_t> rows;
  for (Index k = 0; k < count + count / 2; ++k)
    rows.push_back(static_cast<std::uint32_t>((7 * k) % count));
  return rows;
}

std::uint32_t index_of(const Rows& rows, Index k) {
  return rows.listed ? rows.listed[k] : static_cast<std::uint32_t>(k);
}

Rows part_of(const Rows& rows, Index begin, Index count) {
  if (rows.listed) return {rows.data, rows.stride, rows.listed + begin, count};
  return {rows.data + begin * rows.stride, rows.stride, nullptr, count};
}

/// Largest error of the margins relative to the sum of the sizes of what was added.
double error_of_multiply(const Kernels& kernels, const Shard& shard, const Rows& rows) {
  std::vector<double> x = weights(shard.features);
  x.resize(padded(shard.features), 0.0);
  std::vector<double> margins(rows.count);
  kernels.multiply(rows, x.data(), margins.data());
  Real worst = 0;
  for (Index k = 0; k < rows.count; ++k) {
    Real want = 0, size = 0;
    for (Index c = 0; c < shard.features; ++c) {
      const Real term = static_cast<Real>(shard.at(index_of(rows, k), c)) * x[c];
      want += term;
      size += std::abs(term);
    }
    if (size > 0) worst = std::max(worst, std::abs(margins[k] - want) / size);
  }
  return static_cast<double>(worst);
}

double error_of_combination(const Kernels& kernels, const Shard& shard, const Rows& rows) {
  const std::vector<double> weight = weights(rows.count);
  std::vector<double> sum(padded(shard.features), 0.5);
  kernels.add_combination(rows, weight.data(), sum.data());
  Real worst = 0;
  for (Index c = 0; c < shard.features; ++c) {
    Real want = 0.5, size = 0.5;
    for (Index k = 0; k < rows.count; ++k) {
      const Real term = static_cast<Real>(weight[k]) * shard.at(index_of(rows, k), c);
      want += term;
      size += std::abs(term);
    }
    worst = std::max(worst, std::abs(sum[c] - want) / size);
  }
  return static_cast<double>(worst);
}

double error_of_gram(const Kernels& kernels, const Shard& shard, const Rows& rows) {
  const Index d = shard.features;
  const std::vector<double> second_derivatives = weights(rows.count);
  std::vector<double> panels(panel_rows * padded(d)), hessian(d * d, 0.125);
  for (Index begin = 0; begin < rows.count; begin += 40)  // in parts, as blocks arrive
    kernels.scale_into_panels(part_of(rows, begin, std::min<Index>(40, rows.count - begin)),
                              second_derivatives.data() + begin, begin, panels.data());
  kernels.add_gram(panels.data(), rows.count, d, hessian.data(), shard.numbers);
  Real worst = 0;
  for (Index column = 0; column < d; ++column)
    for (Index row = column; row < d; ++row) {
      Real want = 0.125, size = 0.125;
      for (Index k = 0; k < rows.count; ++k) {
        const Real term = static_cast<Real>(second_derivatives[k]) *
                          shard.at(index_of(rows, k), row) * shard.at(index_of(rows, k), column);
        want += term;
        size += std::abs(term);
      }
      worst = std::max(worst, std::abs(hessian[column * d + row] - want) / size);
    }
  return static_cast<double>(worst);
}

class EachRowKernel : public testing::TestWithParam<const Kernels*> {};

INSTANTIATE_TEST_SUITE_P(Variants, EachRowKernel, testing::ValuesIn(available()),
                         [](const auto& variant) { return std::string(variant.param->name); });

// Every number of columns up to three panels, so every tail of packs and panels; odd row counts.
TEST_P(EachRowKernel, AgreesWithPlainLoopsForEveryNumberOfColumns) {
  for (Index features = 1; features <= 40; ++features)
    for (const Index count : {1, 2, 5, 67}) {
      const Shard shard(count, features);
      const std::vector<std::uint32_t> repeated = with_repeats(count);
      for (const Rows& rows : {shard.all(), shard.listed(repeated)}) {
        EXPECT_LT(error_of_multiply(*GetParam(), shard, rows), 1e-14) << count << " x " << features;
        EXPECT_LT(error_of_combination(*GetParam(), shard, rows), 1e-14)
            << count << " x " << features;
        EXPECT_LT(error_of_gram(*GetParam(), shard, rows), 1e-14) << count << " x " << features;
      }
    }
}

TEST_P(EachRowKernel, AgreesWithPlainLoopsOnAFullPanelBlock) {
  for (const Index features : {22, 100, 131}) {
    const Shard shard(panel_rows, features);
    EXPECT_LT(error_of_gram(*GetParam(), shard, shard.all()), 1e-14) << features;
  }
}

TEST_P(EachRowKernel, KeepsRowsOfZerosAndConstantColumnsApart) {
  Shard shard(9, 14);
  for (Index c = 0; c < 14; ++c) shard.at(4, c) = 0;
  for (Index k = 0; k < 9; ++k) shard.at(k, 13) = 1;
  EXPECT_LT(error_of_multiply(*GetParam(), shard, shard.all()), 1e-14);
  EXPECT_LT(error_of_combination(*GetParam(), shard, shard.all()), 1e-14);
  EXPECT_LT(error_of_gram(*GetParam(), shard, shard.all()), 1e-14);
}

// 1e-310 is denormal; sums of such numbers are exact in doubles.
TEST_P(EachRowKernel, AddsDenormalsExactly) {
  const double tiny = 1e-310;
  Shard shard(6, 5);
  for (double& number : shard.numbers) number = tiny;
  std::vector<double> x(padded(5), 1.0), margins(6);
  for (Index c = 5; c < padded(5); ++c) x[c] = 0;
  GetParam()->multiply(shard.all(), x.data(), margins.data());
  for (const double margin : margins) EXPECT_EQ(margin, 5 * tiny);
  const std::vector<double> ones(6, 1.0);
  std::vector<double> sum(padded(5), 0.0);
  GetParam()->add_combination(shard.all(), ones.data(), sum.data());
  for (Index c = 0; c < 5; ++c) EXPECT_EQ(sum[c], 6 * tiny);
}

}  // namespace
}  // namespace grove::kernels
