#include "grove/peer/study/site.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/file.h"
#include "grove/peer/identity_files.h"
#include "grove/peer/openssl_handles.h"
#include "grove/setup/config_file.h"

namespace grove::peer {
namespace {

namespace fs = std::filesystem;

/// The keys of peer.toml that a site decides alone.
const std::set<std::string>& site_keys() {
  static const std::set<std::string> keys{"listen",
                                          "metrics",
                                          "state",
                                          "checkpoint-every",
                                          "forget-after",
                                          "linger",
                                          "stay",
                                          "contact-wait",
                                          "patience",
                                          "heartbeat",
                                          "audit",
                                          "fault-loss",
                                          "fault-delay",
                                          "work",
                                          "disclosure",
                                          "disclosure.min-rows",
                                          "disclosure.max-ratio",
                                          "disclosure.min-count",
                                          "disclosure.min-members",
                                          "disclosure.columns"};
  return keys;
}

std::string site_toml(const SiteRequest& request) {
  return fmt::format(
      "# What the site {} decides alone. The studies that it accepts say the rest.\n"
      "listen = \"{}\"\n"
      "state = \"state\"\n"
      "# metrics = \"127.0.0.1:9100\"\n\n"
      "# The rules of this site; a study that violates one is refused.\n"
      "[disclosure]\n"
      "min-rows = 10\n"
      "min-members = 3\n",
      request.name, request.listen);
}

fs::path stem_of(const fs::path& given) {
  for (const char* ending : {".toml", ".crt", ".key"})
    if (given.extension() == ending) return fs::path(given).replace_extension();
  return given;
}

}  // namespace

Result<Site> make_site(const SiteRequest& request) {
  const auto identity = make_site_certificate(request.name, request.listen, !request.outbound_only,
                                              static_cast<long>(request.days));
  if (!identity) return identity.error();
  const fs::path folder(request.out);
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (Status status = write_identity(folder, request.name, *identity); !status)
    return status.error();
  const fs::path stem = folder / request.name;
  if (!fs::exists(stem.string() + ".toml", failed))
    if (Status status = write_file_atomically(stem.string() + ".toml", site_toml(request)); !status)
      return status.error();
  return read_site(stem.string());
}

Result<Site> renew_site(const Site& site, const SiteRequest& request) {
  const auto identity = make_site_certificate(
      site.name(), request.listen.empty() ? site.certificate.address : request.listen,
      request.listen.empty() ? site.certificate.inbound : !request.outbound_only,
      static_cast<long>(request.days));
  if (!identity) return identity.error();
  for (const char* ending : {".key", ".crt"}) {
    std::error_code failed;
    fs::rename(site.file(ending), site.file(".old") + ending, failed);
    if (failed) return Error{site.file(ending), "cannot be renamed: " + failed.message()};
  }
  if (Status status = write_identity(site.stem.parent_path(), site.name(), *identity); !status)
    return status.error();
  return read_site(site.stem.string());
}

Result<Site> read_site(const std::string& given) {
  Site site{.stem = stem_of(given)};
  const auto text = read_file(site.file(".crt")), key = read_file(site.file(".key"));
  if (!text) return text.error();
  if (!key) return key.error();
  auto certificate = read_site_certificate(*text, site.file(".crt"));
  if (!certificate) return certificate.error();
  site.certificate = std::move(*certificate);
  site.key = *key;
  const auto chain = read_certificates(*text);
  const Key secret = read_key(site.key);
  if (!secret || X509_check_private_key(chain.front().get(), secret.get()) != 1) {
    ERR_clear_error();
    return Error{site.file(".key"),
                 fmt::format("is not the key of {}; expected the one that grove site new made "
                             "with it",
                             site.file(".crt"))};
  }
  site.settings.listen = site.certificate.address;
  std::vector<Option> options = options_of(site.settings);
  std::erase_if(options, [](const Option& option) { return !site_keys().contains(option.name); });
  if (const auto read = read_config_file(site.file(".toml"), options); !read) return read.error();
  const auto folder = fs::absolute(site.stem).parent_path();
  for (std::string* name : {&site.settings.state, &site.settings.audit})
    if (!name->empty() && fs::path(*name).is_relative())
      *name = (folder / *name).lexically_normal().string();
  return site;
}

Result<Site> find_site(const std::vector<std::string>& names,
                       const std::vector<fs::path>& folders) {
  std::set<fs::path> found;
  for (const fs::path& folder : folders)
    for (const std::string& name : names) {
      std::error_code failed;
      const fs::path key = fs::weakly_canonical(folder / (name + ".key"), failed);
      if (fs::exists(key, failed)) found.insert(key);
    }
  if (found.size() == 1) return read_site(found.begin()->string());
  if (found.empty())
    return Error{"--site", fmt::format("no key of {} lies here; expected the name of this site's "
                                       "files, as in --site here/{}",
                                       fmt::join(names, ", "), names.front())};
  return Error{"--site", "the keys of several members lie here; expected the name of one of them"};
}

}  // namespace grove::peer
