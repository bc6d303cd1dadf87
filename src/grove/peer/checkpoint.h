#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"

namespace grove::peer {

/// The state that a peer needs to continue after a crash. Random numbers are keyed by the sequence,
/// so no other state of the random generator is needed.
struct Checkpoint {
  std::string fingerprint;     ///< of the problem that the state belongs to
  std::uint64_t sequence = 0;  ///< of the latest activation
  bool holds_regularizer = false;
  bool stopped = false;                      ///< the network had agreed to stop
  std::vector<std::string> neighbours;       ///< in slot order
  std::vector<std::uint64_t> last_received;  ///< newest sequence of each neighbour
  std::string agent;                         ///< Agent::save
};

/// Capacity to reserve after an agent's state, so that the header fits without a copy of the state.
/// A larger header needs a thousand neighbours.
constexpr std::size_t checkpoint_header_bytes = 1 << 16;

/// The bytes of a file of train/checkpoint_file.h.
std::string encode(Checkpoint checkpoint);
Result<Checkpoint> decode(std::string_view bytes);

Status write_checkpoint(const std::filesystem::path& path, Checkpoint checkpoint);

struct FoundCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::string error;  ///< why a file was not usable, and its new name; empty: no error
};
/// Renames an unusable file; never deletes or overwrites one.
FoundCheckpoint find_checkpoint(const std::filesystem::path& path, const std::string& fingerprint);

/// Renames the file, and returns the new name, or an empty string if that failed.
std::string set_aside(const std::filesystem::path& path);

}  // namespace grove::peer
