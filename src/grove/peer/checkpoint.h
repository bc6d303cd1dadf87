#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"
#include "grove/peer/schema.h"

namespace grove::peer {

/// What a checkpoint belongs to. A checkpoint of another owner is never restored.
struct CheckpointOwner {
  std::string network;
  std::string peer;
  Schema schema;
  std::string data;  ///< digest of the peer's data
};

/// Why a checkpoint of `found` is not one of `expected`, or nothing if it is.
std::optional<std::string> mismatch(const CheckpointOwner& found, const CheckpointOwner& expected);

/// What the network had agreed on when the checkpoint was written.
enum class SavedPhase : std::uint8_t {
  working,
  ready,   ///< every member had converged
  stopped  ///< and every member was ready to stop
};

/// The state that a peer needs to continue after a crash. Random numbers are keyed by the sequence,
/// so no other state of the random generator is needed.
struct Checkpoint {
  CheckpointOwner owner;
  SavedPhase phase = SavedPhase::working;
  std::string run;                   ///< of the phase
  std::vector<std::string> members;  ///< of the run
  double residual = 0;               ///< of this peer
  std::uint64_t sequence = 0;        ///< of the latest activation
  bool holds_regularizer = false;
  std::vector<std::string> neighbours;       ///< in slot order
  std::vector<std::uint64_t> last_received;  ///< newest sequence of each neighbour
  std::vector<std::string> proofs;           ///< of each neighbour, its entry with the latest epoch
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
FoundCheckpoint find_checkpoint(const std::filesystem::path& path, const CheckpointOwner& owner);

/// Renames the file, and returns the new name, or an empty string if that failed.
std::string set_aside(const std::filesystem::path& path);

}  // namespace grove::peer
