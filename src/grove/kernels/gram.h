#pragma once

#include "grove/kernels/pack.h"

/// S'S of scaled rows. The columns of S are cut into panels of three packs (the last one may have
/// one or two), stored one after the other, row by row: a tile of the result then reads two
/// contiguous panels, and its twelve accumulators stay in registers over all rows.
namespace grove::kernels {

template <class Set>
inline constexpr Index panel_width = 3 * Set::lanes;

template <class Set>
struct Panel {
  const double* data;
  Index width;
  Index column;  ///< of the matrix where it begins
};

/// The panel that begins at a column, in a block with `stride` columns.
template <class Set>
Panel<Set> panel_at(const double* panels, Index column, Index stride) {
  Index width = stride - column;
  if (width > panel_width<Set>) width = panel_width<Set>;
  return {panels + column * panel_rows, width, column};
}

/// Rows of one panel and the one beside it, if any: at once, which halves what is spent on finding
/// rows.
template <class Set, int Packs, int PacksBeside>
void scale_columns(const Rows& rows, const double* second_derivatives, Index column, Index first,
                   double* panels) {
  constexpr Index width = Packs * Set::lanes;
  double* to = panels + column * panel_rows + first * width;
  double* beside = to;
  if constexpr (PacksBeside > 0)
    beside = panels + (column + width) * panel_rows + first * PacksBeside * Set::lanes;
  for (Index k = 0; k < rows.count; ++k) {
    const double* from = rows.row(k) + column;
    const Pack<Set> root = splat<Set>(__builtin_sqrt(second_derivatives[k]));  // while stores wait
#pragma GCC unroll 3
    for (int p = 0; p < Packs; ++p, to += Set::lanes, from += Set::lanes)
      store<Set>(to, load<Set>(from) * root);
#pragma GCC unroll 3
    for (int p = 0; p < PacksBeside; ++p, beside += Set::lanes, from += Set::lanes)
      store<Set>(beside, load<Set>(from) * root);
  }
}

template <class Set>
void scale_into_panels(const Rows& rows, const double* second_derivatives, Index first,
                       double* panels) {
  constexpr decltype(&scale_columns<Set, 1, 0>) scale_packs[] = {
      scale_columns<Set, 1, 0>, scale_columns<Set, 2, 0>, scale_columns<Set, 3, 0>,
      scale_columns<Set, 3, 1>, scale_columns<Set, 3, 2>, scale_columns<Set, 3, 3>};
  for (Index column = 0; column < rows.stride; column += 2 * panel_width<Set>) {
    const Index packs = (rows.stride - column) / Set::lanes;
    scale_packs[packs < 6 ? packs - 1 : 5](rows, second_derivatives, column, first, panels);
  }
}

/// The matrix that tiles are added to, column after column.
struct Square {
  double* entries;
  Index dimension;
};

/// Memory to fetch while tiles are summed, line by line.
struct Prefetch {
  const char* at;
  const char* end;
};
inline constexpr Index line_bytes = 64;

/// hessian(row.., column..) += tile. Below the last row a tile has exact zeros, from the padding,
/// so that a full pack may run on into the top of the next column; only the end of the matrix needs
/// care.
template <class Set, int Packs, int Columns>
[[gnu::always_inline]] inline void add_to(const Square& hessian, Index row, Index column,
                                          const Pack<Set> (&tile)[Columns][Packs]) {
  const Index d = hessian.dimension;
  double* to = hessian.entries + column * d + row;
  const Index reached = (column + Columns - 1) * d + row + Packs * Set::lanes;
  if (reached <= d * d) {
#pragma GCC unroll 12
    for (int c = 0; c < Columns; ++c, to += d)
#pragma GCC unroll 3
      for (int p = 0; p < Packs; ++p)
        store<Set>(to + p * Set::lanes, load<Set>(to + p * Set::lanes) + tile[c][p]);
    return;
  }
  double numbers[Columns][Packs * Set::lanes];
#pragma GCC unroll 12
  for (int c = 0; c < Columns; ++c)
#pragma GCC unroll 3
    for (int p = 0; p < Packs; ++p) store<Set>(numbers[c] + p * Set::lanes, tile[c][p]);
  for (Index c = 0; c < Columns && column + c < d; ++c, to += d)
    for (Index r = 0; r < Packs * Set::lanes && row + r < d; ++r) to[r] += numbers[c][r];
}

/// sum += rows * columns', a tile of one row of S. Unrolled: the sums are registers.
template <class Set, int Packs, int Columns>
[[gnu::always_inline]] inline void add_product(const Pack<Set>* rows, const double* columns,
                                               Pack<Set> (&sum)[Columns][Packs]) {
#pragma GCC unroll 12
  for (int c = 0; c < Columns; ++c)
#pragma GCC unroll 3
    for (int p = 0; p < Packs; ++p) sum[c][p] += rows[p] * columns[c];
}

template <class Set, int Packs>
[[gnu::always_inline]] inline void load_packs(const double* from, Pack<Set> (&packs)[Packs]) {
#pragma GCC unroll 3
  for (int p = 0; p < Packs; ++p) packs[p] = load<Set>(from + p * Set::lanes);
}

template <class Set, int Packs, int Columns>
[[gnu::always_inline]] inline void clear(Pack<Set> (&sum)[Columns][Packs]) {
#pragma GCC unroll 12
  for (int c = 0; c < Columns; ++c)
#pragma GCC unroll 3
    for (int p = 0; p < Packs; ++p) sum[c][p] = Pack<Set>{};
}

/// The entries that a tile will be added to, fetched early. A small matrix is near anyway.
template <class Set, int Packs, int Columns>
[[gnu::always_inline]] inline void fetch_entries(const Square& hessian, Index row, Index column) {
  if (hessian.dimension <= 64) return;
  const double* entries = hessian.entries + column * hessian.dimension + row;
#pragma GCC unroll 12
  for (int c = 0; c < Columns; ++c, entries += hessian.dimension) {
    __builtin_prefetch(entries, 1);
    __builtin_prefetch(entries + Packs * Set::lanes - 1, 1);
  }
}

/// All rows of panel `lower` times Columns columns of panel `left`, from `column` on.
template <class Set, int Packs, int Columns>
void add_tile(const Panel<Set>& lower, const Panel<Set>& left, Index column, Index count,
              const Square& hessian, Prefetch& next) {
  fetch_entries<Set, Packs, Columns>(hessian, lower.column, left.column + column);
  Pack<Set> sum[Columns][Packs];
  clear<Set>(sum);
  const double* a = lower.data;
  const double* b = left.data + column;
  const Index step = next.at < next.end ? line_bytes : 0;  // 0: nothing left, the same line again
  for (Index k = 0; k < count; ++k, a += Packs * Set::lanes, b += left.width) {
    __builtin_prefetch(next.at + k * step);
    Pack<Set> rows[Packs];
    load_packs<Set>(a, rows);
    add_product<Set>(rows, b, sum);
  }
  next.at += count * step;
  add_to<Set>(hessian, lower.column, left.column + column, sum);
}

/// The square of the last two packs of a panel, without the tile above its diagonal, and of the
/// last pack only that many columns.
template <class Set, int LastColumns>
void add_corner(const Panel<Set>& panel, Index count, const Square& hessian) {
  constexpr int lanes = Set::lanes;
  Pack<Set> first[lanes][2], second[LastColumns][1];
  clear<Set>(first);
  clear<Set>(second);
  const Index skip = panel.width - 2 * lanes;
  const double* a = panel.data + skip;
  for (Index k = 0; k < count; ++k, a += panel.width) {
    Pack<Set> rows[2];
    load_packs<Set>(a, rows);
    add_product<Set>(rows, a, first);
    add_product<Set>(rows + 1, a + lanes, second);
  }
  const Index corner = panel.column + skip;
  add_to<Set>(hessian, corner, corner, first);
  add_to<Set>(hessian, corner + lanes, corner + lanes, second);
}

/// The tiles of columns [begin, end) whose rows are panel `lower`, which has Packs packs. A tile
/// has as many sums as leave registers for a row and a factor: twelve of the sixteen.
template <class Set, int Packs>
void add_tiles(const double* panels, const Panel<Set>& lower, Index begin, Index end, Index count,
               const Square& hessian, Prefetch& next) {
  constexpr int columns = panel_width<Set> / Packs;
  for (Index column = begin; column < end && column < lower.column; column += panel_width<Set>) {
    const Panel<Set> left{panels + column * panel_rows, panel_width<Set>, column};
    for (Index c = 0; c < panel_width<Set>; c += columns)
      add_tile<Set, Packs, columns>(lower, left, c, count, hessian, next);
  }
  if (lower.column >= end) return;
  if constexpr (Packs != 2) add_tile<Set, Packs, Set::lanes>(lower, lower, 0, count, hessian, next);
  if constexpr (Packs != 1) {
    constexpr int half = Set::lanes / 2;  // where the matrix ends early: 22 = 5 * 4 + 2
    const Index last = hessian.dimension - (lower.column + lower.width - Set::lanes);
    const auto add = last <= half ? add_corner<Set, half> : add_corner<Set, Set::lanes>;
    add(lower, count, hessian);
  }
}

/// Goes through the columns by groups of panels that stay in the second-level cache while all the
/// panels below them pass by.
template <class Set>
void add_gram(const double* panels, Index count, Index dimension, double* hessian,
              std::span<const double> upcoming) {
  constexpr Index numbers = 24 * Index{1024};  // 192 kB
  constexpr Index group = numbers / panel_rows / panel_width<Set> * panel_width<Set>;
  const Index stride = padded(dimension);
  const Square square{hessian, dimension};
  Prefetch next{reinterpret_cast<const char*>(upcoming.data()),
                reinterpret_cast<const char*>(upcoming.data() + upcoming.size())};
  for (Index begin = 0; begin < stride; begin += group)
    for (Index column = begin; column < stride; column += panel_width<Set>) {
      const Panel<Set> lower = panel_at<Set>(panels, column, stride);
      const auto add = lower.width == Set::lanes       ? add_tiles<Set, 1>
                       : lower.width == 2 * Set::lanes ? add_tiles<Set, 2>
                                                       : add_tiles<Set, 3>;
      add(panels, lower, begin, begin + group, count, square, next);
    }
}

}  // namespace grove::kernels
