#include "grove/train/checkpoint_file.h"

#include <optional>

#include <fmt/format.h>

#include "grove/data/digest.h"

namespace grove {
namespace {

std::string_view name_of(CheckpointKind kind) {
  switch (kind) {
    case CheckpointKind::run:
      return "run";
    case CheckpointKind::peer:
      break;
  }
  return "peer";
}

std::string digest_of(std::string_view front, std::string_view rest) {
  Sha256 digest;
  digest.update(front);
  digest.update(rest);
  return digest.finish();
}

/// Takes the first line off; nothing where there is no end of a line.
std::optional<std::string_view> take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string seal_checkpoint(CheckpointKind kind, std::string_view front, std::string rest) {
  rest.insert(0, fmt::format("{}\n{}\n{}\n{}", checkpoint_format, name_of(kind),
                             digest_of(front, rest), front));
  return rest;
}

Result<std::string_view> open_checkpoint(CheckpointKind kind, std::string_view bytes) {
  const auto format = take_line(bytes);
  if (!format || *format != checkpoint_format)
    return Error{"", fmt::format("is not a checkpoint this version can read; expected the format "
                                 "{}",
                                 checkpoint_format)};
  const auto given_kind = take_line(bytes);
  const auto digest = given_kind ? take_line(bytes) : std::nullopt;
  if (!digest) return Error{"", "is damaged: it is cut short; remove it to start anew"};
  if (*given_kind != name_of(kind))
    return Error{"", fmt::format("is a checkpoint of another kind, `{}`; expected `{}`",
                                 *given_kind, name_of(kind))};
  if (digest_of(bytes, {}) != *digest)
    return Error{"", "is damaged: its checksum does not fit; remove it to start anew"};
  return bytes;
}

}  // namespace grove
