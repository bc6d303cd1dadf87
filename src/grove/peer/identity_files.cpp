#include "grove/peer/identity_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "grove/base/file.h"

namespace grove::peer {
namespace {

/// Creates the file with mode 600, so that other users can never read it.
Status write_key(const std::filesystem::path& path, const std::string& key) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return Error{path.string(), "cannot be created; expected a new file"};
  const bool written = ::write(file, key.data(), key.size()) == static_cast<ssize_t>(key.size());
  if (::close(file) != 0 || !written) return Error{path.string(), "cannot be written"};
  return success();
}

}  // namespace

Status write_identity(const std::filesystem::path& folder, const std::string& stem,
                      const CertifiedKey& identity) {
  if (Status status = write_key(folder / (stem + ".key"), identity.key); !status) return status;
  return write_file_atomically(folder / (stem + ".crt"), identity.certificate);
}

}  // namespace grove::peer
