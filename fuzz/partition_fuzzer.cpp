#include <cstddef>
#include <cstdint>

#include "grove/data/partition.h"
#include "require.h"

/// Any text gives an error or shards that hold every row once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t samples = bytes[0] % 32 + 1;
  const std::size_t agents = bytes[1] % samples + 1;
  const std::string_view text(reinterpret_cast<const char*>(bytes) + 2, size - 2);
  const auto shards = grove::parse_partition(text, "text", samples, agents);
  if (!shards) return 0;
  if (shards->size() != agents) grove::require_no_flaw("wrong number of agents");
  std::size_t total = 0;
  for (const auto& rows : *shards) {
    if (rows.empty()) grove::require_no_flaw("an agent without rows");
    for (const auto row : rows)
      if (row >= samples) grove::require_no_flaw("an unknown row");
    total += rows.size();
  }
  if (total != samples) grove::require_no_flaw("rows missing or twice");
  return 0;
}
