#include "grove/run/run.h"

#include <fmt/format.h>

#include "grove/network/spectrum.h"
#include "grove/run/measures.h"
#include "grove/run/method_setup.h"
#include "grove/run/stopping.h"
#include "grove/run/version.h"
#include "grove/runtime/simulator.h"

namespace grove {
namespace {

ProblemSummary summarize(const Instance& instance) {
  const Spectrum spectrum = laplacian_spectrum(instance.graph);
  return {.samples = static_cast<std::uint64_t>(instance.samples),
          .features = static_cast<std::uint64_t>(instance.features),
          .agents = instance.agents(),
          .edges = instance.graph.edges().size(),
          .lambda_max = spectrum.lambda_max,
          .lambda_2 = spectrum.lambda_2,
          .labels = instance.labels};
}

std::vector<AgentSummary> summarize_agents(const Instance& instance, const MethodSetup& setup) {
  std::vector<AgentSummary> agents;
  for (std::uint32_t i = 0; i < instance.agents(); ++i) {
    AgentSummary agent{.samples = static_cast<std::uint64_t>(instance.objectives[i]->samples()),
                       .degree = instance.graph.degree(AgentId{i}),
                       .work = setup.work_loads[i],
                       .participation = setup.participation[i]};
    if (const auto* druid = std::get_if<DruidOptions>(&setup.options[i])) agent.prox = druid->prox;
    agents.push_back(agent);
  }
  return agents;
}

/// What most likely drove a run apart, and what to change.
std::string diagnosis(const Config& config, const MethodSetup& setup, Round round) {
  std::string reason;
  if (!is_druid(config.method))
    reason = fmt::format("the step {:.3g} is too long for this problem; try a smaller --step",
                         *config.step);
  else if (config.local_model == LocalModelKind::linearized && !setup.notes.empty())
    reason =
        "the linearized local model is beyond its stability bound (see the note above); use "
        "--local-model augmented or a larger --prox";
  else if (config.sampling == SamplingKind::minibatch && config.method == Method::druid_vl)
    reason =
        "sampling noise outweighs the damping; use larger --batch-gradient and "
        "--batch-hessian, --sampling full, or a larger --penalty";
  else if (config.method == Method::druid_gd)
    reason = "the gradient step is too long; use a larger --prox";
  else
    reason = "the damping is too small; use a larger --prox or --penalty";
  return fmt::format("diverged in round {}: {}", round, reason);
}

/// One training run: plays rounds, measures them and writes the record.
class Training {
 public:
  Training(Config config, MethodSetup setup, const PreparedProblem& problem, const RunHooks& hooks)
      : config_(std::move(config)),
        setup_(std::move(setup)),
        problem_(problem),
        hooks_(hooks),
        simulator_(make_agents(config_, problem.instance, setup_), problem.instance.graph,
                   Schedule(config_.seed, setup_.participation, setup_.work_loads),
                   {.seed = config_.seed,
                    .faults = {.loss_rate = config_.loss_rate, .delay = config_.delay},
                    .threads = static_cast<int>(config_.threads)}),
        measurer_(problem.instance, problem.reference ? &*problem.reference : nullptr) {}

  RunRecord train() {
    const double began = hooks_.seconds();
    measures_ = measurer_.measure(simulator_.agents());
    start_error_ = measures_.squared_error;  // what relative errors are relative to
    note_round();
    const Stopping stopping(config_.tolerance, measures_);
    while (!over(stopping)) play_round();
    if (record_.trace.back().round != simulator_.round()) measure_round();
    record_.outcome.rounds = simulator_.round();
    record_.outcome.seconds = hooks_.seconds() - began;
    complete_record();
    return std::move(record_);
  }

 private:
  bool over(const Stopping& stopping) {
    Outcome& outcome = record_.outcome;
    const Round round = simulator_.round();
    if (stopping.diverged(measures_))
      outcome = {RunStatus::diverged, diagnosis(config_, setup_, round)};
    else if (stopping.converged(measures_))
      outcome = {RunStatus::converged, fmt::format("converged in {} rounds", round)};
    else if (round >= config_.rounds)
      outcome = {RunStatus::round_limit, fmt::format("stopped at the limit of {} rounds", round)};
    else if (hooks_.interrupted())
      outcome = {RunStatus::interrupted, fmt::format("interrupted after {} rounds", round)};
    else
      return false;
    return true;
  }

  void play_round() {
    const double before = hooks_.seconds();
    simulator_.advance();
    working_seconds_ += hooks_.seconds() - before;
    if (simulator_.round() % config_.measure_every != 0 && simulator_.round() < config_.rounds)
      return;
    measure_round();
  }

  void measure_round() {
    measures_ = measurer_.measure(simulator_.agents());
    note_round();
  }

  void note_round() {
    TracePoint point{.round = simulator_.round(),
                     .objective = measures_.objective,
                     .consensus_error = measures_.consensus_error,
                     .stationarity = measures_.stationarity,
                     .active = simulator_.active(),
                     .cost = simulator_.cost(),
                     .seconds = working_seconds_};
    if (problem_.reference) {
      point.objective_gap = measures_.objective - problem_.reference->objective;
      point.relative_error = relative_error();
    }
    record_.trace.push_back(point);
    hooks_.measured(point);
  }

  /// Started at the optimum: nothing to be relative to, so any distance from it counts whole.
  double relative_error() const {
    return start_error_ > 0 ? measures_.squared_error / start_error_ : measures_.squared_error;
  }

  void complete_record() {
    record_.version = version;
    record_.config = to_json(options_of(config_));
    record_.problem = summarize(problem_.instance);
    record_.agents = summarize_agents(problem_.instance, setup_);
    record_.notes = problem_.notes;
    record_.notes.insert(record_.notes.end(), setup_.notes.begin(), setup_.notes.end());
    if (problem_.reference)
      record_.reference = {problem_.reference->objective, problem_.reference->x};
    record_.objective = measures_.objective;
    record_.nonzeros = static_cast<std::uint64_t>(
        (measures_.solution.head(problem_.instance.features).array() != 0).count());
    record_.solution = measures_.solution;
    if (config_.keep_estimates)
      for (const auto& agent : simulator_.agents()) record_.estimates.push_back(agent->estimate());
  }

  Config config_;
  MethodSetup setup_;
  const PreparedProblem& problem_;
  const RunHooks& hooks_;
  Simulator simulator_;
  Measurer measurer_;
  Measures measures_;
  double start_error_ = 0;
  double working_seconds_ = 0;
  RunRecord record_;
};

}  // namespace

Result<PreparedProblem> prepare(const Config& config) {
  if (const Status status = check(config); !status) return status.error();
  auto instance = make_instance(config);
  if (!instance) return instance.error();
  PreparedProblem problem{.instance = std::move(*instance), .reference = {}, .notes = {}};
  if (config.no_reference) return problem;
  auto reference = solve_reference(*problem.instance.mean, problem.instance.regularizer);
  if (reference)
    problem.reference = std::move(*reference);
  else
    problem.notes.push_back("no centralized optimum to compare with: " + reference.error().what);
  return problem;
}

Result<RunRecord> run_prepared(Config config, const PreparedProblem& problem,
                               const RunHooks& hooks) {
  if (const Status status = check(config); !status) return status.error();
  auto setup = set_up_method(config, problem.instance);
  if (!setup) return setup.error();
  return Training(std::move(config), std::move(*setup), problem, hooks).train();
}

Result<RunRecord> run(const Config& config, const RunHooks& hooks) {
  const auto problem = prepare(config);
  if (!problem) return problem.error();
  return run_prepared(config, *problem, hooks);
}

}  // namespace grove
