#include <algorithm>
#include <cmath>

#include <fmt/ranges.h>

#include "experiments/claims.h"
#include "experiments/document.h"
#include "experiments/reproduce.h"
#include "grove/base/file.h"
#include "grove/base/text.h"

namespace grove::experiments {
namespace {

using Row = std::vector<std::string>;

void add_claims(const Findings& findings, Document& document) {
  const std::vector<Claim> claims = claims_of(findings);
  if (claims.empty()) return;
  std::vector<Row> rows;
  for (const Claim& claim : claims)
    for (std::size_t k = 0; k < claim.rows.size(); ++k)
      rows.push_back({k == 0 ? claim.paper : "", claim.rows[k].setting, claim.rows[k].measured,
                      claim.rows[k].why});
  document.heading("What the paper says and what we measure");
  document.table({"paper says", "setting", "we measure",
                  "why they differ (computed from the runs of this report)"},
                 rows);
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
  return fmt::format("{} ({} seeds)",
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

/// The median, and the number of seeds that reached the level.
std::string time_text(const std::vector<TrialResult>& seeds, double level) {
  const auto arrived = std::ranges::count_if(
      seeds, [level](const TrialResult& run) { return run.first_at(level).has_value(); });
  const double median = seconds_to(seeds, level).median;
  return fmt::format("{} ({} seeds)",
                     std::isfinite(median) ? fmt::format("{:.3g} s", median) : "never", arrived);
}

void add_work(const std::vector<WorkFigure>& figures, Document& document) {
  if (figures.empty()) return;
  document.heading("What is variable work worth on unequal machines?");
  document.paragraph(
      "Half of the agents have machines of a tenth of the speed of the others; messages take 0.1 "
      "ms. Seconds are simulated (operations over speed, plus messages). Whole shards, edge links. "
      "In lock-step a round waits for its slowest agent; free-running agents start again whenever "
      "they have received a new message. Proportional: 10 local steps on fast machines and 1 on "
      "slow "
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
      "seeds or more diverges or does not reach the goal. Open markers carry the number of seeds "
      "that diverged, or that reached the goal. \"literal\" is the paper's mu_z = 5e-5 with "
      "eps = mu_theta = 2 mu_z; \"picture\" is mu_z = 3e-3, where the paper's picture appears. "
      "Batches of 100 except where whole shards are named. Times are processor seconds of all "
      "agents on one thread, measured with nothing else of this job running. The paper's own "
      "pictures are not shown here: its numbers stand in the table.{}",
      findings.scale.data, findings.scale.samples, findings.scale.seeds,
      findings.date.empty() ? "" : " Date of this report: " + findings.date + "."));
  if (findings.scale.quick)
    document.paragraph(
        "This is the quick form: a small set, two seeds and few rounds, in which most goals are "
        "not reached. It shows that everything works, not how the methods compare.");
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
