#pragma once

#include <memory>
#include <variant>

#include "grove/agent/agent.h"
#include "grove/methods/druid.h"
#include "grove/methods/registry.h"

namespace grove {

/// Agents of a method outside the DRUID family.
struct FactoryOptions {
  AgentFactory make;
  AgentParameters parameters;
};

/// All that distinguishes one agent's settings from another's.
using MethodOptions = std::variant<DruidOptions, FactoryOptions>;

/// Options of a method that has a step length and agents of its own.
FactoryOptions with_step(Method method, double step);

/// With the links that the form of its weights needs.
std::unique_ptr<DynamicAgent> make_druid_agent(const DruidOptions& options, AgentContext context);

std::unique_ptr<Agent> make_agent(const MethodOptions& options, AgentContext context);

}  // namespace grove
