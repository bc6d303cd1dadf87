#include "grove/peer/checkpoint.h"

#include <fmt/format.h>

#include "grove/base/bytes.h"
#include "grove/base/file.h"
#include "grove/train/checkpoint_file.h"

namespace grove::peer {
namespace {

void put_text(ByteWriter& writer, std::string_view text) {
  writer.put(static_cast<std::uint64_t>(text.size()));
  for (const char c : text) writer.put(c);
}

/// Checks the length against the limit before it allocates memory.
bool get_text(ByteReader& reader, std::string& text, std::size_t max_size) {
  std::uint64_t size = 0;
  reader.get(size);
  if (!reader.ok() || size > max_size) return false;
  text.resize(size);
  for (char& c : text) reader.get(c);
  return reader.ok();
}

Result<Checkpoint> read_content(std::string_view content) {
  const Error bad{"checkpoint", "has invalid content"};
  Checkpoint result;
  ByteReader reader(content);
  std::uint64_t neighbours = 0;
  char holds = 0, stopped = 0;
  if (!get_text(reader, result.fingerprint, content.size())) return bad;
  reader.get(result.sequence);
  reader.get(holds);
  reader.get(stopped);
  reader.get(neighbours);
  if (!reader.ok() || neighbours > content.size() || holds < 0 || holds > 1 || stopped < 0 ||
      stopped > 1)
    return bad;
  result.holds_regularizer = holds == 1;
  result.stopped = stopped == 1;
  for (std::uint64_t k = 0; k < neighbours; ++k)
    if (!get_text(reader, result.neighbours.emplace_back(), content.size())) return bad;
  for (std::uint64_t k = 0; k < neighbours; ++k) reader.get(result.last_received.emplace_back());
  if (!get_text(reader, result.agent, content.size()) || !reader.finished()) return bad;
  return result;
}

}  // namespace

/// Inserts the header in front of the agent's state, which may be too large to copy.
std::string encode(Checkpoint checkpoint) {
  ByteWriter header;
  put_text(header, checkpoint.fingerprint);
  header.put(checkpoint.sequence);
  header.put(static_cast<char>(checkpoint.holds_regularizer));
  header.put(static_cast<char>(checkpoint.stopped));
  header.put(static_cast<std::uint64_t>(checkpoint.neighbours.size()));
  for (const std::string& name : checkpoint.neighbours) put_text(header, name);
  for (const std::uint64_t sequence : checkpoint.last_received) header.put(sequence);
  header.put(static_cast<std::uint64_t>(checkpoint.agent.size()));
  return seal_checkpoint(CheckpointKind::peer, header.bytes(), std::move(checkpoint.agent));
}

Result<Checkpoint> decode(std::string_view bytes) {
  const auto content = open_checkpoint(CheckpointKind::peer, bytes);
  if (!content) return Error{"checkpoint", content.error().what};
  return read_content(*content);
}

Status write_checkpoint(const std::filesystem::path& path, Checkpoint checkpoint) {
  return write_file_atomically(path, encode(std::move(checkpoint)));
}

std::string set_aside(const std::filesystem::path& path) {
  std::error_code failed;
  for (int k = 1; k < 10000; ++k) {
    const std::string aside = fmt::format("{}.bad-{}", path.string(), k);
    if (std::filesystem::exists(aside, failed)) continue;
    std::filesystem::rename(path, aside, failed);
    return failed ? std::string() : aside;
  }
  return {};
}

FoundCheckpoint find_checkpoint(const std::filesystem::path& path, const std::string& fingerprint) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  const auto bytes = read_file(path);
  auto checkpoint = bytes ? decode(*bytes) : Result<Checkpoint>(bytes.error());
  if (checkpoint && checkpoint->fingerprint == fingerprint) return {std::move(*checkpoint), {}};
  const std::string reason = checkpoint ? "belongs to another problem: " + checkpoint->fingerprint
                                        : checkpoint.error().what;
  return {std::nullopt,
          fmt::format("{} {}; set aside as {}", path.string(), reason, set_aside(path))};
}

}  // namespace grove::peer
