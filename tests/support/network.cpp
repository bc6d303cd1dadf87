#include "support/network.h"

#include "grove/network/spectrum.h"

namespace grove::testing_support {
namespace {

DruidOptions druid(LocalSolverOptions solver) {
  return {.coupling = {.weighting = FixedPenalty{0.2}},
          .prox = 0.1,
          .theta_penalty = 0.4,
          .solver = std::move(solver)};
}

/// eps_i covers the smoothness constant of unit features, which one gradient step needs.
DruidOptions gradient_druid() {
  DruidOptions options = druid(GradientStep{});
  options.prox = 1;
  return options;
}

/// eps_i >= mu deg_i + mu_theta on graphs of degree up to three: the linearized model's bound.
DruidOptions linearized_druid(Sampling sampling) {
  DruidOptions options = druid(NewtonSteps{sampling});
  options.prox = 1;
  options.local_model = LocalModelKind::linearized;
  return options;
}

}  // namespace

bool MethodCase::draws_batches() const {
  const auto* newton = druid() ? std::get_if<NewtonSteps>(&druid()->solver) : nullptr;
  return newton && std::holds_alternative<MiniBatches>(newton->sampling);
}

std::vector<MethodCase> every_method() {
  const MiniBatches batches{.gradient = 7, .hessian = 9};
  std::vector<MethodCase> methods{
      {"DruidVlAugmented", druid(NewtonSteps{FullBatches{}}), 4},
      {"DruidVlLinearized", linearized_druid(FullBatches{}), 4},
      {"DruidVlMinibatchAugmented", druid(NewtonSteps{batches}), 3},
      {"DruidVlMinibatchLinearized", linearized_druid(batches), 3},
      {"DruidNewton", druid(NewtonSteps{FullBatches{}})},
      {"DruidGd", gradient_druid()},
      {"DruidBfgs", druid(BfgsStep{})},
      {"ExactAdmm", druid(ExactSolve{})},
  };
  for (std::size_t k = 0, broadcasting = methods.size(); k < broadcasting; ++k) {
    MethodCase edge = methods[k];
    edge.name += "OverEdges";
    std::get<DruidOptions>(edge.options).coupling.kind = LinkKind::edge;
    methods.push_back(edge);
  }
  methods.push_back({"Default", default_druid(), 5});
  methods.push_back({"DefaultOverEdges", default_druid({}, LinkKind::edge), 5});
  methods.push_back({"PgExtra", with_step(Method::pg_extra, 0.8)});
  methods.push_back({"P2d2", with_step(Method::p2d2, 0.8)});
  methods.push_back({"Nids", with_step(Method::nids, 0.8)});
  methods.push_back({"TreeNewton", FactoryOptions{*Method::tree_newton.factory(), {}}});
  return methods;
}

Agents make_agents_of(const MethodCase& method, const Instance& instance, AgentId holder) {
  Agents agents;
  for (std::uint32_t i = 0; i < instance.agents(); ++i) {
    AgentContext context{.id = AgentId{i},
                         .seed = 1,
                         .neighbours = {},
                         .objective = instance.objectives[i],
                         .regularizer = {.regularized = instance.features},
                         .network_size = instance.agents(),
                         .start = instance.start()};
    if (!method.keeps_theta() || context.id == holder) context.regularizer = instance.regularizer;
    const auto weights = mixing_weights(instance.graph, context.id);
    const auto neighbours = instance.graph.neighbours(context.id);
    for (std::size_t slot = 0; slot < neighbours.size(); ++slot)
      context.neighbours.push_back({neighbours[slot], weights[slot]});
    agents.push_back(make_agent(method.options, std::move(context)));
  }
  return agents;
}

Simulator simulate(const MethodCase& method, const Instance& instance,
                   const SimulationOptions& options) {
  const std::size_t n = instance.agents();
  std::vector<double> participation = options.participation_of;
  if (participation.empty()) participation.assign(n, options.participation);
  return Simulator(make_agents_of(method, instance, options.holder), instance.graph,
                   Schedule(options.seed, participation, std::vector<int>(n, method.work)),
                   {.seed = options.seed, .faults = options.faults, .threads = options.threads});
}

std::string state_of(const Agent& agent) {
  ByteWriter writer;
  agent.save(writer);
  return writer.bytes();
}

Status restore(Agent& agent, const std::string& state) {
  ByteReader reader(state);
  return agent.load(reader);
}

double squared_distance(const Agents& agents, const Vector& x) {
  double sum = 0;
  for (const auto& agent : agents) sum += (agent->estimate() - x).squaredNorm();
  return sum;
}

}  // namespace grove::testing_support
