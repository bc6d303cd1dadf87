#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "grove/peer/peer_config.h"
#include "grove/peer/study/site_certificate.h"

namespace grove::peer {

/// A site: NAME.key, its certificate NAME.crt, and NAME.toml with what it decides alone: where it
/// listens, where its state lies, and its rules of disclosure.
struct Site {
  std::filesystem::path stem;  ///< of its files, as data/amsterdam
  SiteCertificate certificate;
  std::string key;
  PeerConfig settings;

  const std::string& name() const { return certificate.name; }
  std::string file(const char* ending) const { return stem.string() + ending; }
};

struct SiteRequest {
  std::string name, listen;
  std::string out = ".";
  bool outbound_only = false;
  std::uint64_t days = 730;
};

/// Writes the three files of a new site.
Result<Site> make_site(const SiteRequest& request);

/// A new key and certificate for the same name; those of before are kept as NAME.old.key and
/// NAME.old.crt.
Result<Site> renew_site(const Site& site, const SiteRequest& request);

/// By the name of one of its files, or their stem.
Result<Site> read_site(const std::string& given);

/// The one site among `names` whose key lies in one of the folders.
Result<Site> find_site(const std::vector<std::string>& names,
                       const std::vector<std::filesystem::path>& folders);

}  // namespace grove::peer
