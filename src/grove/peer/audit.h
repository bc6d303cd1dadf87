#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "grove/base/result.h"

namespace grove::peer {

/// A message that left the site.
struct AuditEntry {
  std::string_view kind;  ///< hello, iterate, weight, heartbeat, status
  std::string_view to;    ///< name of the receiver; empty: the holder of a certificate
  std::string_view bytes;
};

/// An append-only file with one line of JSON per message that was sent: time, kind, receiver, size,
/// SHA-256 of the message, and SHA-256 of the line before. A line that is changed, removed or
/// inserted breaks the chain. Several threads may record.
class AuditLog {
 public:
  /// Continues a file that exists. An error if its chain is broken or another process writes it.
  static Result<std::unique_ptr<AuditLog>> open(const std::filesystem::path& path);
  ~AuditLog();

  /// Writes the line before the message is sent. Returns false if it cannot be written, and from
  /// then on: neither this message nor a later one may be sent.
  bool record(const AuditEntry& entry);
  bool has_failed() const { return failed_; }

 private:
  AuditLog(int file, std::string last_hash) : file_(file), last_hash_(std::move(last_hash)) {}

  std::mutex mutex_;
  int file_;
  std::string last_hash_;
  std::atomic<bool> failed_ = false;
};

struct AuditSummary {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;  ///< of all messages
  std::string last_hash;    ///< of the last line
};
/// Checks every line and the chain. The error names the first line that is wrong.
Result<AuditSummary> verify_audit(const std::filesystem::path& path);

}  // namespace grove::peer
