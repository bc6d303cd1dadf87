#include "grove/methods/registry.h"

#include "grove/methods/nids.h"
#include "grove/methods/p2d2.h"
#include "grove/methods/pg_extra.h"
#include "grove/methods/tree_newton.h"

namespace grove {
namespace {

template <class Rule>
AgentFactory gossip_agents() {
  return [](const AgentParameters& parameters, AgentContext context) {
    return std::make_unique<GossipAgent<Rule>>(GossipOptions{.step = parameters.step},
                                               std::move(context));
  };
}

constexpr MethodTraits any_participation{.needs_everyone = false};
constexpr MethodTraits gradients{.only_uses_gradients = true};

const MethodEntry druid_vl_entry{
    "druid-vl", "several local Newton steps; any participation; links weighted by Hessians",
    MethodTraits{.needs_everyone = false,
                 .takes_local_steps = true,
                 .samples_batches = true,
                 .publishes_weights = true},
    LocalSolverKind::newton_steps};
const MethodEntry druid_newton_entry{"druid-newton", "one local Newton step", any_participation,
                                     LocalSolverKind::newton_step};
const MethodEntry druid_gd_entry{"druid-gd", "one local gradient step",
                                 MethodTraits{.needs_everyone = false, .only_uses_gradients = true},
                                 LocalSolverKind::gradient_step};
const MethodEntry druid_bfgs_entry{"druid-bfgs", "one local BFGS step", any_participation,
                                   LocalSolverKind::bfgs_step};
const MethodEntry exact_admm_entry{"exact-admm", "local sub-problems solved to the end",
                                   any_participation, LocalSolverKind::exact};
const MethodEntry pg_extra_entry{"pg-extra", "PG-EXTRA (Shi, Ling, Wu, Yin 2015)", gradients,
                                 gossip_agents<PgExtraRule>()};
const MethodEntry p2d2_entry{"p2d2", "P2D2 (Alghunaim, Yuan, Sayed 2019)", gradients,
                             gossip_agents<P2d2Rule>()};
const MethodEntry nids_entry{"nids", "NIDS (Li, Shi, Yan 2019)", gradients,
                             gossip_agents<NidsRule>()};
const MethodEntry tree_newton_entry{
    "tree-newton", "Newton steps on exact sums over a spanning tree; up to about 300 features",
    MethodTraits{.needs_everyone = false, .sums_over_tree = true},
    [](const AgentParameters& parameters, AgentContext context) {
      TreeNewtonOptions options;
      if (parameters.masked_sums) options.masks = simulated_masks(context.seed, context.id);
      return std::make_unique<TreeNewtonAgent>(options, std::move(context));
    }};
const MethodEntry automatic_entry{
    "auto", "tree-newton for up to 300 coefficients, druid-vl for more; says which and why",
    MethodTraits{.needs_everyone = false,
                 .takes_local_steps = true,
                 .samples_batches = true,
                 .publishes_weights = true,
                 .sums_over_tree = true},
    LocalSolverKind::newton_steps};

}  // namespace

constinit const Method Method::druid_vl{druid_vl_entry};
constinit const Method Method::druid_newton{druid_newton_entry};
constinit const Method Method::druid_gd{druid_gd_entry};
constinit const Method Method::druid_bfgs{druid_bfgs_entry};
constinit const Method Method::exact_admm{exact_admm_entry};
constinit const Method Method::pg_extra{pg_extra_entry};
constinit const Method Method::p2d2{p2d2_entry};
constinit const Method Method::nids{nids_entry};
constinit const Method Method::tree_newton{tree_newton_entry};
constinit const Method Method::automatic{automatic_entry};

std::vector<Method> built_in_methods() {
  return {Method::druid_vl,    Method::druid_newton, Method::druid_gd, Method::druid_bfgs,
          Method::exact_admm,  Method::pg_extra,     Method::p2d2,     Method::nids,
          Method::tree_newton, Method::automatic};
}

}  // namespace grove
