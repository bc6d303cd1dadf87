#include "grove/local/batch.h"

#include <cassert>
#include <numeric>
#include <utility>

namespace grove {

void draw_batch(const RandomKey& key, Index size, Index population, Workspace& workspace) {
  assert(0 < size && size <= population);
  auto& order = workspace.order;
  if (order.size() < static_cast<std::size_t>(population)) {
    order.resize(static_cast<std::size_t>(population));
    std::iota(order.begin(), order.end(), 0u);
  }
  // The first `size` swaps of a Fisher-Yates shuffle; undoing them in reverse restores the
  // identity.
  auto& rows = workspace.rows;
  rows.resize(static_cast<std::size_t>(size));
  KeyedRandom random(key);
  for (Index k = 0; k < size; ++k) {
    const Index other = k + static_cast<Index>(random.below(population - k));
    std::swap(order[k], order[other]);
    rows[k] = static_cast<std::uint32_t>(other);
  }
  for (Index k = size - 1; k >= 0; --k) {
    const std::uint32_t drawn = order[k];
    std::swap(order[k], order[rows[k]]);
    rows[k] = drawn;
  }
}

Batch draw_batch_or_all(const RandomKey& key, Index size, Index population, Workspace& workspace) {
  if (size == population) return Batch::all();
  draw_batch(key, size, population, workspace);
  return Batch::of(workspace.rows);
}

RandomKey batch_key(const SolverTurn& turn, Purpose purpose, std::uint64_t number) {
  return {.seed = turn.seed,
          .purpose = purpose,
          .agent = turn.agent.value,
          .round = turn.activation.round,
          .step = number};
}

}  // namespace grove
