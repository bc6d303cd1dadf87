#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"

namespace grove::peer {

/// All a peer needs to go on after a crash. Random numbers are keyed by the sequence, so it is also
/// the random position.
struct Checkpoint {
  std::string fingerprint;     ///< of the problem: state of another one is useless
  std::uint64_t sequence = 0;  ///< of the latest activation
  bool holds_regularizer = false;
  bool done = false;                    ///< the network had agreed to stop
  std::vector<std::string> neighbours;  ///< in slot order
  std::vector<std::uint64_t> heard;     ///< newest sequence of each
  std::string agent;                    ///< Agent::save
};

/// The first line of the file. Raised whenever what an agent saves changes, as in
/// run/checkpoint.cpp: a state of another version is set aside, not misread.
inline constexpr std::string_view checkpoint_format = "grove-checkpoint/5\n";

/// A string of an agent's state with so much room left becomes the file without being copied; more
/// is needed only with a thousand neighbours.
constexpr std::size_t checkpoint_front_bytes = 1 << 16;

/// The format, SHA-256, content.
std::string encode(Checkpoint checkpoint);
Result<Checkpoint> decode(std::string_view bytes);

Status write_checkpoint(const std::filesystem::path& path, Checkpoint checkpoint);

struct FoundCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::string trouble;  ///< empty, or why there is none and where the bad file was put
};
/// A file that cannot be used is renamed, never deleted or overwritten.
FoundCheckpoint find_checkpoint(const std::filesystem::path& path, const std::string& fingerprint);

/// Renames the file out of the way; returns the new name, or nothing where that failed.
std::string set_aside(const std::filesystem::path& path);

}  // namespace grove::peer
