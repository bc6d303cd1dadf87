#include "grove/peer/audit.h"

#include <chrono>
#include <fstream>

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "grove/data/digest.h"

namespace grove::peer {
namespace {

const std::string no_line(64, '0');  ///< stands for the line before the first

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.finish();
}

/// The time of the wall clock, in UTC.
std::string time_text() {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(now)), milliseconds);
}

bool is_entry(const nlohmann::json& line) {
  if (!line.is_object()) return false;
  for (const char* key : {"time", "kind", "to", "sha256", "previous"})
    if (!line.contains(key) || !line[key].is_string()) return false;
  return line.contains("bytes") && line["bytes"].is_number_unsigned();
}

}  // namespace

Result<AuditSummary> verify_audit(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) return Error{path.string(), "cannot be read; expected a file of --audit"};
  AuditSummary summary{.last_hash = no_line};
  const auto where = [&] { return fmt::format("{}:{}", path.string(), summary.lines + 1); };
  for (std::string text; std::getline(file, text);) {
    if (file.eof()) return Error{where(), "the line is not complete"};
    const auto line = nlohmann::json::parse(text, nullptr, false);
    if (!is_entry(line)) return Error{where(), "is not a line of an audit log"};
    if (line["previous"] != summary.last_hash)
      return Error{where(),
                   "the chain is broken: the line before was changed, removed or inserted"};
    ++summary.lines;
    summary.bytes += line["bytes"].get<std::uint64_t>();
    summary.last_hash = sha256(text);
  }
  return summary;
}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return Error{"audit", path.string() + " cannot be written"};
  auto log = std::unique_ptr<AuditLog>(new AuditLog(file, no_line));
  if (::flock(file, LOCK_EX | LOCK_NB) != 0)
    return Error{"audit", path.string() + " is in use by another process"};
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))  // a device may never end
    return Error{"audit", path.string() + " is not a regular file"};
  const auto found = verify_audit(path);
  if (!found) return Error{"audit", found.error().text()};
  log->last_hash_ = found->last_hash;
  return log;
}

AuditLog::~AuditLog() {
  if (file_ >= 0) ::close(file_);
}

bool AuditLog::record(const AuditEntry& entry) {
  nlohmann::ordered_json line{{"time", time_text()},
                              {"kind", entry.kind},
                              {"to", entry.to},
                              {"bytes", entry.bytes.size()},
                              {"sha256", sha256(entry.bytes)}};
  const std::lock_guard lock(mutex_);
  if (failed_) return false;
  line["previous"] = last_hash_;
  const std::string text = line.dump();
  const std::string with_end = text + "\n";
  const off_t before = ::lseek(file_, 0, SEEK_END);
  if (::write(file_, with_end.data(), with_end.size()) != static_cast<ssize_t>(with_end.size())) {
    failed_ = true;
    (void)::ftruncate(file_, before);  // removes a part of a line, as a full disk leaves it
    return false;
  }
  last_hash_ = sha256(text);
  return true;
}

}  // namespace grove::peer
