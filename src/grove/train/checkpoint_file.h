#pragma once

#include <string>
#include <string_view>

#include "grove/base/result.h"

namespace grove {

/// The one format of checkpoints. A file is a line with the format and its version, a line with the
/// kind of its content, a line with the SHA-256 of all that follows, and the content.
///
/// The version is raised whenever what an agent saves changes: a state of another version is
/// refused, not misread.
inline constexpr std::string_view checkpoint_format = "grove-checkpoint/7";

/// What wrote it: the states of all agents of a run, or of one peer.
enum class CheckpointKind { run, peer };

/// The file whose content is `front` and `rest`. A large state as `rest` is not copied where its
/// string has room for what comes before it.
std::string seal_checkpoint(CheckpointKind kind, std::string_view front, std::string rest);

/// The content, a part of `bytes`. The error has no `where`; it says what is wrong with the file.
Result<std::string_view> open_checkpoint(CheckpointKind kind, std::string_view bytes);

}  // namespace grove
