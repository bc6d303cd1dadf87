#pragma once

#include "grove/kernels/pack.h"

namespace grove::kernels {

/// Row k, or the last one where there are no more: the same code for a full group and the rest.
inline const double* row_or_last(const Rows& rows, Index k) {
  return rows.row(k < rows.count ? k : rows.count - 1);
}

template <class Set>
void multiply(const Rows& rows, const double* x, double* margins) {
  constexpr Index group = Set::lanes;
  for (Index k = 0; k < rows.count; k += group) {
    const double* row[group];
    Pack<Set> sum[group] = {};
    for (Index r = 0; r < group; ++r) row[r] = row_or_last(rows, k + r);
    for (Index c = 0; c < rows.stride; c += Set::lanes) {
      const Pack<Set> coefficients = load<Set>(x + c);
      for (Index r = 0; r < group; ++r) sum[r] += load<Set>(row[r] + c) * coefficients;
    }
    const Pack<Set> products = Set::sums(sum);
    if (k + group <= rows.count) {
      store<Set>(margins + k, products);
    } else {
      for (Index r = 0; k + r < rows.count; ++r) margins[k + r] = products[r];
    }
  }
}

template <class Set>
void add_combination(const Rows& rows, const double* weights, double* sum) {
  constexpr Index group = 4;
  for (Index k = 0; k < rows.count; k += group) {
    const double* row[group];
    Pack<Set> weight[group];
    for (Index r = 0; r < group; ++r) {
      row[r] = row_or_last(rows, k + r);
      weight[r] = splat<Set>(k + r < rows.count ? weights[k + r] : 0);
    }
    for (Index c = 0; c < rows.stride; c += Set::lanes) {
      Pack<Set> part = load<Set>(row[0] + c) * weight[0];
      for (Index r = 1; r < group; ++r) part += load<Set>(row[r] + c) * weight[r];
      store<Set>(sum + c, load<Set>(sum + c) + part);
    }
  }
}

}  // namespace grove::kernels
