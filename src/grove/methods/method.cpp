#include "grove/methods/method.h"

#include <cassert>

#include "grove/methods/safeguarded_agent.h"

namespace grove {
namespace {

struct Maker {
  AgentContext& context;
  std::unique_ptr<Agent> operator()(const DruidOptions& options) {
    if (!options.safeguard) return std::make_unique<DruidAgent>(options, std::move(context));
    return std::make_unique<SafeguardedAgent>(*options.safeguard, context,
                                              std::make_unique<DruidAgent>(options, context));
  }
  std::unique_ptr<Agent> operator()(const FactoryOptions& options) {
    return options.make(options.parameters, std::move(context));
  }
};

}  // namespace

FactoryOptions with_step(Method method, double step) {
  assert(method.factory() != nullptr);
  return {*method.factory(), {.step = step}};
}

std::unique_ptr<Agent> make_agent(const MethodOptions& options, AgentContext context) {
  return std::visit(Maker{context}, options);
}

}  // namespace grove
