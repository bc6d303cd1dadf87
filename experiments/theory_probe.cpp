#include "experiments/theory_probe.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Eigenvalues>

#include "grove/local/local_solver.h"
#include "grove/network/spectrum.h"
#include "grove/runtime/simulator.h"
#include "grove/setup/method_setup.h"
#include "grove/setup/scalar_penalty.h"

namespace grove::experiments {
namespace {

constexpr double settled =
    1e-16;  ///< share of the Lyapunov function below which rounding dominates

/// Follows one run and collects what Theorem 1 is about.
class Probe {
 public:
  Probe(const Config& config, const PreparedProblem& problem, const MethodSetup& setup)
      : config_(config),
        instance_(problem.instance),
        setup_(setup),
        regularized_(!instance_.regularizer.trivial()),
        schedule_(config.seed, setup.participation, setup.work_loads),
        simulator_(make_agents(instance_, setup), instance_.graph, schedule_,
                   {.seed = config.seed, .threads = static_cast<int>(config.threads)}),
        state_(start_state(instance_.graph, instance_.start(), regularized_)),
        remaining_(instance_.agents(), 0.0),
        worked_(instance_.agents(), false) {
    weights_ = {.penalty = config.penalty,
                .theta_penalty = *config.theta_penalty,
                .prox = {},
                .participation = setup.participation,
                .holder = regularizer_holder(config)};
    for (const auto& options : setup.options)
      weights_.prox.push_back(std::get<DruidOptions>(options).prox);
    for (const auto& objective : instance_.objectives)
      exact_.push_back(make_local_solver(ExactSolve{.tolerance = 1e-13}, *objective));
    if (problem.reference) note_optimum(problem.reference->x);
    bound_eigenvalues(state_.x);
  }

  Round round() const { return simulator_.round(); }
  bool is_settled() const {
    return !lyapunov_.empty() && lyapunov_.back() <= settled * lyapunov_.front();
  }
  bool is_finite() const {
    return std::ranges::all_of(state_.x, [](const Vector& x) { return x.allFinite(); }) &&
           (lyapunov_.empty() || std::isfinite(lyapunov_.back()));
  }

  void play_round() {
    std::vector<bool> active(instance_.agents());
    for (std::uint32_t i = 0; i < active.size(); ++i)
      active[i] = schedule_.activation(AgentId{i}, simulator_.round() + 1).has_value();
    std::vector<Vector> solutions(active.size());
    for (std::uint32_t i = 0; i < active.size(); ++i)
      if (active[i]) solutions[i] = solve_exactly(i);
    simulator_.advance();

    std::vector<Vector> x;
    for (const auto& agent : simulator_.agents()) x.push_back(agent->estimate());
    for (std::size_t i = 0; i < active.size(); ++i)
      if (active[i]) note_local_work(i, solutions[i], x[i]);
    const Vector* theta = simulator_.agents()[weights_.holder.value]->regularized_estimate();
    follow_round(instance_.graph, weights_, std::move(x), theta, active, state_);
    if (simulator_.round() % config_.measure_every == 0) bound_eigenvalues(state_.x);
    if (optimum_) lyapunov_.push_back(lyapunov(instance_.graph, weights_, state_, *optimum_));
  }

  TheoryReport report() const {
    TheoryReport report;
    const bool singular = !(least_eigenvalue_ > 1e-12 * largest_eigenvalue_);  // but for rounding
    report.setting = {.strong_convexity = singular ? 0.0 : least_eigenvalue_,
                      .smoothness = largest_eigenvalue_,
                      .penalty = config_.penalty,
                      .theta_penalty = {},
                      .largest_degree = 0,
                      .anchored_min = regularized_
                                          ? anchored_laplacian_min(instance_.graph, weights_.holder)
                                          : laplacian_spectrum(instance_.graph).lambda_2,
                      .unsigned_max = unsigned_laplacian_max(instance_.graph),
                      .prox = weights_.prox,
                      .remaining = remaining_};
    if (regularized_) report.setting.theta_penalty = config_.theta_penalty;
    for (std::uint32_t i = 0; i < instance_.agents(); ++i) {
      report.setting.largest_degree = std::max(
          report.setting.largest_degree, static_cast<double>(instance_.graph.degree(AgentId{i})));
      report.smoothness_everywhere =
          std::max(report.smoothness_everywhere, instance_.objectives[i]->smoothness());
    }
    LinearizedSetting linearized{.penalty = config_.penalty,
                                 .theta_penalty = *config_.theta_penalty,
                                 .holder = {},
                                 .prox = weights_.prox};
    if (regularized_) linearized.holder = weights_.holder;
    report.linearized = linearized_stability(instance_.graph, linearized);
    report.strong_convexity_everywhere = std::holds_alternative<SquaredLoss>(config_.loss)
                                             ? report.setting.strong_convexity
                                             : config_.l2;
    report.coupled = instance_.agents() > 1 || regularized_;
    report.all_worked = std::ranges::all_of(worked_, std::identity{});
    report.least_participation = std::ranges::min(setup_.participation);
    report.work_loads = setup_.work_loads;
    report.rounds = simulator_.round();
    report.lyapunov = lyapunov_;
    return report;
  }

 private:
  void note_optimum(const Vector& x) {
    std::vector<Vector> gradients(instance_.agents());
    for (std::size_t i = 0; i < gradients.size(); ++i)
      instance_.objectives[i]->evaluate(x, Batch::all(), &gradients[i], nullptr, scratch_);
    optimum_ = optimal_state(instance_.graph, x, gradients,
                             regularized_ ? std::optional(weights_.holder) : std::nullopt);
    lyapunov_.push_back(lyapunov(instance_.graph, weights_, state_, *optimum_));
    bound_eigenvalues(std::vector<Vector>(instance_.agents(), x));
  }

  void bound_eigenvalues(const std::vector<Vector>& points) {
    Matrix hessian;
    Vector gradient;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!points[i].allFinite()) continue;
      instance_.objectives[i]->evaluate(points[i], Batch::all(), &gradient, &hessian, scratch_);
      const Vector eigenvalues =
          Eigen::SelfAdjointEigenSolver<Matrix>(hessian, Eigen::EigenvaluesOnly).eigenvalues();
      least_eigenvalue_ = std::min(least_eigenvalue_, eigenvalues[0]);
      largest_eigenvalue_ = std::max(largest_eigenvalue_, eigenvalues[eigenvalues.size() - 1]);
    }
  }

  /// The solution of agent i's sub-problem, eq. (6), from the duals that were followed outside.
  Vector solve_exactly(std::uint32_t i) {
    const double mu = weights_.penalty;
    Vector coupling_gradient = Vector::Zero(instance_.dimension());
    const auto edges = instance_.graph.edges();
    QuadraticTerm penalty_sum{.scalar = weights_.prox[i]};
    for (std::size_t k = 0; k < edges.size(); ++k) {
      const auto [a, b] = edges[k];
      if (a.value != i && b.value != i) continue;
      const double sign = a.value == i ? 1 : -1;
      coupling_gradient += sign * state_.alpha[k] + mu * (state_.x[i] - state_.z[k]);
      penalty_sum.scalar += mu;
    }
    if (regularized_ && AgentId{i} == weights_.holder) {
      coupling_gradient += *state_.lambda + weights_.theta_penalty * (state_.x[i] - *state_.theta);
      penalty_sum.scalar += weights_.theta_penalty;
    }
    workspace_.fit(instance_.dimension());
    workspace_.point = state_.x[i];
    Cost unused;
    exact_[i]->solve({.objective = *instance_.objectives[i],
                      .anchor = state_.x[i],
                      .coupling_gradient = coupling_gradient,
                      .center_weight = penalty_sum,
                      .penalty_sum = penalty_sum,
                      .regularizer = no_regularizer_},
                     {.seed = config_.seed, .agent = AgentId{i}, .activation = {}}, workspace_,
                     unused);
    return workspace_.point;
  }

  /// c_i^E_i is the worst observed share. Steps of the size of rounding errors do not count.
  void note_local_work(std::size_t i, const Vector& solution, const Vector& reached) {
    worked_[i] = true;
    const double before = (state_.x[i] - solution).norm();
    if (before <= 1e-7 * (1 + solution.norm())) return;
    const double share = (reached - solution).norm() / before;
    const double squared = share * share;
    // Below the square of the solver's own accuracy the local work counts as exact.
    if (!(squared <= 1e-14)) remaining_[i] = std::max(remaining_[i], squared);
  }

  const Config& config_;
  const Instance& instance_;
  const MethodSetup& setup_;
  bool regularized_;
  Schedule schedule_;
  Simulator simulator_;
  NetworkState state_;
  const Regularizer no_regularizer_{};
  LyapunovWeights weights_;
  std::vector<std::unique_ptr<LocalSolver>> exact_;
  std::optional<NetworkState> optimum_;
  std::vector<double> remaining_;  ///< c_i^E_i
  std::vector<bool> worked_;       ///< whether it was ever seen
  std::vector<double> lyapunov_;
  double least_eigenvalue_ = std::numeric_limits<double>::infinity();
  double largest_eigenvalue_ = 0;
  ObjectiveScratch scratch_;
  Workspace workspace_;
};

void summarize_contraction(TheoryReport& report) {
  const auto& values = report.lyapunov;
  if (values.size() < 2) return;
  for (std::size_t t = 1; t < values.size(); ++t)
    report.worst_contraction = std::max(report.worst_contraction, values[t] / values[t - 1]);
  report.mean_contraction =
      std::pow(values.back() / values.front(), 1 / static_cast<double>(values.size() - 1));
}

void name_violations(const Config& config, const PreparedProblem& problem, TheoryReport& report) {
  auto& found = report.violations;
  const TheoremSetting& setting = report.setting;
  if (!report.coupled)
    found.emplace_back(
        "one agent without a regularizer has neither links nor theta, which Theorem 1 is about");
  if (!report.all_worked)
    found.emplace_back(
        "an agent was never active in this run, so its c_i is unknown and there is no rate; more "
        "--rounds would show it");
  if (!std::holds_alternative<SquaredLoss>(config.loss))
    found.emplace_back(
        config.l2 == 0
            ? "Assumption 2(i), strong convexity: with l2 = 0 the local objectives have no "
              "positive strong convexity that holds everywhere; m_f is the least that was met at "
              "the "
              "iterates"
            : fmt::format("Assumption 2(i), strong convexity: everywhere only m_f = l2 = {:.4g} "
                          "holds; the m_f shown is the least that was met at the iterates and the "
                          "optimum, and the rates are as good as it is",
                          config.l2));
  if (setting.strong_convexity == 0)
    found.emplace_back(
        "Assumption 2(i), strong convexity: a local Hessian is singular along this run (m_f = 0), "
        "so Theorem 1 gives no rate; --l2 would mend it");
  if (config.no_reference)
    found.emplace_back("--no-reference was given, so there is no v* to measure from");
  else if (!problem.reference)
    found.emplace_back(
        "the problem has no minimizer that could be found, as with separable data and no "
        "regularizer, so there is no v* to measure from: " +
        (problem.notes.empty() ? std::string("no reference was computed") : problem.notes.front()));
  for (std::size_t i = 0; i < setting.remaining.size(); ++i)
    if (setting.remaining[i] >= 1) {
      found.emplace_back(fmt::format(
          "Lemma 2, local contraction: agent {} left {:.3g} times its squared distance to the "
          "sub-problem's solution in its worst round, and the lemma needs less than 1{}",
          i, setting.remaining[i],
          config.local_model == LocalModelKind::linearized
              ? " (linearized local steps do not aim at that solution)"
              : ""));
      break;
    }
  if (report.coupled && setting.strong_convexity > 0 && report.zeta.empty() &&
      std::isfinite(report.zeta.high))
    found.emplace_back(fmt::format(
        "Theorem 1, zeta: no value is admissible, since eps_i > tau_i (m_f + M_f) / (2 m_f M_f) "
        "fails: zeta would have to be above {:.3g} and below {:.3g}",
        report.zeta.low, report.zeta.high));
  if (setting.theta_penalty && !printed_rate_applies(setting))
    found.emplace_back(
        "the printed eta is derived for mu_z = 2 mu_theta, while here (and in the paper's "
        "experiments) it is not so; the eta shown is the one that the same proof gives for these "
        "parameters");
  if (report.least_participation < 1)
    found.emplace_back(
        "the rate with partial participation is stated for one operator applied to random blocks; "
        "Grove's links are a different (convergent) rule, so it is shown for comparison only");
  if (config.method.traits().samples_batches && config.sampling != SamplingKind::full)
    found.emplace_back(
        "with mini-batches m_f, M_f and c_i are assumptions on every batch and on expectations; "
        "shown are whole shards and the worst round seen");
}

}  // namespace

Result<TheoryReport> examine(Config config, const PreparedProblem& problem, const RunHooks& hooks) {
  if (!is_druid(config.method))
    return Error{"--method", fmt::format("Theorem 1 covers the DRUID family; {} is not one of them",
                                         config.method.name())};
  if (config.link != LinkKind::broadcast)
    return Error{"--link",
                 "the duals of Theorem 1 are those of broadcast links; expected broadcast"};
  if (config.runtime != RuntimeKind::simulator)
    return Error{"--runtime", "a run is looked at from outside in one process; expected simulator"};
  if (config.penalty.published_form())
    return Error{"--penalty",
                 "Theorem 1 covers one scalar penalty for all links; expected a number"};
  const bool penalty_chosen = config.penalty.is_auto();
  if (penalty_chosen)
    config.penalty = automatic_scalar_penalty(*problem.instance.mean, problem.instance.start(),
                                              problem.instance.graph);
  auto setup = set_up_method(config, problem.instance);
  if (!setup) return setup.error();
  config = setup->resolved;
  Probe probe(config, problem, *setup);
  while (probe.round() < config.rounds && !probe.is_settled() && probe.is_finite() &&
         !hooks.interrupted())
    probe.play_round();

  TheoryReport report = probe.report();
  report.penalty_chosen = penalty_chosen;
  report.model_smoothness = model_smoothness(report.setting);
  report.tau = residual_weights(report.setting);
  report.zeta = admissible_zeta(report.setting);
  const bool applies = report.coupled && report.all_worked;
  if (applies) report.rate = best_theorem_rate(report.setting);
  if (report.rate && report.setting.theta_penalty)
    report.printed = printed_rate(report.setting, report.rate->zeta);
  if (applies && std::ranges::max(report.setting.remaining) < 1)
    report.tuned = best_corollary_rate(report.setting);
  summarize_contraction(report);
  name_violations(config, problem, report);
  if (!probe.is_finite())
    report.violations.emplace_back("the run diverged: its iterates overflowed");
  if (hooks.interrupted())
    report.violations.push_back(fmt::format("interrupted after {} rounds", report.rounds));
  return report;
}

Result<TheoryReport> examine(Config config, const RunHooks& hooks) {
  if (config.links == LinkChoice::automatic) config.links = LinkChoice::all;
  const auto problem = prepare(config);
  if (!problem) return problem.error();
  return examine(std::move(config), *problem, hooks);
}

}  // namespace grove::experiments
