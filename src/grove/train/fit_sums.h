#pragma once

#include <functional>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/design.h"
#include "grove/problem/inference.h"

/// What sites exchange beside training, wherever they are: summaries of their tables, and numbers
/// of which only the sum counts.
namespace grove {

class Cluster;

struct FitExchange {
  /// The summaries of all sites, in one order everywhere, from those of the sites here.
  std::function<Result<std::vector<TableSummary>>(std::vector<TableSummary> own)> unite;
  /// The total over all sites of numbers, from those of the sites here. NaN where the exchange has
  /// ended.
  std::function<Vector(const std::vector<Vector>& own)> sum;
  /// The first error of any process; the same at all.
  std::function<Status(const Status& own)> agree = [](const Status& own) { return own; };
};

/// All sites are here.
FitExchange local_exchange();

/// The sites of processes, in the order of ranks: the bits are those of one process. Borrows
/// `cluster`.
FitExchange cluster_exchange(Cluster& cluster);

/// Their sum in this order. All have one length.
Vector sum_in_order(const std::vector<Vector>& parts);

/// Of all sites: means first, then squares of what is left.
DesignMoments network_moments(const std::vector<Design>& designs, const FitExchange& exchange);

/// Sums as numbers, and back. Of matrices the lower triangle.
Vector pack(const InferenceSums& sums);
InferenceSums unpack(const Vector& numbers, Index dimension);
Vector pack(const NullSums& sums);
NullSums unpack_null(const Vector& numbers);
Vector pack_triangle(const Matrix& matrix);
Matrix unpack_triangle(const Vector& numbers, Index size);  ///< both triangles

}  // namespace grove
