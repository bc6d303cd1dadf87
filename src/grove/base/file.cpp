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

namespace fs = std::filesystem;

Error system_error(const fs::path& path, std::string_view action) {
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

/// Where a chain of symbolic links ends, whether or not anything is there.
fs::path end_of_links(fs::path path) {
  constexpr int most_links = 40;  // as Linux follows them
  std::error_code error;
  for (int link = 0; link < most_links && fs::is_symlink(path, error); ++link)
    path = path.parent_path() / fs::read_symlink(path, error);
  return path;
}

/// Something to write to rather than to replace: a device, pipe or socket.
bool is_special(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

Status write_in_place(const fs::path& path, std::string_view content) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return system_error(path, "open");
  Status status = success();
  if (!write_all(file, content)) status = system_error(path, "write");
  ::close(file);
  return status;
}

struct Temporary {
  std::string name;  ///< empty: it has none yet
  int file = -1;     ///< errno says why there is none
};

/// Calls `make(name)` with names beside `path` until one is free. Returns what it returned.
template <class Make>
int with_free_name(const fs::path& path, std::string& name, const Make& make) {
  constexpr int attempts = 100;  // names are taken by other threads, or by a process that crashed
  int made = -1;
  for (int k = 0; k < attempts && (k == 0 || (made < 0 && errno == EEXIST)); ++k) {
    name = fmt::format("{}.{}-{}.part", path.string(), ::getpid(), k);
    made = make(name);
  }
  return made;
}

/// How a file without a name can be reached.
std::string way_to(int file) { return fmt::format("/proc/self/fd/{}", file); }

/// A new file in the folder of `path`, with the permissions of the one there, or as the umask has
/// them.
Temporary create_beside(const fs::path& path) {
  Temporary temporary;
  if (::access("/proc/self/fd", X_OK) == 0)
    temporary.file = ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (temporary.file < 0)
    temporary.file = with_free_name(path, temporary.name, [](const std::string& name) {
      return ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    });
  struct stat present {};
  if (temporary.file >= 0 && ::stat(path.c_str(), &present) == 0)
    ::fchmod(temporary.file, present.st_mode & 07777);
  return temporary;
}

/// Gives the whole file its name. A file that is there already can only be replaced by one that has
/// a name itself, for a moment.
bool put_in_place(Temporary& temporary, const fs::path& target) {
  if (temporary.name.empty()) {
    const std::string from = way_to(temporary.file);
    const auto link_to = [&](const std::string& name) {
      return ::linkat(AT_FDCWD, from.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW);
    };
    if (link_to(target.string()) == 0) return true;
    if (errno != EEXIST || with_free_name(target, temporary.name, link_to) != 0) return false;
  }
  return ::rename(temporary.name.c_str(), target.c_str()) == 0;
}

}  // namespace

Status write_file_atomically(const fs::path& path, std::string_view content) {
  if (is_special(path)) return write_in_place(path, content);
  const fs::path target = end_of_links(path);
  Temporary temporary = create_beside(target);
  if (temporary.file < 0) return system_error(path, "create a file there");
  Status status = success();
  if (!write_all(temporary.file, content) || ::fsync(temporary.file) != 0)
    status = system_error(path, "write");
  if (status && !put_in_place(temporary, target)) status = system_error(path, "put in place");
  ::close(temporary.file);
  if (!status && !temporary.name.empty()) ::unlink(temporary.name.c_str());
  return status;
}

Status check_writable(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return Error{path.string(), "is a folder; expected a file name"};
  if (is_special(path))
    return ::access(path.c_str(), W_OK) == 0 ? success() : system_error(path, "write");
  const fs::path folder = folder_of(end_of_links(path));
  if (!fs::is_directory(folder, error))
    return Error{path.string(), "folder " + folder.string() + " does not exist"};
  if (::access(folder.c_str(), W_OK) != 0)
    return Error{path.string(), "folder " + folder.string() + " is not writable"};
  return success();
}

Result<std::string> read_file(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return Error{path.string(), "is a directory, expected a file"};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return system_error(path, "open");
  std::ostringstream content;
  content << stream.rdbuf();
  if (stream.bad()) return system_error(path, "read");
  return std::move(content).str();
}

}  // namespace grove
