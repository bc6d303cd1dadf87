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

constexpr std::string_view content_format = "grove-peer-state/2";

void put_texts(ByteWriter& writer, const std::vector<std::string>& texts) {
  writer.put(static_cast<std::uint64_t>(texts.size()));
  for (const std::string& text : texts) put_text(writer, text);
}

bool get_texts(ByteReader& reader, std::vector<std::string>& texts, std::size_t max_size) {
  std::uint64_t count = 0;
  reader.get(count);
  if (!reader.ok() || count > max_size) return false;
  for (std::uint64_t k = 0; k < count; ++k)
    if (!get_text(reader, texts.emplace_back(), max_size)) return false;
  return true;
}

void put_owner(ByteWriter& writer, const CheckpointOwner& owner) {
  put_text(writer, owner.network);
  put_text(writer, owner.peer);
  put_text(writer, owner.data);
  std::vector<std::string> settings;
  for (const auto& [key, value] : owner.schema) {
    settings.push_back(key);
    settings.push_back(value);
  }
  put_texts(writer, settings);
}

bool get_owner(ByteReader& reader, CheckpointOwner& owner, std::size_t max_size) {
  std::vector<std::string> settings;
  if (!get_text(reader, owner.network, max_size) || !get_text(reader, owner.peer, max_size) ||
      !get_text(reader, owner.data, max_size) || !get_texts(reader, settings, max_size) ||
      settings.size() % 2 != 0)
    return false;
  for (std::size_t k = 0; k < settings.size(); k += 2)
    owner.schema.push_back({settings[k], settings[k + 1]});
  return true;
}

Result<Checkpoint> read_content(std::string_view content) {
  const Error bad{"checkpoint", "has invalid content"};
  Checkpoint result;
  ByteReader reader(content);
  const std::size_t limit = content.size();
  std::string format;
  if (!get_text(reader, format, limit) || format != content_format)
    return Error{"checkpoint", fmt::format("is of another version; expected {}", content_format)};
  if (!get_owner(reader, result.owner, limit)) return bad;
  reader.get(result.phase);
  if (!get_text(reader, result.run, limit) || !get_texts(reader, result.members, limit)) return bad;
  reader.get(result.residual);
  reader.get(result.sequence);
  reader.get(result.holds_regularizer);
  if (!reader.ok() || result.phase > SavedPhase::stopped) return bad;
  if (!get_texts(reader, result.neighbours, limit)) return bad;
  for (std::size_t k = 0; k < result.neighbours.size(); ++k)
    reader.get(result.last_received.emplace_back());
  if (!get_texts(reader, result.proofs, limit)) return bad;
  if (result.proofs.size() != result.neighbours.size()) return bad;
  if (!get_text(reader, result.agent, limit) || !reader.finished()) return bad;
  return result;
}

}  // namespace

std::optional<std::string> mismatch(const CheckpointOwner& found, const CheckpointOwner& expected) {
  if (found.network != expected.network)
    return fmt::format("belongs to the network '{}', not '{}'", found.network, expected.network);
  if (found.peer != expected.peer)
    return fmt::format("belongs to the peer '{}', not '{}'", found.peer, expected.peer);
  if (const auto difference = first_difference(expected.schema, found.schema))
    return fmt::format("belongs to another problem: {} is '{}' there and '{}' here",
                       difference->key, difference->other, difference->own);
  if (found.data != expected.data) return "was written with other data than this peer has now";
  return std::nullopt;
}

/// Inserts the header in front of the agent's state, which may be too large to copy.
std::string encode(Checkpoint checkpoint) {
  ByteWriter header;
  put_text(header, content_format);
  put_owner(header, checkpoint.owner);
  header.put(checkpoint.phase);
  put_text(header, checkpoint.run);
  put_texts(header, checkpoint.members);
  header.put(checkpoint.residual);
  header.put(checkpoint.sequence);
  header.put(checkpoint.holds_regularizer);
  put_texts(header, checkpoint.neighbours);
  for (const std::uint64_t sequence : checkpoint.last_received) header.put(sequence);
  checkpoint.proofs.resize(checkpoint.neighbours.size());
  put_texts(header, checkpoint.proofs);
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

FoundCheckpoint find_checkpoint(const std::filesystem::path& path, const CheckpointOwner& owner) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  std::string reason = "is not a file";  // to open a pipe would wait for ever
  if (std::filesystem::is_regular_file(path, ignored)) {
    const auto bytes = read_file(path);
    auto checkpoint = bytes ? decode(*bytes) : Result<Checkpoint>(bytes.error());
    const auto difference =
        checkpoint ? mismatch(checkpoint->owner, owner) : std::optional(checkpoint.error().what);
    if (!difference) return {std::move(*checkpoint), {}};
    reason = *difference;
  }
  return {std::nullopt,
          fmt::format("{} {}; set aside as {}", path.string(), reason, set_aside(path))};
}

}  // namespace grove::peer
