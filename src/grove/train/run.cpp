#include "grove/train/run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "grove/runtime/async_simulator.h"
#include "grove/runtime/cluster.h"
#include "grove/runtime/simulator.h"
#include "grove/setup/data_split.h"
#include "grove/setup/method_setup.h"
#include "grove/train/async_training.h"
#include "grove/train/checkpoint.h"
#include "grove/train/measures.h"
#include "grove/train/no_minimizer.h"
#include "grove/train/record_builder.h"
#include "grove/train/stopping.h"

namespace grove {
namespace {

std::unique_ptr<Runtime> make_runtime(const MethodSetup& setup, const RunContext& context) {
  const Config& config = setup.resolved;
  const Instance& instance = context.problem.instance;
  auto agents = make_agents(instance, setup);
  Schedule schedule(config.seed, setup.participation, setup.work_loads);
  if (context.cluster != nullptr)
    return context.cluster->start(std::move(agents), instance.graph, std::move(schedule),
                                  cluster_options(config, context));
  if (config.free_running)
    return std::make_unique<AsyncSimulator>(
        std::move(agents), instance.graph, setup.work_loads,
        EventOptions{.seed = config.seed,
                     .machines = setup.machines,
                     .counts_traffic = context.hooks.agents_wanted});
  return std::make_unique<Simulator>(
      std::move(agents), instance.graph, std::move(schedule),
      SimulatorOptions{.seed = config.seed,
                       .faults = {.loss_rate = config.loss_rate, .delay = config.delay},
                       .threads = static_cast<int>(config.threads),
                       .machines = setup.machines,
                       .counts_traffic = context.hooks.agents_wanted});
}

Vector mean_of(const std::vector<Vector>& x) {
  Vector mean = Vector::Zero(x[0].size());
  for (const Vector& one : x) mean += one;
  return mean / static_cast<double>(x.size());
}

/// One training run: plays rounds, measures them and writes the record.
class Training {
 public:
  Training(MethodSetup setup, const RunContext& context)
      : setup_(std::move(setup)),
        problem_(context.problem),
        hooks_(context.hooks),
        cluster_(context.cluster),
        runtime_(make_runtime(setup_, context)),
        measurer_(problem_.instance, problem_.reference ? &*problem_.reference : nullptr,
                  answer_of(setup_)) {}

  Result<RunRecord> train() {
    const double began = hooks_.seconds();
    if (hooks_.agents_wanted) begin_agent_trace();
    measure();
    start_error_ = measures_.squared_error;  // what relative errors are relative to
    note_round();
    stopping_.emplace(problem_.instance, config_.tolerance, measures_);
    if (Status status = resume(); !status) return status.error();
    while (!over()) {
      play_round();
      if (runtime_->round() % config_.checkpoint_every == 0) keep_checkpoint();
    }
    if (!ended(record_.outcome.status)) keep_checkpoint();
    if (record_.trace.back().round != runtime_->round()) {
      measure();
      note_round();
    }
    if (problem_.reference && measures_.finite) record_.trace.back().worst_gap = worst_gap();
    // A certificate is made from sums without noise.
    if (config_.dp.empty() && !no_minimizer_)
      record_.outcome.gap_bound = stopping_->gap_bound(measures_);
    record_.outcome.rounds = runtime_->round();
    record_.outcome.seconds = hooks_.seconds() - began;
    complete_record();
    if (no_minimizer_) record_.explanations.clear();  // more rounds would not help
    return std::move(record_);
  }

 private:
  /// Whether a run in this state has nothing left to go on with.
  static bool ended(RunStatus status) {
    return status != RunStatus::interrupted && status != RunStatus::round_limit;
  }

  bool over() {
    std::optional<RunStatus> status = verdict();
    if (cluster_ != nullptr) status = agreed(status);
    if (status) record_.outcome = {*status, detail_of(*status)};
    return status.has_value();
  }

  std::optional<RunStatus> verdict() {
    const Round round = runtime_->round();
    if (measured_round_ == round) {
      if (has_diverged(measures_, record_.trace, !converges_surely())) return RunStatus::diverged;
      if (!config_.dp.empty() && all_have_private_answer()) return RunStatus::budget_spent;
      if (config_.dp.empty() && stopping_->converged(measures_, estimates_, record_.trace)) {
        unattained_ = is_unattained();
        return RunStatus::converged;
      }
      no_minimizer_ = stopping_->has_no_minimizer(measures_);
      if (no_minimizer_) return RunStatus::round_limit;
    }
    if (round >= config_.rounds) return RunStatus::round_limit;
    if (hooks_.interrupted()) return RunStatus::interrupted;
    return std::nullopt;
  }

  /// Collective with a cluster.
  bool all_have_private_answer() {
    return std::ranges::all_of(runtime_->agent_reports(), [](const AgentReport& agent) {
      return std::ranges::any_of(agent.events, [](const AgentEvent& event) {
        return event.kind == AgentEvent::Kind::private_answer;
      });
    });
  }

  /// Steps on fixed mini-batches, and gradient steps that are longer than is safe, need not.
  bool converges_surely() const {
    if (is_druid(config_.method))
      return config_.sampling != SamplingKind::minibatch ||
             !config_.method.traits().samples_batches;
    return !setup_.beyond_bound;
  }

  /// All processes must end in the same round: they settle it when they have measured, together.
  std::optional<RunStatus> agreed(std::optional<RunStatus> own) {
    if (measured_round_ != runtime_->round()) return std::nullopt;
    const std::int64_t code = cluster_->allreduce_max(own ? static_cast<std::int64_t>(*own) : -1);
    return code < 0 ? std::nullopt : std::optional(static_cast<RunStatus>(code));
  }

  std::string detail_of(RunStatus status) const {
    const Round round = runtime_->round();
    switch (status) {
      case RunStatus::diverged:
        return diagnosis(setup_, round);
      case RunStatus::converged:
        if (unattained_)
          return infimum_text(problem_.instance, stopping_->last_step(), config_.tolerance, round);
        return fmt::format("converged in {} rounds", round);
      case RunStatus::round_limit:
        if (no_minimizer_) return separated_text(problem_.instance, measures_.solution, round);
        return fmt::format("stopped at the limit of {} rounds", round);
      case RunStatus::budget_spent:
        return fmt::format(
            "spent its privacy budget in {} rounds: epsilon {:g}, delta {:g} for every row", round,
            config_.dp.meaning()->epsilon, config_.dp.meaning()->delta);
      default:
        return fmt::format("interrupted after {} rounds", round);
    }
  }

  /// Whether the certified answer is near an infimum that no point takes.
  bool is_unattained() const {
    if (problem_.reference) return false;
    return problem_.unattained || (stopping_->step_is_long() && falls_for_ever(problem_.instance));
  }

  void play_round() {
    const double before = hooks_.seconds();
    runtime_->advance();
    working_seconds_ += hooks_.seconds() - before;
    simulated_seconds_ += runtime_->round_seconds().value_or(0);
    if (!measures_due()) return;
    measure();
    note_round();
  }

  bool measures_due() const {
    return runtime_->round() >= config_.rounds || due(runtime_->round());
  }

  /// However many rounds there are.
  bool due(Round round) const {
    return config_.measure_every > 0 && round % config_.measure_every == 0;
  }

  void measure() {
    estimates_ = user_estimates(runtime_->estimates(), problem_.instance, setup_);
    measures_ = measurer_.measure(estimates_);
    measured_round_ = runtime_->round();
  }

  /// A disk may fill up after hours: that costs the checkpoint, not the run.
  void keep_checkpoint() {
    if (config_.checkpoint.empty()) return;
    const Status status = write_checkpoint();
    if (status || !checkpoint_trouble_.empty()) return;
    checkpoint_trouble_ =
        fmt::format("no checkpoint after round {}: {}", runtime_->round(), status.error().text());
    hooks_.noted(checkpoint_trouble_);
  }

  Status write_checkpoint() {
    // A run with more rounds would not have measured the last one of this run, unless it was due.
    std::vector<TracePoint> trace = record_.trace;
    if (trace.back().round > 0 && !due(trace.back().round)) trace.pop_back();
    const Checkpoint checkpoint{.round = runtime_->round(),
                                .config = decisive_options(config_),
                                .trace = std::move(trace),
                                .seconds = working_seconds_,
                                .simulated_seconds = simulated_seconds_,
                                .states = runtime_->states(),
                                .processes = reports()};
    return save_checkpoint(config_.checkpoint, checkpoint, cluster_);
  }

  /// Goes on from the checkpoint in the folder, if there is one, as if the run had never stopped.
  Status resume() {
    if (config_.checkpoint.empty()) return success();
    if (Status status = open_checkpoints(config_.checkpoint, cluster_); !status) return status;
    auto loaded = load_checkpoint(config_.checkpoint, cluster_);
    if (!loaded) return loaded.error();
    std::optional<Checkpoint> found = std::move(*loaded);
    if (!found) return success();
    Checkpoint& checkpoint = *found;
    if (Status same = check_continues(checkpoint, config_, record_.trace.front()); !same)
      return same;
    Status restored = runtime_->restore(checkpoint.round, checkpoint.states);
    if (cluster_ != nullptr) restored = first_error(*cluster_, restored);
    if (!restored) return restored;
    record_.trace = std::move(checkpoint.trace);
    working_seconds_ = checkpoint.seconds;
    simulated_seconds_ = checkpoint.simulated_seconds;
    earlier_ = std::move(checkpoint.processes);
    // A round that the first run did not measure is not measured now either.
    if (record_.trace.back().round == checkpoint.round) measure();
    return success();
  }

  std::vector<ProcessReport> reports() const {
    std::vector<ProcessReport> all = runtime_->reports();
    if (all.size() == earlier_.size())
      for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank].add(earlier_[rank]);
    return all;
  }

  void note_round() {
    TracePoint point{.round = runtime_->round(),
                     .objective = measures_.objective,
                     .consensus_error = measures_.consensus_error,
                     .stationarity = measures_.stationarity,
                     .active = runtime_->active(),
                     .cost = runtime_->cost(),
                     .seconds = working_seconds_};
    if (setup_.machines) point.simulated_seconds = simulated_seconds_;
    if (problem_.reference) {
      point.objective_gap = measures_.objective - problem_.reference->objective;
      point.relative_error = relative_error();
    }
    if (point.objective_gap && (point.round == 0 || config_.keep_estimates))
      point.worst_gap = worst_gap();
    for (const Metric& metric : config_.metrics)
      point.metrics[metric.name] = metric.value({.solution = measures_.solution,
                                                 .estimates = estimates_.x,
                                                 .mean = *problem_.instance.mean,
                                                 .regularizer = problem_.instance.regularizer});
    record_.trace.push_back(point);
    hooks_.measured(point);
    if (record_.agent_trace) trace_agents();
  }

  void begin_agent_trace() {
    const auto edges = problem_.instance.graph.edges();
    record_.agent_trace = AgentTrace{.edges = {edges.begin(), edges.end()},
                                     .from_optimum = problem_.reference.has_value()};
    begin_record(record_, problem_, setup_);
    hooks_.began(record_);
  }

  void trace_agents() {
    AgentTrace& trace = *record_.agent_trace;
    AgentFrame frame{.round = runtime_->round(), .active = runtime_->active_agents()};
    const Vector center = trace.from_optimum ? problem_.reference->x : mean_of(estimates_.x);
    for (const Vector& x : estimates_.x) frame.distance.push_back(four_digits((x - center).norm()));
    frame_keeper_.add(std::move(frame), trace.frames);
    trace.traffic = runtime_->traffic();
    hooks_.measured_agents(trace);
  }

  double worst_gap() {
    // Agents begin with one model.
    const double worst =
        runtime_->round() == 0 ? measures_.objective : measurer_.worst_objective(estimates_);
    return worst - problem_.reference->objective;
  }

  /// Started at the optimum: nothing to be relative to, so any distance from it counts whole.
  double relative_error() const {
    return start_error_ > 0 ? measures_.squared_error / start_error_ : measures_.squared_error;
  }

  void complete_record() {
    build_record(record_, {problem_, setup_, measures_, runtime_->agent_reports()});
    if (!checkpoint_trouble_.empty()) record_.notes.push_back(checkpoint_trouble_);
    if (config_.keep_estimates) record_.estimates = estimates_.x;
    record_.processes = reports();
  }

  const MethodSetup setup_;
  const Config& config_ = setup_.resolved;
  const PreparedProblem& problem_;
  const RunHooks& hooks_;
  Cluster* cluster_;  ///< null: all agents live in this process
  std::unique_ptr<Runtime> runtime_;
  Measurer measurer_;
  std::optional<StoppingRule> stopping_;  ///< known once the start is measured
  Estimates estimates_;                   ///< as last measured
  Measures measures_;
  Round measured_round_ = 0;
  bool no_minimizer_ = false;
  bool unattained_ = false;  ///< of a certified answer
  double start_error_ = 0;
  double working_seconds_ = 0;
  double simulated_seconds_ = 0;
  std::vector<ProcessReport> earlier_;  ///< of the part of the run before a checkpoint
  std::string checkpoint_trouble_;      ///< the first, if any
  RunRecord record_;
  FrameKeeper frame_keeper_;
};

}  // namespace

Status bind_to_cluster(Config& config, const Cluster* cluster) {
  if (cluster == nullptr) {
    if (config.runtime == RuntimeKind::mpi)
      return Error{"--runtime", "mpi needs a cluster to run on; found none"};
    return success();
  }
  if (config.runtime != RuntimeKind::mpi)
    return Error{"--runtime", fmt::format("{} processes were started, but the simulator is one "
                                          "process; expected mpi",
                                          cluster->size())};
  const auto processes = static_cast<std::uint64_t>(cluster->size());
  if (!config.agents_given) config.agents = processes;
  if (config.agents < processes)
    return Error{"--agents", fmt::format("expected at least one agent for each of the {} "
                                         "processes, found {}",
                                         processes, config.agents)};
  if (config.slow_rank && config.slow_rank->rank >= cluster->size())
    return Error{"--slow-rank", fmt::format("there is no process {}; expected 0 to {}",
                                            config.slow_rank->rank, cluster->size() - 1)};
  return success();
}

namespace {

/// A metric is a column of the trace beside those that every record has.
Status check_metrics(const Config& config) {
  for (const Metric& metric : config.metrics)
    if (std::ranges::find(trace_keys(), metric.name) != trace_keys().end())
      return Error{"--metrics",
                   fmt::format("`{}` is what every record has in its trace; expected another name",
                               metric.name)};
  return success();
}

/// Refuses data that overflows where every run begins: that is bad input, not divergence.
Status check_start(const Config& config, const Instance& instance) {
  ObjectiveScratch scratch;
  Vector gradient;
  const double value =
      instance.mean->evaluate(instance.start(), Batch::all(), &gradient, nullptr, scratch);
  if (std::isfinite(value + gradient.squaredNorm() + instance.mean->smoothness())) return success();
  return Error{config.shards.empty() ? config.data : config.shards,
               "values are so large that the objective or its derivatives overflow at the start; "
               "expected features and targets that are scaled, to [-1, 1] say"};
}

}  // namespace

Result<PreparedProblem> prepare(const Config& config, Cluster* cluster) {
  if (Status status = check(config); !status) return status.error();
  auto instance = make_instance(config, cluster);
  if (!instance) return instance.error();
  auto problem = prepare(config, std::move(*instance));
  if (problem && cluster != nullptr && !config.shards.empty())
    if (auto note = note_on_unread_shards(config.shards, cluster->size()))
      problem->notes.push_back(std::move(*note));
  return problem;
}

Result<PreparedProblem> prepare(const Config& config, Instance instance) {
  if (Status status = check_start(config, instance); !status) return status.error();
  PreparedProblem problem{.instance = std::move(instance), .reference = {}, .notes = {}};
  if (auto note = choose_links(config, problem.instance)) problem.notes.push_back(std::move(*note));
  if (config.no_reference) return problem;
  const Instance& laid_out = problem.instance;
  auto reference = solve_reference(*laid_out.scaled(laid_out.mean), laid_out.scaled_regularizer());
  if (reference) {
    reference->x = laid_out.to_original(reference->x);
    problem.reference = std::move(*reference);
  } else {
    problem.unattained = reference.error().where == no_minimizer_field;
    problem.notes.push_back("no centralized optimum to compare with: " + reference.error().what);
  }
  return problem;
}

Result<RunRecord> run_prepared(const Config& config, const PreparedProblem& problem,
                               const RunHooks& hooks, Cluster* cluster) {
  if (Status status = check(config); !status) return status.error();
  if (Status status = check_metrics(config); !status) return status.error();
  auto setup = set_up_method(config, problem.instance);
  if (!setup) return setup.error();
  for (const std::string& note : notes_of(problem, *setup)) hooks.noted(note);
  if (config.samples == 0 && config.shards.empty())
    setup->resolved.samples = static_cast<std::uint64_t>(problem.instance.samples);
  const RunContext context{problem, hooks, cluster};
  if (config.free_running && cluster != nullptr) return train_asynchronously(*setup, context);
  return Training(std::move(*setup), context).train();
}

Result<RunRecord> run(Config config, const RunHooks& hooks, Cluster* cluster) {
  if (Status status = bind_to_cluster(config, cluster); !status) return status.error();
  const auto problem = prepare(config, cluster);
  if (!problem) return problem.error();
  return run_prepared(config, *problem, hooks, cluster);
}

}  // namespace grove
