#include "grove/peer/study/doctor.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "grove/peer/operator.h"
#include "grove/peer/study/study_run.h"

namespace grove::peer {
namespace {

using Kind = Finding::Kind;
using nlohmann::json;

constexpr double day = 24 * 60 * 60, few_days = 14, large_clock_error = 60;
constexpr double answer_seconds = 3;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void look_at_certificates(const Study& study, const Site& site, std::vector<Finding>& findings) {
  for (const SiteCertificate& one : study.members) {
    const double days = seconds_until_expiry(one.pem) / day;
    const bool own = one.name == site.name();
    if (days < few_days)
      findings.push_back({own ? Kind::bad : Kind::others, "certificate of " + one.name,
                          fmt::format("expires in {:.1f} days: renew it with grove site renew, and "
                                      "make a version of the study with it",
                                      days)});
    else if (own)
      findings.push_back({Kind::good, "certificate", fmt::format("valid for {:.0f} days", days)});
  }
  struct stat status {};
  const bool known = ::stat(site.file(".key").c_str(), &status) == 0;
  if (known && (status.st_mode & 077) != 0)
    findings.push_back({Kind::bad, "key",
                        fmt::format("{} may be read by others (mode {:o}): chmod 600",
                                    site.file(".key"), status.st_mode & 0777)});
  else
    findings.push_back({Kind::good, "key", "only its owner can read it"});
}

void look_at_data(const Study& study, const Site& site, const std::string& data,
                  std::vector<Finding>& findings) {
  const auto accepted = std::ranges::find(study.acceptances, site.name(), &Acceptance::member);
  if (accepted == study.acceptances.end())
    findings.push_back({Kind::bad, "acceptance", "this site has not accepted the study"});
  else
    findings.push_back({Kind::good, "acceptance", "accepted at " + accepted->time});
  if (const auto waiting = study.waiting(); !waiting.empty())
    findings.push_back({Kind::others, "acceptances",
                        fmt::format("none of {} so far; running peers learn them from each "
                                    "other",
                                    fmt::join(waiting, ", "))});
  if (data.empty()) return;
  const auto digest = data_digest(data, site.key);
  const auto config = peer_config_of(study, site, data);
  const auto checked = config ? check_data(study, *config) : Result<StudyData>(config.error());
  if (!digest || !checked)
    findings.push_back({Kind::bad, "data", (digest ? checked.error() : digest.error()).text()});
  else if (checked->forbidden)
    findings.push_back(
        {Kind::bad, "data",
         fmt::format("{} forbids them: {}", checked->forbidden->rule, checked->forbidden->detail)});
  else if (accepted != study.acceptances.end() && accepted->data != *digest)
    findings.push_back({Kind::bad, "data", "the study was accepted for other data"});
  else
    findings.push_back(
        {Kind::good, "data", fmt::format("{} rows; columns and rules are met", checked->rows)});
}

/// HOST:PORT, the host perhaps in brackets.
bool can_listen(const std::string& address) {
  const auto colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  if (::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &wanted, &found) != 0) return false;
  const int socket = ::socket(found->ai_family, found->ai_socktype, found->ai_protocol), on = 1;
  const bool bound =
      socket >= 0 && ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
      ::bind(socket, found->ai_addr, found->ai_addrlen) == 0 && ::listen(socket, 1) == 0;
  if (socket >= 0) ::close(socket);
  ::freeaddrinfo(found);
  return bound;
}

/// The peer of this site, or the port where it would listen.
void look_at_own_peer(const Site& site, const TlsIdentity& identity,
                      std::vector<Finding>& findings) {
  const std::string& listen = site.settings.listen;
  const auto answer = ask_status({site.name(), listen, {}}, identity, answer_seconds);
  if (answer) {
    const std::string waiting = answer->value("waiting_for", "");
    findings.push_back({Kind::good, "peer",
                        fmt::format("runs, phase {}{}", answer->value("phase", "unknown"),
                                    waiting.empty() ? "" : ", waits for " + waiting)});
  } else if (can_listen(listen)) {
    findings.push_back({Kind::good, "port", fmt::format("{} is free; no peer runs", listen)});
  } else {
    findings.push_back({Kind::bad, "port",
                        fmt::format("cannot listen on {}: another program uses it, or it is no "
                                    "address of this machine (`listen` in {})",
                                    listen, site.file(".toml"))});
  }
}

void look_at_neighbour(const SiteCertificate& neighbour, const TlsIdentity& identity,
                       std::vector<Finding>& findings) {
  if (!neighbour.inbound) {
    findings.push_back({Kind::good, neighbour.name, "connects to this site by itself"});
    return;
  }
  const auto answer = ask_status({neighbour.name, neighbour.address, {}}, identity, answer_seconds);
  if (!answer) {
    findings.push_back(
        {Kind::others, neighbour.name, reason_of(answer.error().what, neighbour.address)});
    return;
  }
  const double ahead = answer->value("time", 0.0) - wall_seconds();
  if (answer->contains("time") && std::abs(ahead) > large_clock_error)
    findings.push_back(
        {Kind::bad, "clock",
         fmt::format("that of {} is {:.0f} s {}: one of the two is wrong", neighbour.name,
                     std::abs(ahead), ahead > 0 ? "ahead" : "behind")});
  findings.push_back({Kind::good, neighbour.name,
                      fmt::format("answers, phase {}", answer->value("phase", "unknown"))});
}

}  // namespace

std::string reason_of(const std::string& error, const std::string& address) {
  const auto says = [&](std::string_view words) { return error.find(words) != std::string::npos; };
  if (says("refused")) return fmt::format("nothing listens at {}: its peer does not run", address);
  if (says("DNS") || says("resol"))
    return fmt::format("the name in {} has no address: ask for the right one", address);
  if (says("andshake") || says("SSL") || says("ertificate"))
    return fmt::format("whoever listens at {} has another certificate than the study", address);
  if (says("eadline") || says("imed out") || says("timeout") || says("unreachable") ||
      says("No route"))
    return fmt::format("no answer from {}: a firewall, a wrong address, or the machine is off",
                       address);
  return fmt::format("{} {}", address, error);
}

std::vector<Finding> diagnose(const Study& given, const Site& site, const std::string& data) {
  std::vector<Finding> findings;
  Study study = given;
  if (const auto config = peer_config_of(study, site, data); !config) {
    findings.push_back({Kind::bad, "study", config.error().text()});
    return findings;
  }
  findings.push_back(
      {Kind::good, "study", fmt::format("version {} of {}, unchanged", study.version, study.name)});
  if (const auto kept = read_study(kept_study(study, site));
      kept && kept->digest() == study.digest())
    if (Status merged = merge(study, *kept); !merged) return findings;
  look_at_certificates(study, site, findings);
  look_at_data(study, site, data, findings);
  const TlsIdentity identity{trust_store(study), site.certificate.pem, site.key};
  look_at_own_peer(site, identity, findings);
  for (const std::size_t k : study.neighbours(*study.member(site.name())))
    look_at_neighbour(study.members[k], identity, findings);
  return findings;
}

}  // namespace grove::peer
