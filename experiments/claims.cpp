#include "experiments/claims.h"

#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/network/topology.h"
#include "grove/setup/method_setup.h"
#include "grove/theory/stability.h"

namespace grove::experiments {
namespace {

using Runs = std::vector<TrialResult>;

constexpr const char* vl10 = "DRUID-VL, E = 10";
constexpr const char* vl20 = "DRUID-VL, E = 20";
constexpr const char* vl10_whole = "DRUID-VL, E = 10, whole shards";
constexpr const char* newton = "DRUID-Newton";
constexpr const char* exact_admm = "Exact-ADMM";

std::string percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.0f} %", 100 * share) : "-";
}

std::string count(double value) {
  return std::isfinite(value) ? fmt::format("{:.0f}", value) : "never";
}

std::string rounds_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.0f} rounds", value) : "never";
}

std::string times(double ratio) {
  return std::isfinite(ratio) ? fmt::format("{:.2g}x", ratio) : "-";
}

std::string sentences(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string setting_name(const Figure1& figure) {
  return fmt::format("{}, {}", figure.setting, name_of(figure.model));
}

std::string setting_name(const CostFigure& figure) {
  return fmt::format("{}, {}", figure.setting.name, name_of(figure.model));
}

/// Seeds whose graph needs more damping than eps = 2 mu_z, whatever mu_z is.
std::uint64_t seeds_beyond_bound(const Scale& scale) {
  std::uint64_t beyond = 0;
  for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
    const Config config = base_config(scale, settings(scale)[0], seed);
    const auto graph = make_graph(config.graph, config.agents, seed);
    if (!graph) continue;
    const LinearizedSetting setting{.penalty = config.penalty,
                                    .theta_penalty = *config.theta_penalty,
                                    .holder = regularizer_holder(config),
                                    .prox = std::vector(config.agents, 2.0 * config.penalty)};
    beyond += linearized_stability(*graph, setting).guaranteed ? 0 : 1;
  }
  return beyond;
}

double median_rounds(const Runs& seeds) {
  std::vector<double> rounds;
  for (const TrialResult& run : seeds) rounds.push_back(rounds_to(run, goal));
  return spread_of(std::move(rounds)).median;
}

double median_seconds(const Runs& seeds) {
  std::vector<double> seconds;
  for (const TrialResult& run : seeds) {
    const auto position = run.first_at(goal);
    seconds.push_back(position ? run.seconds[*position] : std::nan(""));
  }
  return spread_of(std::move(seconds)).median;
}

/// Processor time of a round, over whole runs.
double seconds_per_round(const Runs& seeds) {
  std::vector<double> seconds;
  for (const TrialResult& run : seeds)
    seconds.push_back(run.round.back() > 0 ? run.seconds.back() / run.round.back() : std::nan(""));
  return spread_of(std::move(seconds)).median;
}

std::size_t missing_seeds(const Runs& seeds) {
  return static_cast<std::size_t>(std::ranges::count_if(
      seeds, [](const TrialResult& run) { return std::isinf(rounds_to(run, goal)); }));
}

std::string missing_text(const Runs& seeds) {
  const std::size_t missing = missing_seeds(seeds);
  return missing > 0 ? fmt::format(", {} of {} seeds never", missing, seeds.size()) : "";
}

/// What more local steps, whole shards and the stability bound explain of the saved rounds.
std::string why_rounds(const Figure1& figure, const Scale& scale) {
  const double exact_saving = rounds_saved(figure.of(newton), figure.of(exact_admm), goal);
  const double batches = rounds_saved(figure.of(newton), figure.of(vl10), goal);
  const double whole = rounds_saved(figure.of(newton), figure.of(vl10_whole), goal);
  std::vector<std::string> parts;
  if (figure.model == LocalModelKind::augmented && std::isfinite(exact_saving))
    parts.push_back(fmt::format(
        "Exact solutions of the augmented sub-problem, the limit of many local steps, save {} of "
        "the rounds of one Newton step: more cannot be gained with this model.",
        percent(exact_saving)));
  if (std::isfinite(batches) && std::isfinite(whole))
    parts.push_back(fmt::format(
        "E = 10 saves {} with batches of 100 and {} with whole shards: the difference is sampling "
        "noise.",
        percent(batches), percent(whole)));
  else if (std::isfinite(whole))
    parts.push_back(fmt::format(
        "E = 10 saves {} with whole shards and misses the goal with batches of 100: the sampling "
        "noise is too large.",
        percent(whole)));
  if (const std::size_t missing = missing_seeds(figure.of(vl10_whole)); missing > 0)
    parts.push_back(fmt::format("{} of {} seeds miss the goal with whole shards, too.", missing,
                                figure.of(vl10_whole).size()));
  if (figure.model == LocalModelKind::linearized)
    parts.push_back(
        fmt::format("On {} of these {} graphs eps = 2 mu_z is below the stability "
                    "bound of the linearized model.",
                    seeds_beyond_bound(scale), scale.seeds));
  return sentences(parts);
}

Claim rounds_claim(const Findings& findings) {
  Claim claim{"Fewer rounds than DRUID-Newton to a fixed error: 41 % with E = 10, 59 % with E = 20",
              {}};
  for (const Figure1& figure : findings.figure1) {
    const Runs& compared = figure.of(newton);
    std::vector<std::string> parts;
    for (const char* name : {vl10, vl20, vl10_whole})
      parts.push_back(
          fmt::format("{}: {} ({}{})", name, percent(rounds_saved(compared, figure.of(name), goal)),
                      rounds_text(median_rounds(figure.of(name))), missing_text(figure.of(name))));
    claim.rows.push_back({setting_name(figure),
                          fmt::format("fewer to 0.01 than DRUID-Newton ({}{}): {}",
                                      rounds_text(median_rounds(compared)), missing_text(compared),
                                      fmt::join(parts, "; ")),
                          why_rounds(figure, findings.scale)});
  }
  return claim;
}

/// Errors of others over those of DRUID-VL with E = 10 and 20, at the moments these reach the goal.
std::string ratios_to(const Figure1& figure, const std::vector<const char*>& others) {
  std::vector<std::string> parts;
  for (const char* other : others)
    parts.push_back(
        fmt::format("{}: {} / {}", other,
                    times(error_ratio_at_equal_time(figure.of(other), figure.of(vl10), goal)),
                    times(error_ratio_at_equal_time(figure.of(other), figure.of(vl20), goal))));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// The processor time of a DRUID-VL round in rounds of the others.
std::string round_costs(const Figure1& figure, const std::vector<const char*>& others) {
  std::vector<std::string> parts;
  for (const char* other : others)
    parts.push_back(fmt::format(
        "{} of {}", times(seconds_per_round(figure.of(vl10)) / seconds_per_round(figure.of(other))),
        other));
  return fmt::format(
      "A round of DRUID-VL with E = 10 takes {} in processor time; rounds cost nothing else here, "
      "whereas in a network they wait for messages. Ratios are taken when DRUID-VL reaches 0.01; "
      "below 1x the other method is ahead.",
      fmt::join(parts, ", "));
}

Claim newton_time_claim(const Findings& findings) {
  Claim claim{
      "At equal time, an error 1.96x (E = 10) and 4.76x (E = 20) below that of DRUID-Newton", {}};
  for (const Figure1& figure : findings.figure1)
    claim.rows.push_back(
        {setting_name(figure), ratios_to(figure, {newton}),
         round_costs(figure, {newton}) +
             " The paper names neither the moment of comparison nor the machine."});
  return claim;
}

/// The steps that the searches chose for the rounds of figure 1b.
std::string chosen_steps(const Findings& findings, const Figure1& figure) {
  std::vector<std::string> parts;
  for (const Search& search : findings.searches) {
    const bool of_setting = search.contender.find(", ") == std::string::npos ||
                            search.contender.ends_with(", " + figure.setting);
    if (of_setting && search.rounds == searched_rounds(findings.scale))
      parts.push_back(fmt::format("{}: {}", search.contender, exact(search.best)));
  }
  if (parts.empty()) return "";
  return fmt::format(
      " Factors on 1/L (DRUID-GD: on L) that the searches below chose: {}. The "
      "paper does not give its steps.",
      fmt::join(parts, ", "));
}

Claim gradient_time_claim(const Findings& findings) {
  const std::vector<const char*> others = {"PG-EXTRA", "P2D2", "DRUID-GD"};
  Claim claim{"At equal time, an error 12.5x / 33.3x below those of PG-EXTRA, DRUID-GD and P2D2",
              {}};
  for (const Figure1& figure : findings.figure1)
    claim.rows.push_back({setting_name(figure), ratios_to(figure, others),
                          round_costs(figure, others) + chosen_steps(findings, figure)});
  return claim;
}

std::string why_exact(const Figure1& figure) {
  const double saving = rounds_saved(figure.of(newton), figure.of(exact_admm), goal);
  if (!std::isfinite(saving)) return "Half of the seeds or more miss the goal.";
  std::string text = fmt::format(
      "Exact solutions save {} of the rounds of one Newton step per round, and a round takes {} "
      "the time.",
      percent(saving),
      times(seconds_per_round(figure.of(exact_admm)) / seconds_per_round(figure.of(newton))));
  if (figure.model == LocalModelKind::linearized &&
      median_rounds(figure.of(vl10_whole)) < median_rounds(figure.of(exact_admm)))
    text +=
        " Several steps on the linearized model take fewer rounds than exact solutions: they are "
        "another iteration, not an approximation of this one.";
  return text;
}

Claim exact_claim(const Findings& findings) {
  Claim claim{"Exact-ADMM takes the fewest rounds and is the slowest of the DRUID family in time",
              {}};
  for (const Figure1& figure : findings.figure1) {
    std::vector<std::string> parts;
    for (const char* name : {exact_admm, newton, vl10, vl20}) {
      const double seconds = median_seconds(figure.of(name));
      parts.push_back(fmt::format(
          "{}: {}", name,
          std::isfinite(seconds)
              ? fmt::format("{} rounds, {:.2g} s", count(median_rounds(figure.of(name))), seconds)
              : "never"));
    }
    claim.rows.push_back({setting_name(figure), fmt::format("to 0.01: {}", fmt::join(parts, "; ")),
                          why_exact(figure)});
  }
  return claim;
}

/// How much the work loads differ, where all of them reach the goal.
std::string why_loads(const CostFigure& figure) {
  double widest = std::nan("");
  double at = 0;
  for (std::size_t k = 0; k < figure.lines[0].participation.size(); ++k) {
    std::vector<double> costs;
    for (const CostLine& line : figure.lines) costs.push_back(line.broadcasts[k].median);
    const auto [least, most] = std::ranges::minmax(costs);
    if (!std::isfinite(most) || most / least <= widest) continue;
    widest = most / least;
    at = figure.lines[0].participation[k];
  }
  std::string text = std::isfinite(widest)
                         ? fmt::format(
                               "The costliest work load needs up to {} the broadcasts of "
                               "the cheapest, at participation {}.",
                               times(widest), exact(at))
                         : "At no participation do all work loads reach the goal in half of the "
                           "seeds.";
  return text +
         " Grove's links update their dual variable at both ends whenever either end was active; "
         "the printed rule, which updates it at active agents only, does not converge to the "
         "optimum (docs/reference/deviations.md).";
}

Claim loads_claim(const Findings& findings) {
  Claim claim{
      "Broadcasts per agent to 0.01 hardly depend on participation; Uniform work loads need more "
      "than Equal ones, Extreme ones most",
      {}};
  for (const CostFigure& figure : findings.figure2) {
    std::vector<std::string> lines;
    for (const CostLine& line : figure.lines) {
      std::vector<std::string> values;
      for (const Spread& spread : line.broadcasts) values.push_back(count(spread.median));
      lines.push_back(fmt::format("{}: {}", line.name, fmt::join(values, ", ")));
    }
    claim.rows.push_back(
        {setting_name(figure),
         fmt::format("broadcasts at participation {}: {}",
                     fmt::join(figure.lines[0].participation, ", "), fmt::join(lines, "; ")),
         why_loads(figure)});
  }
  return claim;
}

/// The best and the worst that tuning does, where both lines reach the goal.
std::string why_tuning(const CostFigure& figure) {
  const CostLine &equal = figure.lines[0], &tuned = figure.lines[1];
  std::vector<std::pair<double, double>> savings;  // share, participation
  std::uint64_t lost = 0;
  for (std::size_t k = 0; k < equal.participation.size(); ++k) {
    const double share = 1 - tuned.rounds[k].median / equal.rounds[k].median;
    if (std::isfinite(share)) savings.emplace_back(share, equal.participation[k]);
    lost += equal.reached[k] > tuned.reached[k] ? equal.reached[k] - tuned.reached[k] : 0;
  }
  std::vector<std::string> parts;
  if (savings.empty()) {
    parts.emplace_back("At no participation do both lines reach the goal in half of the seeds.");
  } else {
    const auto [worst, best] = std::ranges::minmax(savings);
    parts.push_back(fmt::format(
        "Tuning saves between {} (participation {}) and {} (participation "
        "{}) of the rounds; a negative share is a loss.",
        percent(worst.first), exact(worst.second), percent(best.first), exact(best.second)));
  }
  if (lost > 0)
    parts.push_back(
        fmt::format("{} runs that reach the goal with equal eps miss it with tuned "
                    "eps, which is smaller at agents with much work.",
                    lost));
  parts.emplace_back("The paper gives neither its graph nor its seeds.");
  return sentences(parts);
}

Claim tuning_claim(const Findings& findings) {
  Claim claim{"Tuned eps saves up to 28.2 % of the rounds, most at participation 0.4", {}};
  for (const CostFigure& figure : findings.figure3) {
    const CostLine &equal = figure.lines[0], &tuned = figure.lines[1];
    std::vector<std::string> values;
    for (std::size_t k = 0; k < equal.participation.size(); ++k)
      values.push_back(fmt::format("{}: {} / {}", exact(equal.participation[k]),
                                   count(equal.rounds[k].median), count(tuned.rounds[k].median)));
    claim.rows.push_back({setting_name(figure),
                          fmt::format("rounds with equal / tuned eps, by participation: {}",
                                      fmt::join(values, "; ")),
                          why_tuning(figure)});
  }
  return claim;
}

}  // namespace

std::vector<Claim> claims_of(const Findings& findings) {
  std::vector<Claim> claims;
  if (!findings.figure1.empty())
    claims = {rounds_claim(findings), newton_time_claim(findings), gradient_time_claim(findings),
              exact_claim(findings)};
  if (!findings.figure2.empty()) claims.push_back(loads_claim(findings));
  if (!findings.figure3.empty()) claims.push_back(tuning_claim(findings));
  return claims;
}

}  // namespace grove::experiments
