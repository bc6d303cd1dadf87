#include "grove/methods/method.h"

#include <cassert>

#include "grove/methods/safeguarded_agent.h"
#include "grove/methods/sparse_druid.h"

namespace grove {
namespace {

struct Maker {
  AgentContext& context;
  std::unique_ptr<Agent> operator()(const DruidOptions& options) {
    if (!options.safeguard) return make_druid_agent(options, std::move(context));
    return std::make_unique<SafeguardedAgent>(*options.safeguard, context,
                                              make_druid_agent(options, context));
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

std::unique_ptr<DynamicAgent> make_druid_agent(const DruidOptions& options, AgentContext context) {
  const LinkWeightForm* form = published_form(options);
  if (form != nullptr && form->shape == LinkWeightShape::sparse)
    return std::make_unique<SparseDruidAgent>(options, std::move(context));
  return std::make_unique<DruidAgent>(options, std::move(context));
}

std::unique_ptr<Agent> make_agent(const MethodOptions& options, AgentContext context) {
  return std::visit(Maker{context}, options);
}

}  // namespace grove
