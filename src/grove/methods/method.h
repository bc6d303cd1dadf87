#pragma once

#include <memory>
#include <variant>

#include "grove/agent/agent.h"
#include "grove/methods/druid.h"
#include "grove/methods/gossip.h"

namespace grove {

struct PgExtraOptions : GossipOptions {};
struct P2d2Options : GossipOptions {};
struct NidsOptions : GossipOptions {};

using MethodOptions =
    std::variant<DruidOptions, PgExtraOptions, P2d2Options, NidsOptions>;

std::unique_ptr<Agent> make_agent(const MethodOptions& options, AgentContext context);

}  // namespace grove
