// The inner loops of training on one core, beside the libraries and limits they are measured by.
#include "kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include <fmt/format.h>

#include "grove/base/random.h"
#include "grove/kernels/kernels.h"
#include "grove/local/newton.h"
#include "grove/problem/objective.h"

namespace {

using namespace grove;
using bench::Row;

/// Values of one logistic loss per sample, by the formulas of problem/loss.h with std::exp and
/// std::log1p, and by the kernel.
std::vector<Row> loss_rows() {
  constexpr Index count = 4096;
  KeyedRandom random({.seed = 1, .purpose = Purpose::synthetic});
  std::vector<double> margins(count), targets(count), slopes(count), second_derivatives(count);
  for (Index k = 0; k < count; ++k) {
    margins[k] = 3 * random.normal();
    targets[k] = k % 2 == 0 ? 0 : 1;
  }
  volatile double total = 0;
  std::vector<std::function<void()>> contenders = {[&] {
    double sum = 0;
    for (Index k = 0; k < count; ++k) {
      const LossPoint point = LogisticLoss{}.at(margins[k], targets[k]);
      sum += point.value;
      slopes[k] = point.slope;
      second_derivatives[k] = point.second_derivative;
    }
    total = sum;
  }};
  for (const kernels::Kernels* variant : kernels::available())
    contenders.push_back([&, variant] {
      total = variant->logistic(
          {count, margins.data(), targets.data(), slopes.data(), second_derivatives.data()});
    });
  const std::vector<double> seconds = bench::contest(200, contenders);
  std::vector<Row> rows = {
      {"logistic loss, slope and second derivative: speed over std::exp, std::log1p",
       seconds[0] / seconds[1], "x", 2.5},
      {"  standard library, per sample", seconds[0] / count * 1e9, "ns"}};
  for (std::size_t k = 0; k < kernels::available().size(); ++k)
    rows.push_back({fmt::format("  {}, per sample", kernels::available()[k]->name),
                    seconds[k + 1] / count * 1e9, "ns"});
  return rows;
}

/// The other losses that have an exponential, and the squared hinge, over the logistic loss.
std::vector<Row> family_rows() {
  constexpr Index count = 4096;
  KeyedRandom random({.seed = 3, .purpose = Purpose::synthetic});
  std::vector<double> margins(count), targets(count), slopes(count), second_derivatives(count);
  for (Index k = 0; k < count; ++k) {
    margins[k] = 2 * random.normal();
    targets[k] = k % 2 == 0 ? 0 : 1;
  }
  const kernels::Kernels& fastest = *kernels::available().front();
  const kernels::LossBlock block{count, margins.data(), targets.data(), slopes.data(),
                                 second_derivatives.data()};
  volatile double total = 0;
  const std::vector<double> seconds = bench::contest(
      200, {[&] { total = fastest.logistic(block); }, [&] { total = fastest.poisson(block); },
            [&] { total = fastest.gamma(block); },
            [&] { total = fastest.negative_binomial(2.5, block); },
            [&] { total = fastest.squared_hinge(block); }});
  std::vector<Row> rows;
  const char* names[] = {"poisson", "gamma", "negative-binomial", "squared-hinge"};
  for (std::size_t k = 0; k < 4; ++k)
    rows.push_back({fmt::format("{} loss: time over the logistic loss", names[k]),
                    seconds[k + 1] / seconds[0], "x", 1.5, false});
  return rows;
}

double ulps(double got, long double want) {
  const double near = std::abs(static_cast<double>(want));
  return static_cast<double>(std::abs(got - want) / (std::nextafter(near, HUGE_VAL) - near));
}

Row loss_error() {
  KeyedRandom random({.seed = 2, .purpose = Purpose::synthetic});
  double worst = 0;
  for (int k = 0; k < 300'000; ++k) {
    const double margin = (k % 2 == 0 ? 8 : 0.5) * random.normal(), target = 0;
    double slope, second_derivative;
    const double value =
        kernels::available().front()->logistic({1, &margin, &target, &slope, &second_derivative});
    const long double odds = std::exp(static_cast<long double>(margin));
    const long double one = odds / (1 + odds), zero = 1 / (1 + odds);
    worst = std::max({worst, ulps(value, std::log1p(odds)), ulps(slope, one),
                      ulps(second_derivative, one * zero)});
  }
  return {"logistic loss: largest error", worst, "ulp", 4, false};
}

Samples made_up_samples(Index rows, Index columns) {
  Samples samples{bench::made_up_rows(rows, columns), Vector(rows)};
  for (Index k = 0; k < rows; ++k) samples.targets[k] = k % 2 == 0 ? 0 : 1;
  return samples;
}

/// 200 MB of rows, far beyond every cache.
std::vector<Row> gradient_rows(Index columns) {
  const Index count = 200'000'000 / static_cast<Index>(sizeof(double)) / columns;
  const DenseRows original = bench::made_up_rows(count, columns);
  DenseRows copy = original;
  const auto objective = make_shard_objective(made_up_samples(count, columns), {});
  const Vector x = Vector::Constant(columns, 0.1);
  Vector gradient;
  ObjectiveScratch scratch;
  const std::size_t bytes = original.size() * sizeof(double);
  const std::vector<double> seconds = bench::contest(
      7, {[&] { std::memcpy(copy.data(), original.data(), bytes); },
          [&] { objective->evaluate(x, Batch::all(), &gradient, nullptr, scratch); }});
  return {{fmt::format("gradient pass, {} x {}: speed of copying the rows", count, columns),
           seconds[0] / seconds[1], "x", 0.80},
          {"  bytes of rows per second", static_cast<double>(bytes) / seconds[1] / 1e9, "GB/s"},
          {"  memcpy", static_cast<double>(bytes) / seconds[0] / 1e9, "GB/s"}};
}

/// Sparse rows like those of text data: `per_row` ones in 10,000 columns.
std::vector<Row> sparse_rows() {
  constexpr Index count = 50'000, columns = 10'000, per_row = 40;
  KeyedRandom random({.seed = 3, .purpose = Purpose::synthetic});
  SparseRows rows(count, columns);
  rows.reserve(count * per_row);
  for (Index k = 0; k < count; ++k) {
    rows.startVec(k);
    for (Index j = 0; j < per_row; ++j)
      rows.insertBack(
          k, (columns / per_row) * j + static_cast<Index>(random.below(columns / per_row))) = 0.5;
  }
  rows.finalize();
  Samples samples{std::move(rows), Vector::Zero(count)};
  const auto objective = make_shard_objective(std::move(samples), {});
  const Vector x = Vector::Constant(columns, 0.1);
  Vector gradient, product;
  std::vector<double> second_derivatives(count);
  ObjectiveScratch scratch;
  objective->evaluate_second_derivatives(x, Batch::all(), nullptr, second_derivatives, scratch);
  const std::vector<double> seconds =
      bench::contest(9, {[&] { objective->evaluate(x, Batch::all(), &gradient, nullptr, scratch); },
                         [&] {
                           objective->weighted_hessian_times(second_derivatives, Batch::all(), x,
                                                             product, scratch);
                         }});
  constexpr double nonzeros = count * per_row;
  return {{"sparse gradient, 50,000 x 10,000, 40 non-zeros a row: per non-zero",
           seconds[0] / nonzeros * 1e9, "ns"},
          {"  product with its Hessian, second derivatives kept: per non-zero",
           seconds[1] / nonzeros * 1e9, "ns"}};
}

/// One local Newton step of an agent: what a round costs it.
struct NewtonStep {
  NewtonStep(Index rows, Index columns)
      : objective(make_shard_objective(made_up_samples(rows, columns), {.l2 = 1e-3})),
        x(Vector::Constant(columns, 0.01)) {}

  void operator()() {
    objective->evaluate(x, Batch::all(), &gradient, &hessian, scratch);
    std::ignore = solve_shifted(hessian, 0.1, gradient, diagonal);
  }

  std::unique_ptr<const Objective> objective;
  Vector x, gradient, diagonal;
  Matrix hessian;
  ObjectiveScratch scratch;
};

double step_flops(double rows, double columns) {
  return rows * columns * (columns + 1) + 4 * rows * columns + columns * columns * columns / 3;
}

std::vector<Row> growth_rows() {
  NewtonStep small(400, 22), medium(4'000, 22), large(40'000, 22), wide(4'000, 88),
      wider(4'000, 352);
  const auto passes = [](NewtonStep& step, int count) {
    return [&step, count] {
      for (int k = 0; k < count; ++k) step();
    };
  };
  const std::vector<double> seconds =
      bench::contest(30, {passes(small, 100), passes(medium, 10), passes(large, 1), passes(wide, 1),
                          passes(wider, 1)});
  const double per_flop = seconds[1] / 10 / step_flops(4'000, 22);
  return {
      {"local Newton step, 400 x 22", seconds[0] / 100 * 1e6, "us"},
      {"  10 times the rows, over 10 times its cost", seconds[1] / seconds[0], "x", 1.2, false},
      {"  100 times the rows, over 100 times its cost", seconds[2] / seconds[0], "x", 1.2, false},
      {"  4,000 x 88 over 4,000 x 22, per flop", seconds[3] / step_flops(4'000, 88) / per_flop, "x",
       1.2, false},
      {"  4,000 x 352 over 4,000 x 22, per flop", seconds[4] / step_flops(4'000, 352) / per_flop,
       "x", 1.2, false}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Row> rows = bench::hessian_rows();
  for (const std::vector<Row>& more : {loss_rows(),
                                       family_rows(),
                                       {loss_error()},
                                       gradient_rows(22),
                                       gradient_rows(784),
                                       sparse_rows(),
                                       growth_rows(),
                                       bench::symmetric_rows(),
                                       bench::system_rows()})
    rows.insert(rows.end(), more.begin(), more.end());
  return bench::report("kernels", rows, argc, argv);
}
