#include "grove/train/async_training.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "grove/runtime/cluster.h"
#include "grove/train/stopping.h"

namespace grove {
namespace {

/// The values of a contribute, in this order; two vectors follow: the sums of x_i and of grad
/// f_i(x_i).
enum Entry : std::size_t {
  spread,         ///< sum |x_i - c|^2, c being the mean that was settled last
  value,          ///< sum f_i(x_i)
  squared_error,  ///< sum |x_i - x*|^2
  activations,
  broadcasts,
  vectors_sent,
  bytes_sent,
  gradient_samples,
  hessian_samples,
  solves,
  damped_steps,
  // Processes of this opinion. Counts are exact, so that all processes draw the same conclusion.
  says_converged,
  says_diverged,
  says_enough,
  says_interrupted,
  entries
};

/// The measure must hold for so many counts before a process says that the run has converged.
constexpr int counts_to_hold = 3;

class AsyncTraining final : public StopVote {
 public:
  AsyncTraining(const MethodSetup& setup, const RunContext& context)
      : setup_(setup),
        config_(setup.resolved),
        problem_(context.problem),
        hooks_(context.hooks),
        cluster_(*context.cluster),
        measurer_(problem_.instance, problem_.reference ? &*problem_.reference : nullptr,
                  answer_of(setup_)),
        network_(cluster_.start_async(make_agents(problem_.instance, setup_),
                                      problem_.instance.graph, setup_.work_loads,
                                      cluster_options(config_, context))) {}

  RunRecord train() {
    began_ = hooks_.seconds();
    start_ = measurer_.measure(estimates());
    stopping_.emplace(problem_.instance, config_.tolerance, start_);
    center_ = problem_.instance.start();
    note({.cost = network_->cost()}, start_);
    network_->run(*this);
    const double seconds = hooks_.seconds() - began_;
    const Estimates estimates = this->estimates();
    const Measures last = measurer_.measure(estimates);
    const auto gap_bound = stopping_->gap_bound(last);
    // Agents are at rest. Whether that is the optimum is known now.
    if (status_ == RunStatus::converged && gap_bound && !(*gap_bound <= config_.tolerance))
      status_ = RunStatus::round_limit;
    const Cost cost = network_->cost();
    round_ = static_cast<Round>(cost.broadcasts) / agents();
    if (record_.trace.back().round == round_) record_.trace.pop_back();  // now known exactly
    note({.round = round_, .active = agents(), .cost = cost, .seconds = seconds}, last);
    if (problem_.reference && last.finite)
      record_.trace.back().worst_gap =
          measurer_.worst_objective(estimates) - problem_.reference->objective;
    record_.outcome = {status_, detail(), round_, seconds, gap_bound};
    build_record(record_, {problem_, setup_, last, network_->agent_reports()});
    if (config_.keep_estimates) record_.estimates = estimates.x;
    record_.processes = network_->reports();
    return std::move(record_);
  }

  std::vector<double> contribute(std::span<const std::unique_ptr<Agent>> own) override {
    const Index dimension = center_.size();
    std::vector<double> all(entries + 2 * static_cast<std::size_t>(dimension));
    Eigen::Map<Vector> sum(all.data() + entries, dimension);
    Eigen::Map<Vector> gradients(all.data() + entries + dimension, dimension);
    Cost cost;
    for (std::size_t k = 0; k < own.size(); ++k) {
      const Vector x =
          setup_.scaled ? problem_.instance.to_original(own[k]->estimate()) : own[k]->estimate();
      const std::size_t agent = problem_.instance.own_agents().first + k;
      all[value] += problem_.instance.objectives[agent]->evaluate(x, Batch::all(), &gradient_,
                                                                  nullptr, scratch_);
      gradients += gradient_;
      sum += x;
      all[spread] += (x - center_).squaredNorm();
      if (problem_.reference) all[squared_error] += (x - problem_.reference->x).squaredNorm();
      cost += own[k]->cost();
    }
    all[activations] = static_cast<double>(cost.broadcasts);
    all[broadcasts] = static_cast<double>(cost.broadcasts);
    all[vectors_sent] = static_cast<double>(cost.vectors_sent);
    all[bytes_sent] = static_cast<double>(cost.bytes_sent);
    all[gradient_samples] = static_cast<double>(cost.gradient_samples);
    all[hessian_samples] = static_cast<double>(cost.hessian_samples);
    all[solves] = static_cast<double>(cost.solves);
    all[damped_steps] = static_cast<double>(cost.damped_steps);
    all[says_converged] = held_ >= counts_to_hold;
    all[says_diverged] = diverged_;
    all[says_enough] = round_ >= config_.rounds;
    all[says_interrupted] = hooks_.interrupted();
    return all;
  }

  bool decide(std::span<const double> totals) override {
    const Measures now = measures_of(totals);
    held_ = stopping_->at_rest(now) ? held_ + 1 : 0;
    const auto round = static_cast<Round>(totals[activations]) / agents();
    if (round > round_) {
      round_ = round;
      note({.round = round_,
            .active = agents(),
            .cost = cost_of(totals),
            .seconds = hooks_.seconds() - began_},
           now);
    }
    diverged_ = has_diverged(now, record_.trace, /*beyond_bound=*/false);
    return over(totals);
  }

 private:
  Estimates estimates() const {
    return user_estimates(network_->estimates(), problem_.instance, setup_);
  }

  bool over(std::span<const double> totals) {
    if (totals[says_diverged] > 0)
      status_ = RunStatus::diverged;
    else if (totals[says_converged] == cluster_.size())
      status_ = RunStatus::converged;
    else if (totals[says_enough] > 0)
      status_ = RunStatus::round_limit;
    else if (totals[says_interrupted] > 0)
      status_ = RunStatus::interrupted;
    else
      return false;
    return true;
  }

  /// The network as it was about now: every process counted at its own moment. The gradient is
  /// that of each f_i at its own x_i, which near consensus is that at the mean.
  Measures measures_of(std::span<const double> totals) {
    const auto count = static_cast<double>(agents());
    const Index dimension = center_.size();
    const Vector mean = Eigen::Map<const Vector>(totals.data() + entries, dimension) / count;
    const Vector gradient =
        Eigen::Map<const Vector>(totals.data() + entries + dimension, dimension) / count;
    Measures now;
    const double variance = totals[spread] / count - (mean - center_).squaredNorm();
    now.consensus_error = std::sqrt(std::max(0.0, variance));
    now.mean_norm = mean.norm();
    now.stationarity =
        stationarity(mean, gradient, problem_.instance.regularizer, measurer_.smoothness());
    Regularizer penalty = problem_.instance.regularizer;
    penalty.low = -std::numeric_limits<double>::infinity();  // x_i may lie outside the box that
    penalty.high = std::numeric_limits<double>::infinity();  // theta lies in
    now.objective = totals[value] / count + penalty.value(mean);
    now.squared_error = totals[squared_error];
    now.finite = mean.allFinite() && std::isfinite(now.stationarity);
    if (now.finite) center_ = mean;
    return now;
  }

  static Cost cost_of(std::span<const double> totals) {
    const auto at = [&](Entry entry) { return static_cast<std::uint64_t>(totals[entry]); };
    return {at(broadcasts),      at(vectors_sent), at(bytes_sent),  at(gradient_samples),
            at(hessian_samples), at(solves),       at(damped_steps)};
  }

  void note(TracePoint point, const Measures& measures) {
    point.objective = measures.objective;
    point.consensus_error = measures.consensus_error;
    point.stationarity = measures.stationarity;
    if (problem_.reference) {
      point.objective_gap = measures.objective - problem_.reference->objective;
      point.relative_error = start_.squared_error > 0
                                 ? measures.squared_error / start_.squared_error
                                 : measures.squared_error;
    }
    record_.trace.push_back(point);
    hooks_.measured(point);
  }

  std::string detail() const {
    switch (status_) {
      case RunStatus::diverged:
        return diagnosis(setup_, round_);
      case RunStatus::converged:
        return fmt::format("converged after {} activations per agent", round_);
      case RunStatus::round_limit:
        if (round_ < config_.rounds)
          return fmt::format(
              "came to rest after {} activations per agent, without a certificate "
              "within the tolerance",
              round_);
        return fmt::format("stopped at the limit of {} activations per agent", config_.rounds);
      default:
        return fmt::format("interrupted after {} activations per agent", round_);
    }
  }

  std::size_t agents() const { return problem_.instance.agents(); }

  const MethodSetup& setup_;
  const Config& config_;
  const PreparedProblem& problem_;
  const RunHooks& hooks_;
  Cluster& cluster_;
  Measurer measurer_;
  std::unique_ptr<AsyncRuntime> network_;
  std::optional<StoppingRule> stopping_;  ///< known once the start is measured

  double began_ = 0;
  Measures start_;
  Vector center_;    ///< the mean of x_i as settled last
  Round round_ = 0;  ///< activations per agent, on average, as settled last
  int held_ = 0;     ///< counts in a row with a small enough measure
  bool diverged_ = false;
  RunStatus status_ = RunStatus::interrupted;
  Vector gradient_;
  ObjectiveScratch scratch_;
  RunRecord record_;
};

}  // namespace

Result<RunRecord> train_asynchronously(const MethodSetup& setup, const RunContext& context) {
  return AsyncTraining(setup, context).train();
}

}  // namespace grove
