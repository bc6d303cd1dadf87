#pragma once

#include "grove/kernels/pack.h"

/// Symmetric matrices whose lower triangle alone is read, and triangular factors, column
/// after column. All kernels go through four columns at once: what stands below the diagonal in
/// them is loaded once and used with all that needs it.
namespace grove::kernels {

inline constexpr Index columns_at_once = 4;

/// Entries below the diagonal of a stored matrix.
struct StoredColumns {
  using Number = const double;
  const double* entries;
  Index stride;
  const double* at(Index row, Index column) const { return entries + column * stride + row; }
};

/// The lower triangle alone, each column from its diagonal on, in single precision.
struct PackedColumns {
  using Number = const float;
  const float* entries;
  Index dimension;
  const float* at(Index row, Index column) const {
    return entries + column * (2 * dimension - column - 1) / 2 + row;
  }
};

template <class Set>
Pack<Set> load_numbers(const double* from) {
  return load<Set>(from);
}

template <class Set>
Pack<Set> load_numbers(const float* from) {
  typename Set::HalfPack pack;
  __builtin_memcpy(&pack, from, sizeof pack);
  return __builtin_convertvector(pack, Pack<Set>);
}

/// result += factor A x in the plain way, for rows [begin, end) of a column and their mirror.
template <class Set, class Columns>
void add_plainly(const Columns& matrix, Index column, Index begin, Index end, double factor,
                 const double* x, double* result) {
  double sum = 0;
  for (Index row = begin; row < end; ++row) {
    const double entry = *matrix.at(row, column);
    if (row > column) result[row] += entry * (factor * x[column]);
    sum += entry * x[row];
  }
  result[column] += factor * sum;
}

/// result += factor A x, four columns and the rows that mirror them at a time.
template <class Set, class Columns>
void add_product_with(const Columns& matrix, Index dimension, double factor, const double* x,
                      double* result) {
  Index column = 0;
  for (; column + columns_at_once <= dimension; column += columns_at_once) {
    const Index below = column + columns_at_once;
    typename Columns::Number* entries[columns_at_once];
    Pack<Set> scaled[columns_at_once], sum[columns_at_once] = {};
    for (Index c = 0; c < columns_at_once; ++c) {
      add_plainly<Set>(matrix, column + c, column + c, below, factor, x, result);
      entries[c] = matrix.at(0, column + c);
      scaled[c] = splat<Set>(factor * x[column + c]);
    }
    Index row = below;
    for (; row + Set::lanes <= dimension; row += Set::lanes) {
      const Pack<Set> at_row = load<Set>(x + row);
      Pack<Set> part = load<Set>(result + row);
#pragma GCC unroll 4
      for (Index c = 0; c < columns_at_once; ++c) {
        const Pack<Set> entry = load_numbers<Set>(entries[c] + row);
        part += entry * scaled[c];
        sum[c] += entry * at_row;
      }
      store<Set>(result + row, part);
    }
    for (Index c = 0; c < columns_at_once; ++c) {
      add_plainly<Set>(matrix, column + c, row, dimension, factor, x, result);
      result[column + c] += factor * sum_of_lanes<Set>(sum[c]);
    }
  }
  for (; column < dimension; ++column)
    add_plainly<Set>(matrix, column, column, dimension, factor, x, result);
}

template <class Set>
void add_symmetric(const double* matrix, Index stride, Index dimension, const double* x,
                   double* result) {
  add_product_with<Set>(StoredColumns{matrix, stride}, dimension, 1, x, result);
}

template <class Set>
void add_symmetric_packed(const float* matrix, Index dimension, double factor, const double* x,
                          double* result) {
  add_product_with<Set>(PackedColumns{matrix, dimension}, dimension, factor, x, result);
}

/// results[k] += A xs[k] for two vectors, two columns and the rows that mirror them at a time.
template <class Set>
void add_symmetric_packed_twice(const float* matrix, Index dimension, const double* const* xs,
                                double* const* results) {
  constexpr Index together = 2, vectors = 2;
  const PackedColumns lower{matrix, dimension};
  const auto add_rows = [&](Index column, Index begin, Index end) {
    for (Index v = 0; v < vectors; ++v)
      add_plainly<Set>(lower, column, begin, end, 1, xs[v], results[v]);
  };
  Index column = 0;
  for (; column + together <= dimension; column += together) {
    const Index below = column + together;
    const float* entries[together];
    Pack<Set> scaled[together][vectors], sum[together][vectors] = {};
    for (Index c = 0; c < together; ++c) {
      add_rows(column + c, column + c, below);
      entries[c] = lower.at(0, column + c);
      for (Index v = 0; v < vectors; ++v) scaled[c][v] = splat<Set>(xs[v][column + c]);
    }
    Index row = below;
    for (; row + Set::lanes <= dimension; row += Set::lanes) {
      Pack<Set> entry[together];
      for (Index c = 0; c < together; ++c) entry[c] = load_numbers<Set>(entries[c] + row);
#pragma GCC unroll 2
      for (Index v = 0; v < vectors; ++v) {
        const Pack<Set> at_row = load<Set>(xs[v] + row);
        Pack<Set> part = load<Set>(results[v] + row);
#pragma GCC unroll 2
        for (Index c = 0; c < together; ++c) {
          part += entry[c] * scaled[c][v];
          sum[c][v] += entry[c] * at_row;
        }
        store<Set>(results[v] + row, part);
      }
    }
    for (Index c = 0; c < together; ++c) {
      add_rows(column + c, row, dimension);
      for (Index v = 0; v < vectors; ++v) results[v][column + c] += sum_of_lanes<Set>(sum[c][v]);
    }
  }
  for (; column < dimension; ++column) add_rows(column, column, dimension);
}

/// result += factor column.
template <class Set>
void add_column(const double* column, Index dimension, double factor, double* result) {
  const Pack<Set> factors = splat<Set>(factor);
  Index row = 0;
  for (; row + 2 * Set::lanes <= dimension; row += 2 * Set::lanes) {
    const Pack<Set> first = load<Set>(result + row) + load<Set>(column + row) * factors;
    const Pack<Set> second =
        load<Set>(result + row + Set::lanes) + load<Set>(column + row + Set::lanes) * factors;
    store<Set>(result + row, first);
    store<Set>(result + row + Set::lanes, second);
  }
  for (; row < dimension; ++row) result[row] += column[row] * factor;
}

/// vector = L^{-1} vector.
template <class Set>
void solve_lower(const double* factor, Index stride, Index dimension, double* vector) {
  const StoredColumns lower{factor, stride};
  Index column = 0;
  for (; column + columns_at_once <= dimension; column += columns_at_once) {
    const Index below = column + columns_at_once;
    Pack<Set> solved[columns_at_once];
    for (Index c = column; c < below; ++c) {
      vector[c] /= *lower.at(c, c);
      for (Index row = c + 1; row < below; ++row) vector[row] -= *lower.at(row, c) * vector[c];
      solved[c - column] = splat<Set>(vector[c]);
    }
    Index row = below;
    for (; row + Set::lanes <= dimension; row += Set::lanes) {
      Pack<Set> part = load<Set>(vector + row);
#pragma GCC unroll 4
      for (Index c = 0; c < columns_at_once; ++c)
        part -= load<Set>(lower.at(row, column + c)) * solved[c];
      store<Set>(vector + row, part);
    }
    for (; row < dimension; ++row)
      for (Index c = column; c < below; ++c) vector[row] -= *lower.at(row, c) * vector[c];
  }
  for (; column < dimension; ++column) {
    vector[column] /= *lower.at(column, column);
    for (Index row = column + 1; row < dimension; ++row)
      vector[row] -= *lower.at(row, column) * vector[column];
  }
}

/// vector = L'^{-1} vector.
template <class Set>
void solve_upper(const double* factor, Index stride, Index dimension, double* vector) {
  const StoredColumns lower{factor, stride};
  const auto finish = [&](Index column, Index row, double sum) {
    for (; row < dimension; ++row) sum += *lower.at(row, column) * vector[row];
    vector[column] = (vector[column] - sum) / *lower.at(column, column);
  };
  const Index whole = dimension / columns_at_once * columns_at_once;
  for (Index column = dimension - 1; column >= whole; --column) finish(column, column + 1, 0);
  for (Index column = whole - columns_at_once; column >= 0; column -= columns_at_once) {
    const Index below = column + columns_at_once;
    Pack<Set> sum[columns_at_once] = {};
    Index row = below;
    for (; row + Set::lanes <= dimension; row += Set::lanes) {
      const Pack<Set> at_row = load<Set>(vector + row);
#pragma GCC unroll 4
      for (Index c = 0; c < columns_at_once; ++c)
        sum[c] += load<Set>(lower.at(row, column + c)) * at_row;
    }
    for (Index c = columns_at_once - 1; c >= 0; --c) {
      double within = sum_of_lanes<Set>(sum[c]);
      for (Index r = column + c + 1; r < below; ++r) within += *lower.at(r, column + c) * vector[r];
      finish(column + c, row, within);
    }
  }
}

template <class Set, int Packs>
using FactorTile = Pack<Set>[columns_at_once][Packs];

/// A matrix on its way to its factor, in place.
struct Factoring {
  double* entries;
  Index stride;
  double* at(Index row, Index column) const { return entries + column * stride + row; }
};

/// Columns of the factor that are taken off the rest of the matrix at once: 12 rows of them stay in
/// the first-level cache meanwhile.
inline constexpr Index factor_panel = 64;

/// tile = matrix(row.., column..) less what columns [begin, end) of the factor make of it. The last
/// pack may run over the end of a column, into the top of the next: such numbers mean nothing.
template <class Set, int Packs>
[[gnu::always_inline]] inline void load_reduced(const Factoring& matrix, Index row, Index column,
                                                Index begin, Index end,
                                                FactorTile<Set, Packs>& tile) {
#pragma GCC unroll 4
  for (int c = 0; c < columns_at_once; ++c)
#pragma GCC unroll 3
    for (int p = 0; p < Packs; ++p)
      tile[c][p] = load<Set>(matrix.at(row + p * Set::lanes, column + c));
  const double* rows = matrix.at(row, begin);
  const double* across = matrix.at(column, begin);
  for (Index k = begin; k < end; ++k, rows += matrix.stride, across += matrix.stride) {
    Pack<Set> part[Packs];
#pragma GCC unroll 3
    for (int p = 0; p < Packs; ++p) part[p] = load<Set>(rows + p * Set::lanes);
#pragma GCC unroll 4
    for (int c = 0; c < columns_at_once; ++c)
#pragma GCC unroll 3
      for (int p = 0; p < Packs; ++p) tile[c][p] -= part[p] * across[c];
  }
}

/// The first `rows` rows of a tile.
template <class Set, int Packs>
[[gnu::always_inline]] inline void store_tile(const Factoring& matrix, Index row, Index column,
                                              Index rows, const FactorTile<Set, Packs>& tile) {
#pragma GCC unroll 4
  for (int c = 0; c < columns_at_once; ++c) {
    double* to = matrix.at(row, column + c);
#pragma GCC unroll 3
    for (int p = 0; p < Packs; ++p) {
      if ((p + 1) * Set::lanes <= rows) {
        store<Set>(to + p * Set::lanes, tile[c][p]);
      } else {
        for (Index lane = 0; p * Set::lanes + lane < rows; ++lane)
          to[p * Set::lanes + lane] = tile[c][p][lane];
      }
    }
  }
}

/// Columns [column, end) of the factor from their diagonal to `end`, once the columns before
/// are taken off. False: a pivot is not positive.
template <class Set>
bool factor_corner(const Factoring& matrix, Index column, Index end) {
  for (Index c = column; c < end; ++c)
    for (Index row = c; row < end; ++row) {
      double entry = *matrix.at(row, c);
      for (Index k = column; k < c; ++k) entry -= *matrix.at(row, k) * *matrix.at(c, k);
      if (row == c && !(entry > 0)) return false;
      *matrix.at(row, c) = row == c ? __builtin_sqrt(entry) : entry / *matrix.at(c, c);
    }
  return true;
}

/// Rows of four columns of the factor below their corner, which is done.
template <class Set, int Packs>
void factor_rows(const Factoring& matrix, Index row, Index column, Index begin, Index rows) {
  FactorTile<Set, Packs> tile;
  load_reduced<Set, Packs>(matrix, row, column, begin, column, tile);
#pragma GCC unroll 4
  for (int c = 0; c < columns_at_once; ++c) {
    const double inverse = 1 / *matrix.at(column + c, column + c);
#pragma GCC unroll 3
    for (int p = 0; p < Packs; ++p) {
#pragma GCC unroll 4
      for (int before = 0; before < c; ++before)
        tile[c][p] -= tile[before][p] * *matrix.at(column + c, column + before);
      tile[c][p] *= inverse;
    }
  }
  store_tile<Set, Packs>(matrix, row, column, rows, tile);
}

/// Rows of the rest of the matrix less what the columns [begin, end) of the factor make of them.
template <class Set, int Packs>
void take_off(const Factoring& matrix, Index row, Index begin, Index end, Index dimension) {
  const Index left = dimension - row;
  for (Index column = end;
       column < row + Packs * Set::lanes && column + columns_at_once <= dimension;
       column += columns_at_once) {
    FactorTile<Set, Packs> tile;
    load_reduced<Set, Packs>(matrix, row, column, begin, end, tile);
    store_tile<Set, Packs>(matrix, row, column, left, tile);
  }
}

/// Calls visit.template operator()<Packs>(row) for the rows from `row` on in tiles.
template <class Set, class Visit>
[[gnu::always_inline]] inline void for_each_tile(Index row, Index dimension, const Visit& visit) {
  for (; row + 3 * Set::lanes <= dimension; row += 3 * Set::lanes)
    visit.template operator()<3>(row);
  for (; row < dimension; row += Set::lanes) visit.template operator()<1>(row);
}

/// The lower triangle becomes its Cholesky factor, left to right; what stands above the diagonal is
/// lost. False where a pivot is not positive, the matrix being spoilt then.
template <class Set>
bool cholesky(double* entries, Index stride, Index dimension) {
  const Factoring matrix{entries, stride};
  const Index whole = dimension / columns_at_once * columns_at_once;
  for (Index begin = 0; begin < whole; begin += factor_panel) {
    const Index end = begin + factor_panel < whole ? begin + factor_panel : whole;
    for (Index column = begin; column < end; column += columns_at_once) {
      constexpr int packs = columns_at_once / Set::lanes;
      FactorTile<Set, packs> corner;
      load_reduced<Set, packs>(matrix, column, column, begin, column, corner);
      store_tile<Set, packs>(matrix, column, column, columns_at_once, corner);
      const Index below = column + columns_at_once;
      if (!factor_corner<Set>(matrix, column, below)) return false;
      for_each_tile<Set>(below, dimension, [&]<int Packs>(Index row) {
        factor_rows<Set, Packs>(matrix, row, column, begin, dimension - row);
      });
    }
    for_each_tile<Set>(end, dimension, [&]<int Packs>(Index row) {
      take_off<Set, Packs>(matrix, row, begin, end, dimension);
    });
  }
  for (Index c = whole; c < dimension; ++c)
    for (Index row = c; row < dimension; ++row)
      for (Index k = 0; k < whole; ++k) *matrix.at(row, c) -= *matrix.at(row, k) * *matrix.at(c, k);
  return factor_corner<Set>(matrix, whole, dimension);
}

}  // namespace grove::kernels
