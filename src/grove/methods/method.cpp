#include "grove/methods/method.h"

#include "grove/methods/nids.h"
#include "grove/methods/p2d2.h"
#include "grove/methods/pg_extra.h"

namespace grove {
namespace {

struct Maker {
  AgentContext& context;
  std::unique_ptr<Agent> operator()(const DruidOptions& options) {
    return std::make_unique<DruidAgent>(options, std::move(context));
  }
  std::unique_ptr<Agent> operator()(const PgExtraOptions& options) {
    return std::make_unique<GossipAgent<PgExtraRule>>(options, std::move(context));
  }
  std::unique_ptr<Agent> operator()(const P2d2Options& options) {
    return std::make_unique<GossipAgent<P2d2Rule>>(options, std::move(context));
  }
  std::unique_ptr<Agent> operator()(const NidsOptions& options) {
    return std::make_unique<GossipAgent<NidsRule>>(options, std::move(context));
  }
};

}  // namespace

std::unique_ptr<Agent> make_agent(const MethodOptions& options, AgentContext context) {
  return std::visit(Maker{context}, options);
}

}  // namespace grove
