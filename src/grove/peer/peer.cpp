#include "grove/peer/peer.h"

#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include "grove/peer/audit.h"
#include "grove/peer/certificates.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/peer_loop.h"
#include "grove/peer/signer.h"

namespace grove::peer {

std::string missing_text(const PeerEnd& end) {
  std::string text = fmt::format("{}", fmt::join(end.without, ", "));
  if (end.unseen == 0) return text;
  return text + fmt::format("{}{} that nobody has seen", text.empty() ? "" : " and ", end.unseen);
}

Result<PeerEnd> run_peer(PeerConfig config, const PeerHooks& hooks) {
  auto problem = load_problem(config);
  if (!problem) return problem.error();
  if (problem->forbidden) {
    hooks.log->error("forbidden rule={} detail=\"{}\"; nothing was sent", problem->forbidden->rule,
                     problem->forbidden->detail);
    return PeerEnd{.outcome = PeerOutcome::forbidden,
                   .rule = problem->forbidden->rule,
                   .detail = problem->forbidden->detail};
  }
  if (!config.disclosure.enforced())
    hooks.log->warn("disclosure = off: no rule of this site limits what its messages reveal");
  std::unique_ptr<AuditLog> audit;
  if (!config.audit.empty()) {
    auto opened = AuditLog::open(config.audit);
    if (!opened) return opened.error();
    audit = std::move(*opened);
  }
  TlsIdentity identity;
  std::unique_ptr<Signer> signer;
  if (!config.insecure) {
    auto loaded = load_identity({config.ca, config.certificate, config.key});
    if (!loaded) return loaded.error();
    identity = std::move(*loaded);
    if (Status status =
            check_identity({identity.certificate, identity.key}, identity.ca, config.name);
        !status)
      return status.error();
    signer = std::make_unique<Signer>(identity, config.network, config.name);
  }
  return PeerLoop(std::move(config), std::move(*problem),
                  {std::move(identity), std::move(signer), std::move(audit)}, hooks)
      .run();
}

Result<PeerEnd> run_peer(const std::filesystem::path& config_file, const PeerHooks& hooks) {
  auto config = read_peer_config(config_file);
  if (!config) return config.error();
  auto end = run_peer(std::move(*config), hooks);
  if (!end) return Error{config_file.string(), end.error().text()};
  return end;
}

}  // namespace grove::peer
