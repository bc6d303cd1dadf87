#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "command.h"
#include "grove/peer/study/site.h"

namespace grove::app {
namespace {

struct SiteSettings {
  std::string action;
  peer::SiteRequest request;
};

void print_site(const peer::Site& site) {
  const peer::SiteCertificate& own = site.certificate;
  constexpr double seconds_per_day = 24 * 60 * 60;
  fmt::print("site         {}\naddress      {}{}\nfingerprint  {}\nvalid for    {:.0f} days\n",
             own.name, own.address,
             own.inbound ? "" : " (nobody can connect to it: it dials its neighbours)",
             own.fingerprint, peer::seconds_until_expiry(own.pem) / seconds_per_day);
}

void print_files(const peer::Site& site, const char* done) {
  fmt::print(
      "\n{} {} (secret: never leaves this machine), {} (give it to the other members) and {} "
      "(what this site decides alone).\n",
      done, site.file(".key"), site.file(".crt"), site.file(".toml"));
}

Result<int> run_site(const SiteSettings& settings) {
  if (settings.request.name.empty())
    return Error{"site " + settings.action, "expected the name of the site"};
  if (settings.action == "new") {
    if (settings.request.listen.empty())
      return Error{"--listen",
                   "missing; expected HOST:PORT where the other members reach this site"};
    const auto site = make_site(settings.request);
    if (!site) return site.error();
    print_site(*site);
    print_files(*site, "Wrote");
    return ok;
  }
  if (settings.action != "show" && settings.action != "renew")
    return Error{"site",
                 fmt::format("'{}' is unknown; expected new, show or renew", settings.action)};
  auto site = peer::read_site(settings.request.out == "."
                                  ? settings.request.name
                                  : settings.request.out + "/" + settings.request.name);
  if (!site) return site.error();
  if (settings.action == "renew") {
    site = renew_site(*site, settings.request);
    if (!site) return site.error();
  }
  print_site(*site);
  if (settings.action == "renew") {
    print_files(*site, "Wrote");
    fmt::print("Its studies need a new version with it: grove study change STUDY --replace {}\n",
               site->file(".crt"));
  }
  return ok;
}

}  // namespace

Command site_command() {
  auto settings = std::make_shared<SiteSettings>();
  Command command{.name = "site",
                  .summary = site_summary,
                  .positionals = {{"action", true}, {"name"}},
                  .run = [settings] { return run_site(*settings); }};
  auto& options = command.options;
  peer::SiteRequest& request = settings->request;
  options.push_back(text_option({"action", "new | show | renew",
                                 "make a key and a certificate, show them, or make others", "Site"},
                                settings->action));
  options.push_back(text_option(
      {"name", "NAME", "of the site; parts may have dots between them", "Site"}, request.name));
  options.push_back(text_option(
      {"listen", "HOST:PORT", "where the other members reach this site", "Site"}, request.listen));
  options.push_back(
      switch_option({"outbound-only", "", "nobody can connect to this site: it dials", "Site"},
                    request.outbound_only));
  options.push_back(count_option({"days", "N", "for which the certificate is valid (730)", "Site"},
                                 request.days, 1, 36'500));
  options.push_back(
      text_option({"out", "DIR", "folder of the site's files (this one)", "Site"}, request.out));
  return command;
}

}  // namespace grove::app
