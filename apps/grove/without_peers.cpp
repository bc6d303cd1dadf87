// Stands in for peer.cpp and network.cpp where gRPC was not found.
#include <memory>

#include "command.h"

namespace grove::app {
namespace {

Command missing(const std::string& name, const std::string& summary) {
  auto ignored = std::make_shared<std::string>();
  Command command{.name = name,
                  .summary = summary + " (not in this build)",
                  .positionals = {{"action"}, {"dir"}},
                  .run = [name, ignored] {
                    return fail({name,
                                 "this build has no peers; install libgrpc++-dev, "
                                 "protobuf-compiler-grpc, libspdlog-dev and "
                                 "prometheus-cpp-dev, and build again"});
                  }};
  for (const char* option : {"action", "dir", "config"})
    command.options.push_back(text_option({option, "TEXT", "", ""}, *ignored));
  return command;
}

}  // namespace

Command peer_command() { return missing("peer", peer_summary); }
Command network_command() { return missing("network", network_summary); }

}  // namespace grove::app
