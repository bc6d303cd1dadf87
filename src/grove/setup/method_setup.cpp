#include "grove/setup/method_setup.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/methods/private_newton.h"
#include "grove/methods/tree_newton.h"
#include "grove/network/link_subset.h"
#include "grove/network/spectrum.h"
#include "grove/schedule/machine_options.h"
#include "grove/setup/local_steps_policy.h"
#include "grove/setup/method_notes.h"
#include "grove/setup/scalar_penalty.h"
#include "grove/sums/spanning_tree.h"

namespace grove {
namespace {

/// One step on an eigenvalue-L quadratic needs eps of the order of L; beyond it, eps only slows.
double default_prox(const Config& config, const Objective& objective) {
  if (config.method.solves_by(LocalSolverKind::gradient_step))
    return std::max(2 * config.penalty, objective.smoothness());
  return 2 * config.penalty;
}

/// The least eps that keeps the local model stable whatever f_i, from the agent's own data and
/// links (math: section 2). The augmented model needs none: its links make it strongly convex.
double automatic_prox(const Config& config, const Instance& instance, AgentId agent, int work) {
  if (config.method.solves_by(LocalSolverKind::gradient_step))
    return instance.objectives[agent.value]->smoothness();
  if (config.local_model == LocalModelKind::augmented || work == 1) return 0;
  const bool holds = agent == regularizer_holder(config) && !instance.regularizer.trivial();
  return config.penalty * static_cast<double>(instance.graph.degree(agent)) +
         (holds ? *config.theta_penalty : 0.0);
}

/// The number that was given for the agent; 0 without one.
double given_prox(const Config& config, AgentId agent) {
  if (!config.prox) return 0;
  if (const auto* list = std::get_if<std::vector<double>>(&config.prox->value))
    return (*list)[agent.value];
  const auto* number = std::get_if<double>(&config.prox->value);
  return number ? *number : 0;
}

double prox_of(const Config& config, const Instance& instance, AgentId agent, int work) {
  if (!config.prox) return default_prox(config, *instance.objectives[agent.value]);
  if (std::holds_alternative<AutoProx>(config.prox->value))
    return automatic_prox(config, instance, agent, work);
  if (const auto* tuned = std::get_if<TunedProx>(&config.prox->value))
    return tuned_prox(tuned->rule, *tuned->base, work);
  return given_prox(config, agent);
}

Sampling sampling_of(const Config& config) {
  const auto gradient = static_cast<Index>(config.batch_gradient);
  const auto hessian = static_cast<Index>(config.batch_hessian);
  switch (config.sampling) {
    case SamplingKind::minibatch:
      return MiniBatches{gradient, hessian};
    case SamplingKind::variance_reduced:
      return VarianceReduced{gradient, hessian};
    case SamplingKind::adaptive:
      return AdaptiveBatches{gradient, hessian};
    case SamplingKind::full:
      break;
  }
  return FullBatches{};
}

LocalSolverOptions solver_of(const Config& config) {
  assert(is_druid(config.method));
  switch (*config.method.local_solver()) {
    case LocalSolverKind::newton_steps:
      return NewtonSteps{sampling_of(config)};
    case LocalSolverKind::newton_step:
      return NewtonSteps{FullBatches{}};
    case LocalSolverKind::gradient_step:
      return GradientStep{};
    case LocalSolverKind::bfgs_step:
      return BfgsStep{};
    case LocalSolverKind::exact:
      return ExactSolve{config.exact_tolerance};
  }
  std::abort();  // the switch covers every solver
}

DruidOptions druid_options(const Config& config, const Instance& instance, AgentId agent,
                           int work) {
  return {.coupling = {.kind = config.link, .weighting = FixedPenalty{config.penalty}},
          .prox = prox_of(config, instance, agent, work),
          .theta_penalty = *config.theta_penalty,
          .local_model = config.local_model,
          .solver = solver_of(config)};
}

/// With l1, coefficients above which --penalty auto is sparse: full weights end there, and low-rank
/// ones take ten times the rounds or more.
constexpr Index largest_matrix_with_l1 = 1000;

constexpr Index largest_full_weight = 16'000;  ///< coefficients; a weight is then 0.5 GB on a link

bool is_automatic(const WorkSpec& work) { return work.meaning() && work.meaning()->automatic; }

Status set_up_machines(Config& config, const Instance& instance, MethodSetup& setup) {
  if (!simulates_time(config)) return success();
  if (config.speeds.empty()) config.speeds = "1";
  if (config.latency.empty()) config.latency = "0";
  auto speeds = make_speeds(config.speeds, config.agents, config.seed);
  if (!speeds) return speeds.error();
  const auto latencies = make_latencies(config.latency, instance.graph.edges().size(), config.seed);
  if (!latencies) return latencies.error();
  setup.speeds = std::move(*speeds);
  setup.machines = Machines(setup.speeds, instance.graph, *latencies, instance.dimension());
  return success();
}

/// Why agents take as many steps as they do, where that was left to them.
void set_up_work(Config& config, const Instance& instance, MethodSetup& setup) {
  if (!config.method.traits().takes_local_steps || !is_automatic(config.work)) return;
  const bool open = config.work == WorkSpec("auto");  // no limits were given
  if (!open || !setup.machines) {
    const char* fewer =
        config.penalty.published_form() ? ", fewer once one gains what a quadratic promises" : "";
    for (const int steps : setup.work_loads)
      setup.work_reasons.push_back(
          fmt::format("{}{} {}{}", open ? "speeds are not known: " : "as given: ", steps,
                      steps == 1 ? "step" : "steps", fewer));
    return;
  }
  std::vector<LocalStepsChoice> choices = choose_work(config, instance, *setup.machines);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    setup.work_loads[i] = choices[i].steps;
    setup.work_reasons.push_back(std::move(choices[i].reason));
  }
  config.work = fmt::format("auto:{}", fmt::join(setup.work_loads, ","));
}

/// A run that is never stopped early shows what its method does, and has none.
std::optional<Safeguard> safeguard_of(const Config& config, const Instance& instance) {
  const bool can = instance.regularizer.separable() && instance.dimension() <= largest_lazy &&
                   instance.graph.agents() > 1;
  if (!config.safeguard || config.tolerance == 0 || !can) return std::nullopt;
  return Safeguard{};
}

/// Sparse weights restrict Hessians to a few coordinates.
Status check_sparse_weights(const Config& config, const Instance& instance) {
  if (!instance.own_objective().restricts())
    return Error{"--penalty",
                 "sparse needs a loss of one margin for each sample; expected another "
                 "form"};
  if (!instance.regularizer.separable() || config.theta_penalty)
    return Error{"--penalty",
                 "sparse needs a regularizer that is separable, and no "
                 "--theta-penalty; expected a number"};
  if (config.sampling != SamplingKind::full)
    return Error{"--penalty", "sparse works on all samples; expected --sampling full"};
  return success();
}

Status set_up_published_weights(Config& config, const Instance& instance, MethodSetup& setup) {
  const LinkWeightForm form = *config.penalty.published_form();
  if (form.shape == LinkWeightShape::sparse) {
    if (Status status = check_sparse_weights(config, instance); !status) return status;
    config.link = LinkKind::edge;
  }
  if (form.shape == LinkWeightShape::full && instance.dimension() > largest_full_weight)
    return Error{"--penalty",
                 fmt::format("full publishes a matrix of {0} x {0}; expected at most {1} "
                             "coefficients, or low-rank:K",
                             instance.dimension(), largest_full_weight)};
  if (form.rank > instance.dimension())
    return Error{"--penalty", fmt::format("low-rank:{} keeps more eigenpairs than there are "
                                          "coefficients; expected at most {}",
                                          form.rank, instance.dimension())};
  const auto safeguard = safeguard_of(config, instance);
  for (std::uint32_t i = 0; i < config.agents; ++i) {
    setup.options.emplace_back(DruidOptions{
        .coupling = {.kind = config.link, .weighting = form, .relaxation = published_relaxation},
        .prox = given_prox(config, AgentId{i}),
        .theta_penalty = config.theta_penalty,
        .solver = ProximalNewtonSteps{.sampling = sampling_of(config),
                                      .stop_when_quadratic = is_automatic(config.work)},
        .safeguard = safeguard});
  }
  return success();
}

/// Both ends of a link keep the other's weight and that of the link.
double weight_bytes(LinkWeightForm form, const Instance& instance) {
  const auto links = static_cast<double>(instance.graph.edges().size());
  return 4 * links * static_cast<double>(form.numbers(instance.dimension()) * sizeof(float));
}

/// Makes a weight out of auto.
void settle_penalty(Config& config, const Instance& instance, std::vector<std::string>& notes) {
  constexpr double most_bytes = 1e9;  // in all; graphs with a hundred links an agent come here
  auto form = automatic_weight_form(config, instance.dimension());
  if (form && form->shape == LinkWeightShape::sparse && !instance.own_objective().restricts()) {
    form = std::nullopt;
    if (instance.dimension() <= largest_with_matrices)
      form = automatic_form(instance.dimension(), config.l1 > 0);
  }
  if (!form) {
    config.penalty = automatic_scalar_penalty(*instance.mean, instance.start(), instance.graph);
    return;
  }
  config.penalty = *form;
  if (form->shape == LinkWeightShape::sparse) return;
  const double bytes = weight_bytes(*form, instance);
  if (bytes <= most_bytes) return;
  config.penalty = LinkWeightForm{LinkWeightShape::diagonal};
  notes.push_back(
      fmt::format("weights of {} links would take {:.1f} GB, so that --penalty auto is "
                  "diagonal; a graph "
                  "with fewer links converges in fewer bytes",
                  instance.graph.edges().size(), bytes / 1e9));
}

/// As beside links with one number: twice the penalty that suits them.
double automatic_theta_penalty(const Config& config, const Instance& instance) {
  const double penalty =
      config.penalty.published_form()
          ? automatic_scalar_penalty(*instance.mean, instance.start(), instance.graph)
          : static_cast<double>(config.penalty);
  return 2 * penalty;
}

/// Batches that grow keep the Hessian of one as a matrix.
Status check_sampling(const Config& config, const Instance& instance) {
  const bool grows = config.sampling == SamplingKind::variance_reduced ||
                     config.sampling == SamplingKind::adaptive;
  if (!grows || !config.method.traits().samples_batches ||
      instance.dimension() <= largest_with_matrices)
    return success();
  return Error{"--sampling",
               fmt::format("variance-reduced and adaptive keep a Hessian of {0} x {0} "
                           "numbers at every agent; expected at most {1} "
                           "coefficients, or full or minibatch",
                           instance.dimension(), largest_with_matrices)};
}

Status check_prox(const Config& config) {
  const auto* list = config.prox ? std::get_if<std::vector<double>>(&config.prox->value) : nullptr;
  if (list == nullptr || list->size() == config.agents) return success();
  return Error{"--prox", fmt::format("expected one value or {} (one per agent), got {}",
                                     config.agents, list->size())};
}

/// Whether an agent applies r: all agents do, except where one agent keeps the copy theta.
bool applies_regularizer(const Config& config, const MethodOptions& options, AgentId agent) {
  const auto* druid = std::get_if<DruidOptions>(&options);
  return !is_druid(config.method) || agent == regularizer_holder(config) ||
         (druid && !druid->theta_penalty);
}

/// Links from the root of the tree that agents will derive to the farthest agent.
std::size_t tree_depth(const Graph& graph) {
  MemberGraph members;
  for (std::uint32_t i = 0; i < graph.agents(); ++i) {
    auto& neighbours = members.neighbours.emplace_back();
    for (const AgentId j : graph.neighbours(AgentId{i})) neighbours.push_back(j.value);
    members.slowness.push_back(0);
  }
  return plan_tree(members).depth;
}

/// Hessians of that many coefficients are summed at one agent, as a matrix.
constexpr Index largest_summed_hessian = 5000;

/// Hessians with noise travel in every question.
constexpr Index largest_private = 300;

/// Whoever runs the simulator sees all rows and all noise: the promise is one of peers.
Status set_up_private_method(const Config& config, const Instance& instance, MethodSetup& setup) {
  if (instance.dimension() > largest_private)
    return Error{"--dp", fmt::format("the noise grows with the coefficients; expected at most {}, "
                                     "got {}",
                                     largest_private, instance.dimension())};
  const PrivacyChoice& choice = *config.dp.meaning();
  const double weight = static_cast<double>(config.agents) / static_cast<double>(instance.samples);
  PrivateNewtonOptions options =
      private_newton_options({choice.epsilon, choice.delta}, choice.steps, weight,
                             bound_with_intercept(choice.bound, config.intercept),
                             usual_second_derivative(config.loss, 0));
  const auto make = [options](const AgentParameters&, AgentContext context) {
    PrivateNewtonOptions own = options;
    own.noise = simulated_noise(context.seed, context.id);
    own.masks = simulated_masks(context.seed, context.id);
    return std::make_unique<PrivateNewtonAgent>(own, std::move(context));
  };
  setup.options.assign(config.agents, FactoryOptions{make, {}});
  setup.notes.push_back(fmt::format(
      "--dp: {} gradients and one matrix, with noise, keep epsilon {:g} and delta {:g} for every "
      "row against any one member; rows longer than {:g} are shortened to it",
      choice.steps, choice.epsilon, choice.delta, choice.bound));
  return success();
}

Status set_up_tree_method(const Config& config, const Instance& instance, MethodSetup& setup) {
  if (!instance.regularizer.separable())
    return Error{"--regularizer", fmt::format("{} needs one that is separable; expected --l1, "
                                              "--constraint, or --method druid-vl",
                                              config.method.name())};
  if (instance.dimension() > largest_summed_hessian)
    return Error{"--method",
                 fmt::format("{} sums Hessians of {} coefficients; expected at most "
                             "{}, or --method druid-vl",
                             config.method.name(), instance.dimension(), largest_summed_hessian)};
  if (!config.dp.empty()) return set_up_private_method(config, instance, setup);
  const AgentParameters parameters{.masked_sums = config.sums == SumsKind::masked};
  setup.options.assign(config.agents, FactoryOptions{*config.method.factory(), parameters});
  return success();
}

void set_up_step_method(Config& config, const Instance& instance, MethodSetup& setup) {
  double smoothness = 0;
  for (const auto& objective : instance.objectives)
    smoothness = std::max(smoothness, objective->smoothness());
  if (!config.step) config.step = smoothness > 0 ? 1 / smoothness : 1;
  setup.options.assign(config.agents, with_step(config.method, *config.step));
  setup.beyond_bound = *config.step * smoothness > 2;
  if (setup.beyond_bound)
    setup.notes.push_back(
        fmt::format("--step {:.4g} is longer than 2/L = {:.4g}, beyond which {} need not converge",
                    *config.step, 2 / smoothness, config.method.name()));
}

/// Whether the numbers that steer the method come from the data, so that it may run in coordinates
/// of its own. Numbers that were given, and steps from smoothness constants, are in the user's.
bool has_own_units(const Config& config) {
  if (config.method.traits().sums_over_tree) return true;
  const auto* prox = config.prox ? std::get_if<double>(&config.prox->value) : nullptr;
  const bool no_prox = !config.prox || (prox && *prox == 0);  // records have it written out
  const LinkWeightForm* form = config.penalty.published_form();
  return form && form->shape != LinkWeightShape::sparse && !config.theta_penalty && no_prox;
}

/// One value where all agents have the same, otherwise all of them.
template <class Value>
std::vector<Value> one_or_all(std::vector<Value> values) {
  if (std::ranges::count(values, values[0]) == std::ssize(values)) values.resize(1);
  return values;
}

/// Puts what the agents were given in the place of rules, so that the record states what ran and
/// repeats it. Rules stay where they are what ran: steps that agents end as they see fit (auto),
/// and a tuned eps, whose numbers follow from it.
void write_back(const MethodSetup& setup, Config& config) {
  std::vector<double> prox;
  bool stop_when_quadratic = false;
  for (const MethodOptions& options : setup.options) {
    const auto* druid = std::get_if<DruidOptions>(&options);
    if (druid == nullptr) continue;
    prox.push_back(druid->prox);
    if (const auto* newton = std::get_if<ProximalNewtonSteps>(&druid->solver))
      stop_when_quadratic = newton->stop_when_quadratic;
  }
  const bool tuned = config.prox && std::holds_alternative<TunedProx>(config.prox->value);
  if (!prox.empty() && !tuned) {
    prox = one_or_all(std::move(prox));
    config.prox = prox.size() == 1 ? ProxSpec(prox[0]) : ProxSpec(prox);
  }
  if (!stop_when_quadratic)
    config.work = fmt::format("{}", fmt::join(one_or_all(setup.work_loads), ","));
}

}  // namespace

std::optional<LinkWeightForm> automatic_weight_form(const Config& config, Index dimension) {
  if (!can_publish_weights(config)) return std::nullopt;
  const bool separable = !config.regularizer || config.regularizer->term->separable();
  const bool can_be_sparse =
      separable && !config.theta_penalty && config.sampling == SamplingKind::full;
  const Index most = config.l1 > 0 ? largest_matrix_with_l1 : largest_with_matrices;
  if (can_be_sparse && dimension > most) return LinkWeightForm{LinkWeightShape::sparse};
  if (dimension <= largest_with_matrices) return automatic_form(dimension, config.l1 > 0);
  return std::nullopt;
}

MethodChoice choose_method(const Config& config, const Instance& instance) {
  const Config usual;
  if (config.sampling != usual.sampling || !config.penalty.is_auto() || config.prox ||
      config.theta_penalty || config.local_model != usual.local_model)
    return {Method::druid_vl, "options of its links or local steps were given"};
  if (config.sums == SumsKind::masked) return {Method::tree_newton, "masked sums were asked for"};
  if (!instance.regularizer.separable())
    return {Method::druid_vl, "sums over a tree need a separable regularizer"};
  if (instance.dimension() > largest_lazy)
    return {Method::druid_vl, fmt::format("a Hessian of {} coefficients is costly to sum; up to {} "
                                          "it would be tree-newton",
                                          instance.dimension(), largest_lazy)};
  if (instance.agents() == 1)  // a peer, which does not know the graph
    return {Method::tree_newton, fmt::format("{} coefficients", instance.dimension())};
  const std::size_t rounds = 2 * tree_depth(instance.graph);
  return {Method::tree_newton,
          fmt::format("{} coefficients; a Newton step takes {} rounds on this graph",
                      instance.dimension(), rounds)};
}

/// Whether the links will have matrix weights, which cost more than the vectors of a round.
static bool has_matrix_weights(Config config, const Instance& instance) {
  if (config.method == Method::automatic) config.method = choose_method(config, instance).method;
  if (!can_publish_weights(config)) return false;
  if (!config.penalty.is_auto()) return config.penalty.published_form() != nullptr;
  return automatic_weight_form(config, instance.dimension()).has_value();
}

std::optional<std::string> choose_links(const Config& config, Instance& instance) {
  const bool reduces =
      config.links == LinkChoice::sparse ||
      (config.links == LinkChoice::automatic && has_matrix_weights(config, instance));
  if (!reduces) return std::nullopt;
  const std::size_t given = instance.graph.edges().size();
  auto subset = sparse_subset(instance.graph, config.seed);
  if (!subset) return std::nullopt;
  instance.graph = std::move(*subset);
  const std::size_t used = instance.graph.edges().size();
  instance.unused_links = given - used;
  return fmt::format(
      "{} of the graph's {} links are used, about {} for each agent (--links all: "
      "every one)",
      used, given, subset_degree);
}

Result<MethodSetup> set_up_method(const Config& given, const Instance& instance) {
  MethodSetup setup{.resolved = given};
  Config& config = setup.resolved;
  config.links = instance.unused_links > 0 ? LinkChoice::sparse : LinkChoice::all;
  if (config.method == Method::automatic) {
    MethodChoice choice = choose_method(config, instance);
    config.method = choice.method;
    setup.notes.push_back(
        fmt::format("--method auto is {}: {}", choice.method.name(), choice.reason));
    if (Status status = check(config); !status) return status.error();
  }
  note_idle_options(config, instance, setup);
  auto work = make_work_loads(config.work, config.agents, config.seed);
  if (!work) return work.error();
  auto participation = make_participation(config.participation, config.agents);
  if (!participation) return participation.error();
  if (Status status = check_sampling(config, instance); !status) return status.error();
  if (Status status = check_prox(config); !status) return status.error();
  setup.work_loads = config.method.traits().takes_local_steps ? std::move(*work)
                                                              : std::vector<int>(config.agents, 1);
  setup.participation = std::move(*participation);
  if (Status status = set_up_machines(config, instance, setup); !status) return status.error();

  if (config.penalty.is_auto() && is_druid(config.method))
    settle_penalty(config, instance, setup.notes);
  set_up_work(config, instance, setup);
  // One agent applies an r that is not separable, to its copy theta.
  if (is_druid(config.method) && !instance.regularizer.separable() && !config.theta_penalty)
    config.theta_penalty = automatic_theta_penalty(config, instance);
  if (config.penalty.published_form()) {
    if (Status status = set_up_published_weights(config, instance, setup); !status)
      return status.error();
  } else if (is_druid(config.method)) {
    if (!config.theta_penalty) config.theta_penalty = 2 * config.penalty;
    if (auto* tuned = config.prox ? std::get_if<TunedProx>(&config.prox->value) : nullptr;
        tuned && !tuned->base)
      tuned->base = 2 * config.penalty;
    for (std::uint32_t i = 0; i < instance.agents(); ++i)
      setup.options.emplace_back(druid_options(config, instance, AgentId{i}, setup.work_loads[i]));
    note_clamped_batches(config, instance, setup);
    note_linearized_bound(config, instance, setup);
  } else if (config.method.traits().sums_over_tree) {
    if (Status status = set_up_tree_method(config, instance, setup); !status) return status.error();
  } else {
    set_up_step_method(config, instance, setup);
  }
  setup.scaled = instance.scaling && has_own_units(config);
  write_back(setup, config);
  return setup;
}

std::vector<std::unique_ptr<Agent>> make_agents(const Instance& instance,
                                                const MethodSetup& setup) {
  const Config& config = setup.resolved;
  const Regularizer none{.regularized = instance.features};
  const Regularizer regularizer =
      setup.scaled ? instance.scaled_regularizer() : instance.regularizer;
  const Vector start = setup.scaled ? instance.to_scaled(instance.start()) : instance.start();
  std::vector<std::unique_ptr<Agent>> agents;
  const AgentRange own = instance.own_agents();
  for (std::uint32_t i = own.first; i < own.last; ++i) {
    const bool applies_r = applies_regularizer(config, setup.options[i], AgentId{i});
    AgentContext context{.id = AgentId{i},
                         .seed = config.seed,
                         .neighbours = {},
                         .objective = setup.scaled ? instance.scaled(instance.objectives[i])
                                                   : instance.objectives[i],
                         .regularizer = applies_r ? regularizer : none,
                         .network_size = instance.agents(),
                         .start = start,
                         .metric = setup.scaled ? instance.metric : nullptr};
    const auto weights = mixing_weights(instance.graph, AgentId{i});
    const auto neighbours = instance.graph.neighbours(AgentId{i});
    for (std::size_t slot = 0; slot < neighbours.size(); ++slot)
      context.neighbours.push_back({neighbours[slot], weights[slot]});
    agents.push_back(make_agent(setup.options[i], std::move(context)));
  }
  return agents;
}

}  // namespace grove
