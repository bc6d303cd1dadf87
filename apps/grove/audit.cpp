#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.h"
#include "grove/base/file.h"
#include "grove/peer/audit.h"
#include "grove/peer/contributions.h"

namespace grove::app {
namespace {

struct AuditSettings {
  std::string action, file, ca;
};

Result<int> verify_log(const AuditSettings& settings) {
  const auto summary = peer::verify_audit(settings.file);
  if (!summary) return summary.error();
  fmt::print("{}: {} messages, {} bytes; the chain is complete, its last hash is {}\n",
             settings.file, summary->lines, summary->bytes, summary->last_hash);
  return ok;
}

Result<int> verify_contributions(const AuditSettings& settings) {
  if (settings.ca.empty())
    return Error{"ca", "missing; expected the certificate of the network's authority"};
  const auto authority = read_file(settings.ca);
  if (!authority) return authority.error();
  const auto audit = peer::read_audit(settings.file);
  if (!audit) return audit.error();
  const auto report = peer::check_contributions(*audit, *authority);
  if (!report) return Error{settings.file, report.error().text()};
  for (const peer::MemberContribution& one : report->members)
    fmt::print("{:<20} gradient of length {:.6g}{}\n", one.name, one.length,
               one.beyond_bound ? fmt::format(", beyond the bound {:.6g}", audit->bound()) : "");
  if (!report->missing.empty())
    return Error{settings.file,
                 fmt::format("no contribution of {}", fmt::join(report->missing, ", "))};
  if (!report->sum_vanishes())
    return Error{settings.file, fmt::format("the gradients sum to {:.3g}; expected 0: a member has "
                                            "not contributed what it signed",
                                            report->residual)};
  if (report->any_beyond_bound())
    return Error{settings.file, "a gradient is longer than feature-bound and max-scale allow"};
  fmt::print("the gradients sum to 0 (up to {:.3g})\n", report->residual);
  return ok;
}

Result<int> run(const AuditSettings& settings) {
  if (settings.action == "verify") return verify_log(settings);
  if (settings.action == "contributions") return verify_contributions(settings);
  return Error{"audit",
               fmt::format("'{}' is unknown; expected verify or contributions", settings.action)};
}

}  // namespace

Command audit_command() {
  auto settings = std::make_shared<AuditSettings>();
  Command command{.name = "audit",
                  .summary = audit_summary,
                  .positionals = {{"action", true}, {"file", true}},
                  .run = [settings] { return run(*settings); }};
  command.options.push_back(
      text_option({"action", "verify|contributions",
                   "check a log and its chain, or who contributed what to an answer", "Audit"},
                  settings->action));
  command.options.push_back(text_option(
      {"file", "FILE", "log of `grove peer --audit`, or contributions.bin of a peer", "Audit"},
      settings->file));
  command.options.push_back(text_option(
      {"ca", "FILE", "of contributions: certificate of the network's authority", "Audit"},
      settings->ca));
  return command;
}

}  // namespace grove::app
