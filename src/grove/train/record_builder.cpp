#include "grove/train/record_builder.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "grove/network/spectrum.h"
#include "grove/record/version.h"
#include "grove/train/diagnosis.h"

namespace grove {
namespace {

ProblemSummary summarize(const Instance& instance) {
  const Spectrum spectrum = laplacian_spectrum(instance.graph);
  return {.samples = static_cast<std::uint64_t>(instance.samples),
          .features = static_cast<std::uint64_t>(instance.features),
          .agents = instance.agents(),
          .edges = instance.graph.edges().size(),
          .loss = name_of(instance.loss),
          .lambda_max = spectrum.lambda_max,
          .lambda_2 = spectrum.lambda_2,
          .labels = instance.labels,
          .columns = instance.columns};
}

std::vector<AgentSummary> summarize_agents(const Instance& instance, const MethodSetup& setup) {
  std::vector<AgentSummary> agents;
  for (std::uint32_t i = 0; i < instance.agents(); ++i) {
    AgentSummary agent{.samples = static_cast<std::uint64_t>(instance.objectives[i]->samples()),
                       .degree = instance.graph.degree(AgentId{i}),
                       .work = setup.work_loads[i],
                       .participation = setup.participation[i]};
    if (!setup.speeds.empty()) agent.speed = setup.speeds[i];
    if (!setup.work_reasons.empty()) agent.work_reason = setup.work_reasons[i];
    if (const auto* druid = std::get_if<DruidOptions>(&setup.options[i])) agent.prox = druid->prox;
    agents.push_back(agent);
  }
  return agents;
}

/// What happened, and why.
std::pair<std::string, std::string> words_of(const AgentEvent& event) {
  switch (event.kind) {
    case AgentEvent::Kind::raised_links:
      return {fmt::format("weighs its links {:g} times as much as at first", event.value),
              "it kept disagreeing with its neighbours while it hardly moved"};
    case AgentEvent::Kind::lowered_links:
      return {fmt::format("weighs its links {:.2g} times less in one direction", event.value),
              "it and its neighbours kept moving that way together, in small steps"};
    case AgentEvent::Kind::shortened_step:
      return {fmt::format("shortens the Newton step to {:g}", event.value),
              "the full step did not lower the objective enough"};
    case AgentEvent::Kind::changed_tree:
      return {fmt::format("sums over another tree, of {:g} members", event.value),
              "members, links or their pace changed"};
    case AgentEvent::Kind::no_minimizer:
      return {"ends where the objective hardly falls any more",
              "steps stay long: the objective seems to have no minimizer (separable data?)"};
    case AgentEvent::Kind::began_sums:
      return {"begins Newton steps on exact sums", "the run is slow over links (--safeguard)"};
    case AgentEvent::Kind::private_answer:
      return {fmt::format("has the answer, from {:g} gradients with noise", event.value),
              "differential privacy allows no more (--dp)"};
  }
  std::abort();  // the switch covers every kind
}

bool any_event(const AgentEvent&) { return true; }

bool changed_links(const AgentEvent& event) {
  return event.kind == AgentEvent::Kind::raised_links ||
         event.kind == AgentEvent::Kind::lowered_links;
}

std::vector<RunEvent> events_of(std::span<const AgentReport> agents,
                                bool (*wanted)(const AgentEvent&) = any_event) {
  std::vector<RunEvent> all;
  for (std::uint32_t i = 0; i < agents.size(); ++i)
    for (const AgentEvent& event : agents[i].events) {
      if (!wanted(event)) continue;
      auto [what, why] = words_of(event);
      all.push_back({event.round, i, std::move(what), std::move(why)});
    }
  std::ranges::stable_sort(all, {}, &RunEvent::round);
  return all;
}

/// Of Newton steps on sums.
std::string explain_steps(std::span<const AgentReport> agents) {
  for (const AgentReport& agent : agents)
    for (const AgentEvent& event : agent.events)
      if (event.kind == AgentEvent::Kind::no_minimizer)
        return "the objective seems to have no minimizer: it hardly falls any more, and "
               "coefficients still grow (separable data?); --l2 or --l1 gives it one.";
  for (const AgentReport& agent : agents)
    for (const AgentEvent& event : agent.events)
      if (event.kind == AgentEvent::Kind::began_sums)
        return fmt::format(
            "links were slow: Newton steps on exact sums began in round {} (--safeguard).",
            event.round);
  return "";
}

}  // namespace

Answer answer_of(const MethodSetup& setup) {
  const auto* druid = std::get_if<DruidOptions>(&setup.options[0]);
  return druid != nullptr && published_form(*druid) ? Answer::majority_support : Answer::mean;
}

std::vector<std::string> notes_of(const PreparedProblem& problem, const MethodSetup& setup) {
  std::vector<std::string> notes = problem.notes;
  notes.insert(notes.end(), setup.notes.begin(), setup.notes.end());
  return notes;
}

std::string diagnosis(const MethodSetup& setup, Round round) {
  const Config& config = setup.resolved;
  std::string reason;
  if (config.method.traits().sums_over_tree)
    reason = "values overflow; scale the features";
  else if (!is_druid(config.method))
    reason = fmt::format("the step {:.3g} is too long for this problem; try a smaller --step",
                         *config.step);
  else if (config.local_model == LocalModelKind::linearized && setup.beyond_bound)
    reason =
        "the linearized local model is beyond its stability bound; use --local-model augmented or "
        "a larger --prox";
  else if (config.sampling == SamplingKind::minibatch && config.method.traits().samples_batches)
    reason =
        "sampling noise outweighs the damping; use larger --batch-gradient and "
        "--batch-hessian, --sampling full, or a larger --penalty";
  else if (config.method.solves_by(LocalSolverKind::gradient_step))
    reason = "the gradient step is too long; use a larger --prox";
  else
    reason = "the damping is too small; use a larger --prox or --penalty";
  return fmt::format("diverged in round {}: {}", round, reason);
}

ClusterOptions cluster_options(const Config& config, const RunContext& context) {
  double slowness = 1;
  if (config.slow_rank && config.slow_rank->rank == context.cluster->rank())
    slowness = config.slow_rank->factor;
  return {.seed = config.seed,
          .faults = {.loss_rate = config.loss_rate, .delay = config.delay},
          .threads = static_cast<int>(config.threads),
          .seconds = context.hooks.seconds,
          .slowness = slowness,
          .pause = context.hooks.pause};
}

Estimates user_estimates(Estimates estimates, const Instance& instance, const MethodSetup& setup) {
  if (!setup.scaled) return estimates;
  for (Vector& x : estimates.x) x = instance.to_original(x);
  if (estimates.theta) estimates.theta = instance.to_original(*estimates.theta);
  return estimates;
}

void begin_record(RunRecord& record, const PreparedProblem& problem, const MethodSetup& setup) {
  record.version = version;
  record.config = options_json(setup.resolved);
  record.problem = summarize(problem.instance);
  record.agents = summarize_agents(problem.instance, setup);
  record.notes = notes_of(problem, setup);
  if (problem.reference)
    record.reference = {problem.reference->objective, problem.reference->x,
                        problem.reference->unique};
}

void build_record(RunRecord& record, const RecordInputs& closing) {
  const auto& [problem, setup, measures, agents] = closing;
  const Config& config = setup.resolved;
  if (record.version.empty()) begin_record(record, problem, setup);
  record.objective = measures.objective;
  record.nonzeros = static_cast<std::uint64_t>(measures.nonzeros);
  record.solution = measures.solution;
  record.events = events_of(agents);
  if (!agents.empty()) record.certificate = agents.front().certificate;
  std::vector<std::uint64_t> activations;
  for (const AgentReport& agent : agents) activations.push_back(agent.broadcasts);
  // A neighbour that is never active outdoes any other cause.
  const std::string inactivity = explain_inactivity(record, problem.instance.graph, activations);
  for (const std::string& why :
       {inactivity.empty() ? explain_slowness(config, record, setup.beyond_bound) : inactivity,
        explain_events(events_of(agents, changed_links)), explain_steps(agents)})
    if (!why.empty()) record.explanations.push_back(why);
}

}  // namespace grove
