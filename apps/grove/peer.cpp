#include <memory>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "command.h"
#include "grove/peer/peer.h"
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

int run(const std::string& config_file) {
  if (config_file.empty()) return fail({"--config", "missing; expected peer.toml"});
  peer::limit_process_memory();
  peer::silence_protobuf();
  watch_for_interrupts();
  const peer::PeerHooks hooks{.log = make_log(), .interrupted = interrupted};
  const auto outcome = peer::run_peer(config_file, hooks);
  if (!outcome) return fail(outcome.error());
  return *outcome == peer::PeerOutcome::unsaved ? transport_failed : ok;
}

}  // namespace

Command peer_command() {
  auto config_file = std::make_shared<std::string>();
  Command command{
      .name = "peer", .summary = peer_summary, .run = [config_file] { return run(*config_file); }};
  command.options.push_back(
      text_option({"config", "FILE.toml", "configuration of the peer", "Peer"}, *config_file));
  return command;
}

}  // namespace grove::app
