#include "grove/data/fetch.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "grove/data/digest.h"

namespace grove {
namespace {

namespace fs = std::filesystem;

struct CloseCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
using Curl = std::unique_ptr<CURL, CloseCurl>;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error system_error(const fs::path& path, std::string_view action) {
  return Error{path.string(), fmt::format("cannot {}: {}", action, std::strerror(errno))};
}

std::uint64_t size_on_disk(const fs::path& path) {
  std::error_code missing;
  const auto size = fs::file_size(path, missing);
  return missing ? 0 : size;
}

/// The most bytes a right file can have: a compressed file is never larger than its text.
std::uint64_t most_bytes(const PublicSet& set) {
  return set.compressed() ? set.text_bytes : set.bytes;
}

/// Success when the file is the set.
Status check(const PublicSet& set, const fs::path& path) {
  const std::uint64_t size = size_on_disk(path);
  const Result<std::string> sum = sha256_of_file(path);
  if (!sum) return sum.error();
  if (size == set.bytes && *sum == set.sha256) return success();
  if (set.compressed()) {
    const Result<std::string> text_sum = sha256_of_text(path, set.file_name(), set.text_bytes);
    if (text_sum && *text_sum == set.text_sha256) return success();
  }
  if (size != set.bytes)
    return Error{path.string(),
                 fmt::format("wrong size: expected {} bytes, found {} (sha256 expected "
                             "{}, found {})",
                             set.bytes, size, set.sha256, *sum)};
  return Error{path.string(),
               fmt::format("wrong checksum: expected sha256 {}, found {}", set.sha256, *sum)};
}

/// One request: where its bytes go and what stopped it, if it was us.
struct Transfer {
  std::FILE* file = nullptr;
  const FetchOptions* options = nullptr;
  std::uint64_t received_bytes = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t most_bytes = 0;
  bool stopped_by_user = false;
  bool too_large = false;
  bool disk_failed = false;
};

std::size_t on_bytes(const char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  const std::size_t length = size * count;
  transfer.received_bytes += length;
  transfer.too_large = transfer.received_bytes > transfer.most_bytes;
  if (transfer.too_large) return 0;
  transfer.disk_failed = std::fwrite(bytes, 1, length, transfer.file) != length;
  return transfer.disk_failed ? 0 : length;
}

int on_progress(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (!transfer.options->progress) return 0;
  transfer.stopped_by_user = !transfer.options->progress(
      {.received_bytes = transfer.received_bytes, .total_bytes = transfer.total_bytes});
  return transfer.stopped_by_user ? 1 : 0;
}

void prepare(CURL* handle, const std::string& url, Transfer& transfer, std::uint64_t resume_from) {
  const FetchOptions& options = *transfer.options;
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "https,http,file");
  curl_easy_setopt(handle, CURLOPT_REDIR_PROTOCOLS_STR, "https,http");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(handle, CURLOPT_MAXREDIRS, 5L);
  curl_easy_setopt(handle, CURLOPT_FAILONERROR, 1L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // time-outs without SIGALRM: safe with threads
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.connect_seconds));
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_seconds));
  curl_easy_setopt(handle, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(resume_from));
  curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, on_bytes);
  curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, on_progress);
  curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &transfer);
}

struct Answer {
  CURLcode code = CURLE_OK;
  long status = 0;  ///< of HTTP; 0 for files

  /// The server cannot go on from where we are: it ignores ranges, or has fewer bytes than we.
  bool cannot_resume() const {
    constexpr long range_not_satisfiable = 416;
    return code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME ||
           status == range_not_satisfiable;
  }
};

Error explain(const std::string& url, const PublicSet& set, const Transfer& transfer,
              const Answer& answer) {
  if (transfer.stopped_by_user) return Error{url, "download interrupted; run again to go on"};
  if (transfer.too_large)
    return Error{url, fmt::format("wrong size: expected {} bytes, found more", set.bytes)};
  if (transfer.disk_failed)
    return Error{url, "cannot write what was downloaded: is the disk full?"};
  if (answer.code == CURLE_HTTP_RETURNED_ERROR)
    return Error{url, fmt::format("expected the file, the server answered HTTP {}", answer.status)};
  if (answer.code == CURLE_UNSUPPORTED_PROTOCOL)
    return Error{url, "expected an https, http or file address"};
  return Error{url, fmt::format("download failed: {}", curl_easy_strerror(answer.code))};
}

/// Appends to `part` from its present end. Where resuming is refused, starts again from nothing.
Status download(const std::string& url, const PublicSet& set, const FetchOptions& options,
                const fs::path& part) {
  const std::uint64_t resume_from = size_on_disk(part);
  File file(std::fopen(part.c_str(), "ab"));
  if (!file) return system_error(part, "create");
  Transfer transfer{.file = file.get(),
                    .options = &options,
                    .received_bytes = resume_from,
                    .total_bytes = set.bytes,
                    .most_bytes = most_bytes(set)};
  const Curl handle(curl_easy_init());
  prepare(handle.get(), url, transfer, resume_from);
  Answer answer{.code = curl_easy_perform(handle.get())};
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &answer.status);
  if (std::fflush(file.get()) != 0 || ::fsync(::fileno(file.get())) != 0)
    return system_error(part, "write");
  if (answer.code == CURLE_OK) return success();
  file.reset();
  std::error_code ignored;
  if (resume_from > 0 && answer.cannot_resume()) {
    fs::remove(part, ignored);
    return download(url, set, options, part);
  }
  if (transfer.too_large || size_on_disk(part) == 0) fs::remove(part, ignored);
  return explain(url, set, transfer, answer);
}

std::string url_of(const PublicSet& set, const FetchOptions& options) {
  if (!options.url.empty()) return options.url;
  std::string base = options.base_url;
  while (base.ends_with('/')) base.pop_back();
  return fmt::format("{}/{}", base, set.path);
}

}  // namespace

Result<fs::path> fetch(const PublicSet& set, const FetchOptions& options) {
  const fs::path target = options.folder / set.file_name();
  const fs::path part = target.string() + ".part";
  std::error_code problem;
  fs::create_directories(options.folder, problem);
  if (problem) return Error{options.folder.string(), "cannot create: " + problem.message()};
  if (fs::exists(target, problem)) {
    const Status right = check(set, target);
    if (!right)
      return Error{right.error().where, right.error().what + "; remove it to download anew"};
    return target;
  }
  if (size_on_disk(part) > most_bytes(set)) fs::remove(part, problem);
  if (size_on_disk(part) != set.bytes) {
    const Status downloaded = download(url_of(set, options), set, options, part);
    if (!downloaded) return downloaded.error();
  }
  const Status right = check(set, part);
  if (!right) {
    fs::remove(part, problem);
    return right.error();
  }
  fs::rename(part, target, problem);
  if (problem) return Error{target.string(), "cannot rename into place: " + problem.message()};
  return target;
}

}  // namespace grove
