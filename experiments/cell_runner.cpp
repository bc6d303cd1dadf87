#include "experiments/cell_runner.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "grove/schedule/schedule.h"

namespace grove::experiments {
namespace {

/// What decides the data, the shards and the graph.
std::string problem_key(const Config& config) {
  return fmt::format("{}|{}|{}|{}|{}|{}", config.data, config.samples, config.agents, config.seed,
                     config.graph, config.l1);
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// For each cell the first with the same key. It is run once for all of them: the store keeps one
/// result, and a figure must show the same times when it is drawn again from there.
std::vector<std::size_t> originals(const std::vector<Cell>& cells) {
  std::map<std::string, std::size_t> first;
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < cells.size(); ++k)
    result.push_back(first.try_emplace(cells[k].key(), k).first->second);
  return result;
}

}  // namespace

double effort_of(const Cell& cell) {
  const Config& config = cell.config;
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

/// The cells of one call, taken by several threads.
struct CellRunner::Work {
  const std::vector<Cell>& cells;
  std::vector<std::size_t> open;  ///< cells to run
  std::vector<std::optional<CellResult>> results;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::optional<Error> error;
};

CellRunner::CellRunner(CellStore store, JobHooks hooks, std::size_t cells, double effort)
    : store_(std::move(store)), hooks_(std::move(hooks)) {
  progress_.cells = cells;
  progress_.effort = effort;
}

Result<std::optional<std::vector<CellResult>>> CellRunner::run(const std::vector<Cell>& cells) {
  Work work{.cells = cells, .open = {}, .results = {}, .error = {}};
  const std::vector<std::size_t> original = originals(cells);
  for (std::size_t k = 0; k < cells.size(); ++k) {
    work.results.push_back(original[k] == k ? store_.load(cells[k]) : std::nullopt);
    if (original[k] == k && !work.results[k])
      work.open.push_back(k);
    else
      advance(cells[k], false);
  }
  const bool timed = std::ranges::any_of(cells, &Cell::timed);
  const std::size_t threads = timed ? 1 : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> workers;
  for (std::size_t k = 1; k < std::min(threads, work.open.size()); ++k)
    workers.emplace_back([&] { work_on(work); });
  work_on(work);
  workers.clear();  // joins
  if (work.error) return *work.error;
  std::vector<CellResult> results;
  for (const std::size_t k : original) {
    if (!work.results[k]) return std::optional<std::vector<CellResult>>{};
    results.push_back(*work.results[k]);
  }
  return std::optional{std::move(results)};
}

void CellRunner::work_on(Work& work) {
  RunHooks hooks;
  hooks.seconds = hooks_.seconds;
  hooks.interrupted = [&] { return work.stop || hooks_.interrupted(); };
  for (std::size_t turn = work.next++; turn < work.open.size(); turn = work.next++) {
    if (hooks.interrupted()) return;
    const std::size_t number = work.open[turn];
    const Cell& cell = work.cells[number];
    const auto problem = problem_of(cell.config);
    auto finished = problem ? run_cell(cell, **problem, hooks)
                            : Result<std::optional<FinishedCell>>(problem.error());
    if (finished && !*finished) return;  // interrupted
    const Status status = finished ? store_.save(cell, **finished) : Status(finished.error());
    if (!status) {
      const std::lock_guard lock(mutex_);
      work.error = status.error();
      work.stop = true;
      return;
    }
    work.results[number] = std::move((*finished)->result);
    advance(cell, true);
  }
}

/// Prepared while the lock is held: the first cells of a seed need it at the same moment.
Result<std::shared_ptr<const PreparedProblem>> CellRunner::problem_of(const Config& config) {
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

void CellRunner::advance(const Cell& cell, bool worked) {
  const std::lock_guard lock(mutex_);
  progress_.cells_done += 1;
  progress_.effort_done += effort_of(cell);
  if (worked) progress_.effort_run += effort_of(cell);
  hooks_.progress(progress_);
}

}  // namespace grove::experiments
