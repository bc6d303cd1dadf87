#include "grove/peer/peer.h"

#include <fmt/ranges.h>
#include <spdlog/logger.h>

#include "grove/base/file.h"
#include "grove/data/digest.h"
#include "grove/peer/audit.h"
#include "grove/peer/certificates.h"
#include "grove/peer/fit_agreement.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/peer_loop.h"
#include "grove/peer/signer.h"
#include "grove/peer/study/acceptances.h"

namespace grove::peer {

std::string missing_text(const PeerEnd& end) {
  std::string text = fmt::format("{}", fmt::join(end.without, ", "));
  if (end.unseen == 0) return text;
  return text + fmt::format("{}{} that nobody has seen", text.empty() ? "" : " and ", end.unseen);
}

namespace {

PeerEnd forbidden_end(const DisclosureViolation& violation, const char* sent,
                      const PeerHooks& hooks) {
  hooks.log->error("forbidden rule={} detail=\"{}\"; {}", violation.rule, violation.detail, sent);
  return {.outcome = PeerOutcome::forbidden, .rule = violation.rule, .detail = violation.detail};
}

Result<PeerLoop::Security> open_security(const PeerConfig& config, const PeerHooks& hooks) {
  PeerLoop::Security security;
  if (!config.disclosure.enforced())
    hooks.log->warn("disclosure = off: no rule of this site limits what its messages reveal");
  if (!config.audit.empty()) {
    auto opened = AuditLog::open(config.audit);
    if (!opened) return opened.error();
    security.audit = std::move(*opened);
  }
  if (config.insecure) return security;
  auto loaded = load_identity({config.ca, config.certificate, config.key});
  if (!loaded) return loaded.error();
  security.identity = std::move(*loaded);
  if (Status status = check_identity({security.identity.certificate, security.identity.key},
                                     security.identity.ca, config.name);
      !status)
    return status.error();
  security.signer = std::make_shared<Signer>(security.identity, config.network, config.name);
  return security;
}

std::string settings_text(const PeerConfig& config) { return to_text(fit_schema(config)); }

/// Agreement and training, again while members come or change their tables.
Result<PeerEnd> run_fit(const PeerConfig& config, const PeerHooks& hooks) {
  const auto table = read_table(config.training.data, config.fit.table);
  if (!table) return table.error();
  if (const auto violation = find_fit_violation(config, *table))
    return forbidden_end(*violation, "nothing was sent", hooks);
  const auto security = open_security(config, hooks);
  if (!security) return security.error();
  const auto digest = sha256_of_file(config.training.data);
  if (!digest) return digest.error();
  Signer* signer = security->signer.get();
  const auto saved = read_file(std::filesystem::path(config.state) / "fit.bin");
  const auto gossip =
      resume_gossip(FitGossipOptions{.network = config.network,
                                     .self = config.name,
                                     .expected = config.members,
                                     .process = process_number(),
                                     .settings = settings_text(config),
                                     .data = signer != nullptr ? signer->keyed(*digest) : *digest,
                                     .secret = random_key(),
                                     .signer = signer},
                    saved ? *saved : std::string());
  for (;;) {
    PeerConfig resolved = config;
    auto agreed =
        FitAgreement({resolved, *gossip, signer, security->audit.get(), security->identity, hooks})
            .run(*table);
    if (!agreed) return agreed.error();
    if (!*agreed) return PeerEnd{.outcome = PeerOutcome::left};
    auto problem = fit_problem(resolved, std::move(**agreed));
    if (!problem) return problem.error();
    if (problem->forbidden)
      return forbidden_end(*problem->forbidden, "only its summary was sent", hooks);
    auto end = PeerLoop(std::move(resolved), std::move(*problem), *security, hooks, gossip).run();
    if (!end || end->outcome != PeerOutcome::changed) return end;
    hooks.log->info("the tables of the members have changed: agreeing again");
  }
}

Result<PeerEnd> run_once(PeerConfig config, const PeerHooks& hooks) {
  if (fits_formula(config)) return run_fit(config, hooks);
  if (config.acceptances && config.training.weighting == Weighting::sample)
    config.scale = config.acceptances->scale();
  auto problem = load_problem(config);
  if (!problem) return problem.error();
  if (problem->forbidden) return forbidden_end(*problem->forbidden, "nothing was sent", hooks);
  auto security = open_security(config, hooks);
  if (!security) return security.error();
  return PeerLoop(std::move(config), std::move(*problem), std::move(*security), hooks).run();
}

}  // namespace

Result<PeerEnd> run_peer(PeerConfig config, const PeerHooks& hooks) {
  for (;;) {
    auto end = run_once(config, hooks);
    if (!end || !end->again) return end;
    if (end->next) config = *end->next;
    hooks.log->info("starting again: {}", end->next ? "this peer was asked to train anew"
                                                    : "the members' rows have become known, or "
                                                      "have changed");
  }
}

Result<PeerEnd> run_peer(const std::filesystem::path& config_file, const PeerHooks& hooks) {
  auto config = read_peer_config(config_file);
  if (!config) return config.error();
  PeerHooks reading = hooks;
  if (!reading.reload)
    reading.reload = [config_file]() -> Result<std::shared_ptr<PeerConfig>> {
      auto again = read_peer_config(config_file);
      if (!again) return again.error();
      return std::make_shared<PeerConfig>(std::move(*again));
    };
  auto end = run_peer(std::move(*config), reading);
  if (!end) return Error{config_file.string(), end.error().text()};
  return end;
}

}  // namespace grove::peer
