#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "command.h"
#include "grove/peer/operator.h"
#include "grove/peer/peer.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/process_settings.h"
#include "terminal.h"

namespace grove::app {
namespace {

std::shared_ptr<spdlog::logger> make_log() {
  auto log =
      std::make_shared<spdlog::logger>("peer", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  log->flush_on(spdlog::level::info);
  return log;
}

struct PeerSettings {
  std::string action, config_file, audit;
};

int exit_code(const peer::PeerEnd& end) {
  using peer::PeerOutcome;
  switch (end.outcome) {
    case PeerOutcome::converged:
    case PeerOutcome::stopped:
    case PeerOutcome::left:
      return ok;
    case PeerOutcome::converged_without:
      fmt::print(stderr, "grove: peer: converged without {}\n", missing_text(end));
      return ended_without_members;
    case PeerOutcome::peer_lost:
      fmt::print(stderr,
                 "grove: peer: ended without a model: no other member was there for the time of "
                 "forget-after; missing: {}\n",
                 missing_text(end));
      return ended_without_members;
    case PeerOutcome::duplicate:
      fmt::print(stderr,
                 "grove: peer: another process runs with the name and key of this peer, and "
                 "started earlier; expected one process for each name\n");
      return transport_failed;
    case PeerOutcome::forbidden:
      fmt::print(stderr, "grove: peer: forbidden by {}: {}\n", end.rule, end.detail);
      return disclosure_forbidden;
    case PeerOutcome::unaudited:
      fmt::print(stderr, "grove: peer: the audit log cannot be written; nothing more was sent\n");
      return transport_failed;
    case PeerOutcome::unsaved:
    case PeerOutcome::changed:  // run_peer() goes on
      break;
  }
  return transport_failed;
}

/// Asks the running peer of this configuration to announce that it leaves, and to end.
int leave(const peer::PeerConfig& config) {
  peer::TlsIdentity identity;
  if (!config.insecure) {
    auto loaded = peer::load_identity({config.ca, config.certificate, config.key});
    if (!loaded) return fail(loaded.error());
    identity = std::move(*loaded);
  }
  const Status asked = ask_leave({config.name, config.listen, {}}, identity);
  if (asked) return ok;
  fail(asked.error());
  return transport_failed;
}

int run(const PeerSettings& settings) {
  if (settings.config_file.empty()) return fail({"--config", "missing; expected peer.toml"});
  if (!settings.action.empty() && settings.action != "leave")
    return fail(
        {"peer", fmt::format("'{}' is unknown; expected leave or nothing", settings.action)});
  auto config = peer::read_peer_config(settings.config_file);
  if (!config) return fail(config.error());
  if (settings.action == "leave") return leave(*config);
  if (!settings.audit.empty()) config->audit = settings.audit;
  peer::limit_process_memory();
  peer::silence_protobuf();
  peer::raise_file_limit();
  watch_for_interrupts();
  const peer::PeerHooks hooks{.log = make_log(), .interrupted = interrupted};
  const auto end = peer::run_peer(std::move(*config), hooks);
  if (!end) return fail({settings.config_file, end.error().text()});
  return exit_code(*end);
}

}  // namespace

Command peer_command() {
  auto settings = std::make_shared<PeerSettings>();
  Command command{
      .name = "peer", .summary = peer_summary, .positionals = {{"action"}}, .run = [settings] {
        return run(*settings);
      }};
  command.options.push_back(text_option(
      {"action", "leave", "take the running peer out of its network", "Peer"}, settings->action));
  command.options.push_back(text_option(
      {"config", "FILE.toml", "configuration of the peer", "Peer"}, settings->config_file));
  command.options.push_back(text_option(
      {"audit", "FILE", "append a line for every message that is sent", "Peer"}, settings->audit));
  return command;
}

}  // namespace grove::app
