#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "command.h"
#include "grove/peer/audit.h"

namespace grove::app {
namespace {

struct AuditSettings {
  std::string action, file;
};

Result<int> run(const AuditSettings& settings) {
  if (settings.action != "verify")
    return Error{"audit", fmt::format("'{}' is unknown; expected verify", settings.action)};
  const auto summary = peer::verify_audit(settings.file);
  if (!summary) return summary.error();
  fmt::print("{}: {} messages, {} bytes; the chain is complete, its last hash is {}\n",
             settings.file, summary->lines, summary->bytes, summary->last_hash);
  return ok;
}

}  // namespace

Command audit_command() {
  auto settings = std::make_shared<AuditSettings>();
  Command command{.name = "audit",
                  .summary = audit_summary,
                  .positionals = {{"action", true}, {"file", true}},
                  .run = [settings] { return run(*settings); }};
  command.options.push_back(text_option(
      {"action", "verify", "check every line and the chain", "Audit"}, settings->action));
  command.options.push_back(text_option(
      {"file", "FILE", "log that `grove peer --audit` wrote", "Audit"}, settings->file));
  return command;
}

}  // namespace grove::app
