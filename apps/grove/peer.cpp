#include <cstdio>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "command.h"
#include "grove/peer/json_log.h"
#include "grove/peer/operator.h"
#include "grove/peer/peer.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/process_settings.h"
#include "grove/peer/study/study_run.h"
#include "study.h"
#include "terminal.h"

namespace grove::app {
namespace {

std::shared_ptr<spdlog::logger> make_log(peer::LogFormat format) {
  auto log =
      std::make_shared<spdlog::logger>("peer", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  if (format == peer::LogFormat::json)
    log->set_formatter(peer::json_log_formatter());
  else
    log->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  log->flush_on(spdlog::level::info);
  return log;
}

struct PeerSettings {
  std::string action, config_file, audit, study, data, site, listen;
  bool stay = false;
  peer::LogFormat log_format = peer::LogFormat::text;
  bool log_format_given = false;  ///< if not, that of the configuration
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

/// What a running peer can be asked.
using Request = Status (*)(const peer::Layout::Peer&, const peer::TlsIdentity&);

Request request_named(const std::string& action) {
  if (action == "leave") return peer::ask_leave;
  return action == "retrain" ? peer::ask_retrain : nullptr;
}

int ask(const peer::PeerConfig& config, Request request) {
  peer::TlsIdentity identity;
  if (!config.insecure) {
    auto loaded = peer::load_identity({config.ca, config.certificate, config.key});
    if (!loaded) return fail(loaded.error());
    identity = std::move(*loaded);
  }
  const Status asked = request({config.name, config.listen, {}}, identity);
  if (asked) return ok;
  fail(asked.error());
  return transport_failed;
}

/// From a study that this site has accepted.
Result<peer::PeerConfig> study_config(const PeerSettings& settings) {
  auto study = peer::read_study(settings.study);
  if (!study) return study.error();
  const auto site = site_of(*study, settings.study, settings.site);
  if (!site) return site.error();
  if (!settings.action.empty()) return peer_config_of(*study, *site, settings.data);
  if (settings.data.empty()) return Error{"--data", "missing; expected the data of this site"};
  auto config = prepare_peer(*study, *site, settings.data);
  if (config && !settings.listen.empty()) config->listen = settings.listen;
  return config;
}

Result<peer::PeerConfig> read_config(const PeerSettings& settings) {
  auto config = settings.study.empty() ? peer::read_peer_config(settings.config_file)
                                       : study_config(settings);
  if (config && !settings.audit.empty()) config->audit = settings.audit;
  if (config && settings.stay) config->stay = true;
  if (config && settings.log_format_given) config->log_format = settings.log_format;
  return config;
}

int run(const PeerSettings& settings) {
  if (settings.config_file.empty() == settings.study.empty())
    return fail({"--config", "expected either peer.toml, or --study with an accepted study"});
  const Request request = request_named(settings.action);
  if (!settings.action.empty() && request == nullptr)
    return fail({"peer", fmt::format("'{}' is unknown; expected leave, retrain or nothing",
                                     settings.action)});
  auto config = read_config(settings);
  if (!config) return fail(config.error());
  if (request != nullptr) return ask(*config, request);
  peer::limit_process_memory();
  peer::silence_protobuf();
  peer::raise_file_limit();
  watch_for_interrupts();
  const auto reload = [&settings]() -> Result<std::shared_ptr<peer::PeerConfig>> {
    auto again = read_config(settings);
    if (!again) return again.error();
    return std::make_shared<peer::PeerConfig>(std::move(*again));
  };
  const peer::PeerHooks hooks{
      .log = make_log(config->log_format), .interrupted = interrupted, .reload = reload};
  const auto end = peer::run_peer(std::move(*config), hooks);
  if (!end)
    return fail(
        {settings.study.empty() ? settings.config_file : settings.study, end.error().text()});
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
      {"action", "leave|retrain",
       "take the running peer out of its network, or let it read its files again and train anew",
       "Peer"},
      settings->action));
  command.options.push_back(text_option(
      {"config", "FILE.toml", "configuration of the peer", "Peer"}, settings->config_file));
  command.options.push_back(text_option(
      {"study", "FILE", "in place of --config: a study that this site has accepted", "Peer"},
      settings->study));
  command.options.push_back(text_option(
      {"data", "FILE", "of --study: the data that it was accepted for", "Peer"}, settings->data));
  command.options.push_back(
      text_option({"site", "NAME", "of --study: this site's files, where several lie here", "Peer"},
                  settings->site));
  command.options.push_back(text_option(
      {"listen", "HOST:PORT", "of --study: listen there, where a router forwards", "Peer"},
      settings->listen));
  command.options.push_back(switch_option(
      {"stay", "", "go on after the end: for those that come later, or train again", "Peer"},
      settings->stay));
  command.options.push_back(text_option(
      {"audit", "FILE", "append a line for every message that is sent", "Peer"}, settings->audit));
  Option log_format = peer::log_format_option(settings->log_format, "Peer");
  log_format.set = [settings, set = log_format.set](std::string_view given) {
    settings->log_format_given = true;
    return set(given);
  };
  command.options.push_back(std::move(log_format));
  return command;
}

}  // namespace grove::app
