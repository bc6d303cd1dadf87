#pragma once

#include <vector>

#include "grove/data/samples.h"
#include "support/table.h"

namespace grove::bench {

/// Numbers that look random to a cache and a branch predictor, quickly.
DenseRows made_up_rows(Index rows, Index columns);

/// Hessians of dense shards against one core's dgemm, with dsyrk and Eigen beside them.
std::vector<Row> hessian_rows();

/// Factors, products and solves of stored symmetric matrices against Eigen.
std::vector<Row> symmetric_rows();

/// Local Newton steps by products against steps with a stored Hessian: below 1, products are
/// faster.
std::vector<Row> system_rows();

}  // namespace grove::bench
