#pragma once

#include "grove/kernels/gram.h"
#include "grove/kernels/losses.h"
#include "grove/kernels/row_products.h"
#include "grove/kernels/triangles.h"

namespace grove::kernels {

template <class Set>
constexpr Kernels table_of(const char* name) {
  return {.name = name,
          .logistic = logistic<Set>,
          .squared = squared<Set>,
          .huber = huber<Set>,
          .poisson = poisson<Set>,
          .gamma = gamma<Set>,
          .negative_binomial = negative_binomial<Set>,
          .squared_hinge = squared_hinge<Set>,
          .multiply = multiply<Set>,
          .add_combination = add_combination<Set>,
          .scale_into_panels = scale_into_panels<Set>,
          .add_gram = add_gram<Set>,
          .add_symmetric = add_symmetric<Set>,
          .add_symmetric_packed = add_symmetric_packed<Set>,
          .add_symmetric_packed_twice = add_symmetric_packed_twice<Set>,
          .add_column = add_column<Set>,
          .cholesky = cholesky<Set>,
          .solve_lower = solve_lower<Set>,
          .solve_upper = solve_upper<Set>};
}

}  // namespace grove::kernels
