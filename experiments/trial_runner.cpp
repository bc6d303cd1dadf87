#include "experiments/trial_runner.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "grove/schedule/schedule.h"

namespace grove::experiments {
namespace {

/// What decides the data, the shards and the graph.
std::string problem_key(const Config& config) {
  return fmt::format("{}|{}|{}|{}|{}|{}", config.data, config.samples, config.agents, config.seed,
                     config.graph.text(), config.l1);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// For each trial the first with the same key. It is run once for all of them: the store keeps one
/// result, and a figure must show the same times when it is drawn again from there.
std::vector<std::size_t> originals(const std::vector<Trial>& trials) {
  std::map<std::string, std::size_t> first;
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < trials.size(); ++k)
    result.push_back(first.try_emplace(trials[k].key(), k).first->second);
  return result;
}

}  // namespace

double effort_of(const Trial& trial) {
  const Config& config = trial.config;
  const double agents = static_cast<double>(config.agents);
  const double shard = 4000 / agents;
  double per_activation = shard;  // a gradient
  if (config.method == Method::druid_newton) per_activation = 5 * shard;
  if (config.method == Method::exact_admm) per_activation = 20 * shard;
  if (config.method == Method::druid_vl) {
    const double rows = config.sampling == SamplingKind::full
                            ? 5 * shard
                            : 5 * static_cast<double>(config.batch_hessian) + shard;
    double steps = 0;
    if (const auto work = make_work_loads(config.work, config.agents, config.seed); work)
      for (const int load : *work) steps += load / agents;
    per_activation = steps * rows;
  }
  const auto participation = make_participation(config.participation, config.agents);
  const double active = participation ? mean_of(*participation) : 1;
  return static_cast<double>(config.rounds) * agents * (active * per_activation + shard) * 1e-6;
}

/// The trials of one call, taken by several threads.
struct TrialRunner::Work {
  const std::vector<Trial>& trials;
  std::vector<std::size_t> open;  ///< trials to run
  std::vector<std::optional<TrialResult>> results;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::optional<Error> error;
};

TrialRunner::TrialRunner(TrialStore store, JobHooks hooks, std::size_t trials, double effort)
    : store_(std::move(store)), hooks_(std::move(hooks)) {
  progress_.trials = trials;
  progress_.effort = effort;
}

Result<std::optional<std::vector<TrialResult>>> TrialRunner::run(const std::vector<Trial>& trials) {
  Work work{.trials = trials, .open = {}, .results = {}, .error = {}};
  const std::vector<std::size_t> original = originals(trials);
  for (std::size_t k = 0; k < trials.size(); ++k) {
    work.results.push_back(original[k] == k ? store_.load(trials[k]) : std::nullopt);
    if (original[k] == k && !work.results[k])
      work.open.push_back(k);
    else
      advance(trials[k], false);
  }
  const bool timed = std::ranges::any_of(trials, &Trial::timed);
  const std::size_t threads = timed ? 1 : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (std::size_t k = 1; k < std::min(threads, work.open.size()); ++k)
    workers.emplace_back([&] { work_on(work); });
  work_on(work);
  workers.clear();  // joins
  if (work.error) return *work.error;
  std::vector<TrialResult> results;
  for (const std::size_t k : original) {
    if (!work.results[k]) return std::optional<std::vector<TrialResult>>{};
    results.push_back(*work.results[k]);
  }
  return std::optional{std::move(results)};
}

void TrialRunner::work_on(Work& work) {
  RunHooks hooks;
  hooks.seconds = hooks_.seconds;
  hooks.interrupted = [&] { return work.stop || hooks_.interrupted(); };
  for (std::size_t turn = work.next++; turn < work.open.size(); turn = work.next++) {
    if (hooks.interrupted()) return;
    const std::size_t number = work.open[turn];
    const Trial& trial = work.trials[number];
    const auto problem = problem_of(trial.config);
    auto finished = problem ? run_trial(trial, **problem, hooks)
                            : Result<std::optional<FinishedTrial>>(problem.error());
    if (finished && !*finished) return;  // interrupted
    const Status status = finished ? store_.save(trial, **finished) : Status(finished.error());
    if (!status) {
      const std::lock_guard lock(mutex_);
      work.error = status.error();
      work.stop = true;
      return;
    }
    work.results[number] = std::move((*finished)->result);
    advance(trial, true);
  }
}

/// Prepared while the lock is held: the first trials of a seed need it at the same moment.
Result<std::shared_ptr<const PreparedProblem>> TrialRunner::problem_of(const Config& config) {
  const std::lock_guard lock(mutex_);
  auto& problem = problems_[problem_key(config)];
  if (problem) return problem;
  auto prepared = prepare(config);
  if (!prepared) return prepared.error();
  if (!prepared->reference)
    return Error{"reproduce", "the problem has no optimum to measure from: " +
                                  (prepared->notes.empty() ? "" : prepared->notes.front())};
  problem = std::make_shared<const PreparedProblem>(std::move(*prepared));
  return problem;
}

void TrialRunner::advance(const Trial& trial, bool worked) {
  const std::lock_guard lock(mutex_);
  progress_.trials_done += 1;
  progress_.effort_done += effort_of(trial);
  if (worked) progress_.effort_run += effort_of(trial);
  hooks_.progress(progress_);
}

}  // namespace grove::experiments
