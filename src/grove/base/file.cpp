#include "grove/base/file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace grove {
namespace {

Error system_error(const std::filesystem::path& path, std::string_view action) {
  return Error{path.string(), fmt::format("cannot {}: {}", action, std::strerror(errno))};
}

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(file, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Status write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  std::string temporary = path.string() + ".XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return system_error(path, "create a file there");
  ::fchmod(file, 0644);
  const bool written = write_all(file, content) && ::fsync(file) == 0;
  if (!written) {
    const Error error = system_error(path, "write");
    ::close(file);
    ::unlink(temporary.c_str());
    return error;
  }
  ::close(file);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const Error error = system_error(path, "rename into place");
    ::unlink(temporary.c_str());
    return error;
  }
  return success();
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return Error{path.string(), "is a directory, expected a file"};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return system_error(path, "open");
  std::ostringstream content;
  content << stream.rdbuf();
  if (stream.bad()) return system_error(path, "read");
  return std::move(content).str();
}

}  // namespace grove
