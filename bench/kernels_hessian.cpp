#include <cblas.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grove/base/random.h"
#include "grove/problem/dense_shard.h"
#include "grove/problem/shard_pass.h"
#include "kernels.h"

namespace grove::bench {
namespace {

constexpr int multiplied = 512;  ///< size of the matrices of dgemm, enough for its full speed

double flops(Index rows, Index columns) {
  return static_cast<double>(rows) * static_cast<double>(columns) *
         static_cast<double>(columns + 1);
}

/// Rows times the square root of their second derivative, 256 at a time, handed to a rank-k update.
template <class Update>
void scaled_blocks(const DenseRows& rows, const std::vector<double>& second_derivatives,
                   DenseRows& block, const Update& update) {
  for (Index begin = 0; begin < rows.rows(); begin += 256) {
    const Index count = std::min<Index>(256, rows.rows() - begin);
    block.resize(count, rows.cols());
    for (Index k = 0; k < count; ++k)
      block.row(k) = std::sqrt(second_derivatives[begin + k]) * rows.row(begin + k);
    update();
  }
}

struct Shape {
  Index rows, columns;
  double goal;
  Index library_rows;  ///< rows the libraries get: their speed does not depend on more
  int repetitions;
  int passes = 1;  ///< within one timing: the clock's own cost must not count
};

/// Flops per second.
struct Speeds {
  double gemm, own, syrk, eigen;
};

Speeds measure(const Shape& shape) {
  const DenseRows rows = made_up_rows(shape.rows, shape.columns);
  const DenseRows some = rows.topRows(shape.library_rows);
  const DenseShard shard(rows, false, *kernels::available().front());
  const std::vector<double> second_derivatives(shape.rows, 0.2);
  const auto d = static_cast<int>(shape.columns);
  const Matrix left = Matrix::Constant(multiplied, multiplied, 1.1), right = left;
  Matrix product(multiplied, multiplied), own, by_syrk = Matrix::Zero(d, d), by_eigen = by_syrk;
  DenseRows block;
  AlignedNumbers memory;
  const std::vector<double> seconds = contest(
      shape.repetitions,
      {[&] {
         cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, multiplied, multiplied, multiplied,
                     1, left.data(), multiplied, right.data(), multiplied, 0, product.data(),
                     multiplied);
       },
       [&] {
         for (int k = 0; k < shape.passes; ++k)
           sum_hessian(shard, grove::Batch::all(), second_derivatives, own, memory);
       },
       [&] {
         scaled_blocks(some, second_derivatives, block, [&] {
           cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, d, static_cast<int>(block.rows()),
                       1, block.data(), d, 1, by_syrk.data(), d);
         });
       },
       [&] {
         scaled_blocks(some, second_derivatives, block, [&] {
           by_eigen.selfadjointView<Eigen::Lower>().rankUpdate(block.transpose());
         });
       }});
  const double library_flops = flops(shape.library_rows, shape.columns);
  return {.gemm = 2 * std::pow(multiplied, 3) / seconds[0],
          .own = shape.passes * flops(shape.rows, shape.columns) / seconds[1],
          .syrk = library_flops / seconds[2],
          .eigen = library_flops / seconds[3]};
}

}  // namespace

DenseRows made_up_rows(Index rows, Index columns) {
  constexpr Index pool_size = 65'537;  // a prime: rows repeat only after very many
  KeyedRandom random({.seed = 1, .purpose = Purpose::synthetic});
  std::vector<double> pool(pool_size);
  for (double& number : pool) number = random.normal();
  DenseRows result(rows, columns);
  for (Index k = 0; k < result.size(); ++k) result.data()[k] = pool[k % pool_size];
  return result;
}

std::vector<Row> hessian_rows() {
  openblas_set_num_threads(1);
  const std::vector<Shape> shapes = {{100'000, 1000, 0.90, 2'048, 4},
                                     {2'048, 1000, 0, 2'048, 20},
                                     {100'000, 128, 0.80, 16'384, 12},
                                     {400, 22, 0.65, 400, 200, 100},
                                     {100'000, 22, 0.50, 65'536, 30}};
  std::vector<Speeds> speeds;
  double gemm = 0;  // at its best in the whole run: a core's speed, not that of a busy moment
  for (const Shape& shape : shapes) {
    speeds.push_back(measure(shape));
    gemm = std::max(gemm, speeds.back().gemm);
  }
  std::vector<Row> rows = {{"OpenBLAS dgemm, best of the run", gemm / 1e9, "GF/s"}};
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    rows.push_back(
        {fmt::format("Hessian of {} x {}, of dgemm's speed", shapes[k].rows, shapes[k].columns),
         speeds[k].own / gemm, "x", shapes[k].goal});
    rows.push_back({"  its speed", speeds[k].own / 1e9, "GF/s"});
    rows.push_back({"  dgemm meanwhile", speeds[k].gemm / 1e9, "GF/s"});
    rows.push_back({"  scaled rows through OpenBLAS dsyrk", speeds[k].syrk / 1e9, "GF/s"});
    rows.push_back({"  scaled rows through Eigen's rankUpdate", speeds[k].eigen / 1e9, "GF/s"});
  }
  return rows;
}

}  // namespace grove::bench
