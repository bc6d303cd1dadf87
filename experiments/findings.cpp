#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "experiments/document.h"
#include "experiments/reproduce.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/network/topology.h"
#include "grove/setup/method_setup.h"
#include "grove/theory/stability.h"

namespace grove::experiments {
namespace {

using Row = std::vector<std::string>;

/// A statement of the paper, what stands against it in each setting, and why.
struct Claim {
  std::string paper;
  std::vector<std::pair<std::string, std::string>> measured;  ///< setting, numbers
  std::string why;
};

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

std::string setting_name(const Figure1& figure) {
  return fmt::format("{}, {}", figure.setting, name_of(figure.model));
}

std::string setting_name(const CostFigure& figure) {
  return fmt::format("{}, {}", figure.setting.name, name_of(figure.model));
}

/// Seeds whose graph asks for more damping than eps = 2 mu_z, whatever mu_z is.
std::uint64_t seeds_beyond_bound(const Scale& scale) {
  std::uint64_t count = 0;
  for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
    const Config config = base_config(scale, settings(scale)[0], seed);
    const auto graph = make_graph(config.graph, config.agents, seed);
    if (!graph) continue;
    const LinearizedSetting setting{.penalty = config.penalty,
                                    .theta_penalty = *config.theta_penalty,
                                    .holder = regularizer_holder,
                                    .prox = std::vector(config.agents, 2.0 * config.penalty)};
    count += linearized_stability(*graph, setting).guaranteed ? 0 : 1;
  }
  return count;
}

double median_rounds(const std::vector<CellResult>& seeds) {
  std::vector<double> rounds;
  for (const CellResult& run : seeds) rounds.push_back(rounds_to(run, goal));
  return spread_of(std::move(rounds)).median;
}

double median_seconds(const std::vector<CellResult>& seeds) {
  std::vector<double> seconds;
  for (const CellResult& run : seeds) {
    const auto position = run.first_at(goal);
    seconds.push_back(position ? run.seconds[*position] : std::nan(""));
  }
  return spread_of(std::move(seconds)).median;
}

std::string lost_text(const std::vector<CellResult>& seeds) {
  const auto lost = std::ranges::count_if(
      seeds, [](const CellResult& run) { return std::isinf(rounds_to(run, goal)); });
  return lost > 0 ? fmt::format(", {} of {} seeds never", lost, seeds.size()) : "";
}

Claim rounds_claim(const Findings& findings) {
  Claim claim{
      "Fewer rounds than DRUID-Newton to a fixed error: 41 % with E = 10, 59 % with E = 20",
      {},
      fmt::format(
          "A gain needs the linearized local model and a penalty that matters. The augmented "
          "model's sub-problem is solved almost exactly by one Newton step, so more steps save "
          "nothing. At the printed penalty whole shards gain next to nothing either; a batch of "
          "100 samples with few of one class, as in ijcnn1, is close to separable, and its Newton "
          "steps are noise that the damping does not hold. On {} of these {} graphs eps = 2 mu_z "
          "is below the stability bound of the linearized model, where seeds may be lost even "
          "with whole shards.",
          seeds_beyond_bound(findings.scale), findings.scale.seeds)};
  for (const Figure1& figure : findings.figure1) {
    const auto& newton = figure.of("DRUID-Newton");
    std::vector<std::string> parts;
    for (const char* name :
         {"DRUID-VL, E = 10", "DRUID-VL, E = 20", "DRUID-VL, E = 10, whole shards"})
      parts.push_back(
          fmt::format("{}: {} ({}{})", name, percent(rounds_saved(newton, figure.of(name), goal)),
                      rounds_text(median_rounds(figure.of(name))), lost_text(figure.of(name))));
    claim.measured.emplace_back(
        setting_name(figure),
        fmt::format("fewer to 0.01 than DRUID-Newton ({}{}): {}",
                    rounds_text(median_rounds(newton)), lost_text(newton), fmt::join(parts, "; ")));
  }
  return claim;
}

/// Errors of others over those of DRUID-VL with E = 10 and 20, at the moments these reach the goal.
std::string ratios_to(const Figure1& figure, const std::vector<const char*>& others) {
  std::vector<std::string> parts;
  for (const char* other : others)
    parts.push_back(fmt::format(
        "{}: {} / {}", other,
        times(error_ratio_at_equal_time(figure.of(other), figure.of("DRUID-VL, E = 10"), goal)),
        times(error_ratio_at_equal_time(figure.of(other), figure.of("DRUID-VL, E = 20"), goal))));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Claim newton_time_claim(const Findings& findings) {
  Claim claim{
      "At equal time, an error 1.96x (E = 10) and 4.76x (E = 20) below that of DRUID-Newton",
      {},
      "Ratios are taken when DRUID-VL reaches 0.01; below 1x DRUID-Newton is ahead. One of its "
      "rounds is one pass over its shard and one solve per agent; E = 10 with batches of 100 is "
      "ten "
      "solves and 1,000 samples. Rounds cost nothing here but work: in a "
      "network, where they wait for messages, the comparison over rounds is the one that counts. "
      "The paper does not say at which moment it compares, nor on which machine."};
  for (const Figure1& figure : findings.figure1)
    claim.measured.emplace_back(setting_name(figure), ratios_to(figure, {"DRUID-Newton"}));
  return claim;
}

Claim gradient_time_claim(const Findings& findings) {
  Claim claim{
      "At equal time, an error 12.5x / 33.3x below those of PG-EXTRA, DRUID-GD and P2D2",
      {},
      "As above; below 1x the gradient method is ahead. Each runs with its best step of the "
      "grid below, which may be well above 1/L because curvature along a run is below its "
      "bound, and its rounds cost a small part of a Newton round. The paper does not give "
      "its steps."};
  for (const Figure1& figure : findings.figure1)
    claim.measured.emplace_back(setting_name(figure),
                                ratios_to(figure, {"PG-EXTRA", "P2D2", "DRUID-GD"}));
  return claim;
}

Claim exact_claim(const Findings& findings) {
  Claim claim{
      "Exact-ADMM takes the fewest rounds and is the slowest of the DRUID family in time",
      {},
      "Exact-ADMM solves the augmented sub-problem, which one Newton step nearly solves: it "
      "saves next to no rounds. Where the linearized model gains, it gains over exact "
      "solves too, because it is a different iteration and not an approximation of this "
      "one."};
  for (const Figure1& figure : findings.figure1) {
    std::vector<std::string> parts;
    for (const char* name :
         {"Exact-ADMM", "DRUID-Newton", "DRUID-VL, E = 10", "DRUID-VL, E = 20"}) {
      const double seconds = median_seconds(figure.of(name));
      parts.push_back(fmt::format(
          "{}: {}", name,
          std::isfinite(seconds)
              ? fmt::format("{} rounds, {:.2g} s", count(median_rounds(figure.of(name))), seconds)
              : "never"));
    }
    claim.measured.emplace_back(setting_name(figure),
                                fmt::format("to 0.01: {}", fmt::join(parts, "; ")));
  }
  return claim;
}

Claim loads_claim(const Findings& findings) {
  Claim claim{
      "Broadcasts per agent to 0.01 hardly depend on participation; Uniform work loads need more "
      "than Equal ones, Extreme ones most",
      {},
      "The order of the work loads shows with the linearized model only: with the augmented one "
      "more local steps make no difference. Grove's links update their dual at both ends whenever "
      "either end was active, since the printed rule, which updates it at active agents only, does "
      "not converge to the optimum (docs/deviations.md)."};
  for (const CostFigure& figure : findings.figure2) {
    std::vector<std::string> lines;
    for (const CostLine& line : figure.lines) {
      std::vector<std::string> values;
      for (const Spread& spread : line.broadcasts) values.push_back(count(spread.median));
      lines.push_back(fmt::format("{}: {}", line.name, fmt::join(values, ", ")));
    }
    claim.measured.emplace_back(
        setting_name(figure),
        fmt::format("broadcasts at participation {}: {}",
                    fmt::join(figure.lines[0].participation, ", "), fmt::join(lines, "; ")));
  }
  return claim;
}

Claim tuning_claim(const Findings& findings) {
  Claim claim{
      "Tuned eps saves up to 28.2 % of the rounds, most at participation 0.4",
      {},
      "The rule gives agents with little work an eps several times larger, which slows them, "
      "and those with much work a smaller one, which may fall below the bound of the "
      "linearized model. The paper gives neither its graph nor its seeds."};
  for (const CostFigure& figure : findings.figure3) {
    const CostLine &equal = figure.lines[0], &tuned = figure.lines[1];
    std::vector<std::string> values;
    for (std::size_t k = 0; k < equal.participation.size(); ++k)
      values.push_back(fmt::format("{}: {} / {}", exact(equal.participation[k]),
                                   count(equal.rounds[k].median), count(tuned.rounds[k].median)));
    claim.measured.emplace_back(setting_name(figure),
                                fmt::format("rounds with equal / tuned eps, by participation: {}",
                                            fmt::join(values, "; ")));
  }
  return claim;
}

void add_claims(const Findings& findings, Document& document) {
  std::vector<Claim> claims;
  if (!findings.figure1.empty())
    claims = {rounds_claim(findings), newton_time_claim(findings), gradient_time_claim(findings),
              exact_claim(findings)};
  if (!findings.figure2.empty()) claims.push_back(loads_claim(findings));
  if (!findings.figure3.empty()) claims.push_back(tuning_claim(findings));
  if (claims.empty()) return;
  std::vector<Row> rows;
  for (const Claim& claim : claims)
    for (std::size_t k = 0; k < claim.measured.size(); ++k)
      rows.push_back({k == 0 ? claim.paper : "", claim.measured[k].first, claim.measured[k].second,
                      k == 0 ? claim.why : ""});
  document.heading("What the paper says and what we measure");
  document.table({"paper says", "setting", "we measure", "why they differ"}, rows);
}

std::string found_text(const Search& search, std::size_t k) {
  if (std::isfinite(search.solved[k]))
    return fmt::format("1e-10 in round {:.0f}", search.solved[k]);
  return std::isfinite(search.errors[k]) ? fmt::format("{:.3g}", search.errors[k]) : "diverged";
}

void add_searches(const Findings& findings, Document& document) {
  if (findings.searches.empty()) return;
  document.heading("Steps of the gradient methods");
  document.paragraph(
      "No baseline is handicapped: the step of PG-EXTRA and P2D2 is factor / L and eps of DRUID-GD "
      "is factor * L, L being the largest smoothness constant of the local objectives. The factor "
      "is the one of this grid that reaches a relative error of 1e-10 first, or else has the "
      "smallest median error after the rounds that are pictured: those of figure 1a, and the "
      "many more of figure 1b, have a search each.");
  std::vector<Row> rows;
  for (const Search& search : findings.searches) {
    std::vector<std::string> errors;
    for (std::size_t k = 0; k < search.factors.size(); ++k)
      errors.push_back(fmt::format("{}: {}", exact(search.factors[k]), found_text(search, k)));
    rows.push_back({search.contender, std::to_string(search.rounds),
                    fmt::format("{}", fmt::join(errors, ", ")), exact(search.best)});
  }
  document.table({"method", "rounds", "factor: median error", "chosen"}, rows);
}

std::string cost_text(const CostLine& line, std::size_t k) {
  const double rounds = line.rounds[k].median;
  return fmt::format("{} ({} seeds got there)",
                     std::isfinite(rounds) ? fmt::format("{:.0f} rounds, {:.0f} broadcasts", rounds,
                                                         line.broadcasts[k].median)
                                           : "never",
                     line.reached[k]);
}

void add_costs(const std::vector<CostFigure>& figures, Document& document) {
  for (const CostFigure& figure : figures) {
    document.picture(stem_of(figure), figure.title());
    std::vector<Row> rows;
    for (const CostLine& line : figure.lines) {
      Row row = {line.name};
      for (std::size_t k = 0; k < line.participation.size(); ++k) row.push_back(cost_text(line, k));
      rows.push_back(std::move(row));
    }
    Row header = {"work loads"};
    for (const double share : figure.lines[0].participation)
      header.push_back("participation " + exact(share));
    document.table(header, rows);
  }
}

/// Medians, and how many seeds got there.
std::string time_text(const std::vector<CellResult>& seeds, double level) {
  const auto arrived = std::ranges::count_if(
      seeds, [level](const CellResult& run) { return run.first_at(level).has_value(); });
  const double median = seconds_to(seeds, level).median;
  return fmt::format("{} ({} seeds got there)",
                     std::isfinite(median) ? fmt::format("{:.3g} s", median) : "never", arrived);
}

void add_work(const std::vector<WorkFigure>& figures, Document& document) {
  if (figures.empty()) return;
  document.heading("What is variable work worth on unequal machines?");
  document.paragraph(
      "Half of the agents have machines of a tenth of the speed of the others; messages take 0.1 "
      "ms. Seconds are simulated (operations over speed, plus messages). Whole shards, edge links. "
      "In lock-step a round waits for its slowest agent; free-running agents start again whenever "
      "they have heard something new. Proportional: 10 local steps on fast machines and 1 on slow "
      "ones; automatic: --work auto.");
  for (const WorkFigure& figure : figures) {
    document.picture(stem_of(figure), figure.title());
    std::vector<Row> rows;
    for (const auto& [rule, seeds] : figure.lines) {
      Row row = {rule.name};
      for (const double level : WorkFigure::levels) row.push_back(time_text(seeds, level));
      rows.push_back(std::move(row));
    }
    Row header = {"work"};
    for (const double level : WorkFigure::levels)
      header.push_back("simulated seconds to " + exact(level));
    document.table(header, rows);
  }
}

}  // namespace

Status write_report(const Findings& findings, const std::filesystem::path& folder) {
  Document document("The paper's experiments, measured again");
  document.paragraph(fmt::format(
      "Data: {}, {} random samples on 10 agents, Erdos-Renyi graph with p = 0.2 redrawn until "
      "connected, logistic loss, l1 = 2e-6, {} seeds (each draws samples, graph, batches and work "
      "loads). Lines are medians, bands quartiles; a band without an upper half: a quarter of the "
      "seeds or more is lost or never gets there. \"literal\" is the paper's mu_z = 5e-5 with "
      "eps = mu_theta = 2 mu_z; \"picture\" is mu_z = 3e-3, where the paper's picture appears. "
      "Batches of 100 except where whole shards are named. Times are processor seconds of all "
      "agents on one thread, measured with nothing else of this job running. The paper's own "
      "pictures are not shown here: what it says in numbers stands in the table.",
      findings.scale.data, findings.scale.samples, findings.scale.seeds));
  if (findings.scale.quick)
    document.paragraph(
        "This is the quick form: a small set, two seeds and so few rounds that much is never "
        "reached. It shows that everything works, not how it compares.");
  add_claims(findings, document);
  add_searches(findings, document);
  if (!findings.figure1.empty()) document.heading("Figure 1: convergence");
  for (const Figure1& figure : findings.figure1) {
    document.picture(stem_of(figure, 'a'), figure.over_rounds().title);
    document.picture(stem_of(figure, 'b'), figure.over_time().title);
  }
  if (!findings.figure2.empty()) document.heading("Figure 2: work loads and participation");
  add_costs(findings.figure2, document);
  if (!findings.figure3.empty()) document.heading("Figure 3: tuned eps");
  add_costs(findings.figure3, document);
  add_work(findings.work, document);
  if (Status status = write_file_atomically(folder / "report.md", document.markdown()); !status)
    return status;
  const auto html = document.html(folder);
  if (!html) return html.error();
  return write_file_atomically(folder / "report.html", *html);
}

}  // namespace grove::experiments
