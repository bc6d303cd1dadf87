#include "experiments/figure1.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <cmath>

namespace grove::experiments {
namespace {

// Cheap rounds are given more often, so that lines over time end at comparable moments.
constexpr std::uint64_t gradient_rounds = 3000;
constexpr std::uint64_t newton_factor = 4;
constexpr std::uint64_t gossip_search_rounds = 300;

/// "DRUID-VL, E = 10" -> "literal-linearized-DRUID-VL-E-10"
std::string record_name(const Setting& setting, LocalModelKind model, const Contender& contender) {
  std::string name = is_druid(contender.method) ? setting.name + "-" : "";
  if (contender.method == Method::druid_vl) name += name_of(model) + "-";
  for (const char c : contender.name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += c;
    else if (name.back() != '-')
      name += '-';
  return name;
}

bool is_gossip(const Contender& contender) { return !is_druid(contender.method); }

Config config_of(const Scale& scale, const Setting& setting, const Contender& contender,
                 std::uint64_t seed) {
  Config config = base_config(scale, setting, seed);
  config.method = contender.method;
  config.work = std::to_string(contender.work);
  if (contender.whole_shards) config.sampling = SamplingKind::full;
  if (contender.method != Method::druid_vl) config.sampling = SamplingKind::full;
  if (contender.searched) config.prox = std::nullopt;
  if (is_gossip(contender)) {  // the setting has no say in these: one cell serves all pictures
    config.penalty = 1e-3;
    config.theta_penalty = std::nullopt;
    config.rounds = gossip_search_rounds;
  }
  return config;
}

}  // namespace

std::vector<Contender> contenders() {
  return {{.name = "DRUID-VL, E = 10", .work = 10},
          {.name = "DRUID-VL, E = 20", .work = 20},
          {.name = "DRUID-VL, E = 10, whole shards", .work = 10, .whole_shards = true},
          {.name = "DRUID-Newton", .method = Method::druid_newton},
          {.name = "Exact-ADMM", .method = Method::exact_admm},
          {.name = "DRUID-GD", .method = Method::druid_gd, .searched = true},
          {.name = "PG-EXTRA", .method = Method::pg_extra, .searched = true},
          {.name = "P2D2", .method = Method::p2d2, .searched = true}};
}

std::vector<double> factors(Method method) {
  if (method == Method::druid_gd) return {0.02, 0.05, 0.1, 0.2, 0.5, 1};
  return {0.5, 1, 2, 4, 8, 16, 32};
}

std::vector<Cell> contender_cells(const Scale& scale, const Setting& setting, LocalModelKind model,
                                  const Contender& contender, std::optional<double> factor) {
  std::vector<Cell> cells;
  for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
    Cell cell{.config = config_of(scale, setting, contender, seed),
              .smoothness_factor = factor,
              .timed = true};
    if (contender.method == Method::druid_vl) cell.config.local_model = model;
    if (contender.method == Method::druid_newton) cell.config.rounds *= newton_factor;
    if (contender.searched) {
      cell.config.rounds = scale.quick ? 100 : gradient_rounds;
      cell.config.measure_every = 5;
    }
    if (seed == 1) cell.record = record_name(setting, model, contender);
    cells.push_back(std::move(cell));
  }
  return cells;
}

std::vector<Cell> search_cells(const Scale& scale, const Setting& setting,
                               const Contender& contender) {
  std::vector<Cell> cells;
  for (const double factor : factors(contender.method))
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
      Cell cell{.config = config_of(scale, setting, contender, seed), .smoothness_factor = factor};
      cell.config.measure_every = 10;
      cells.push_back(std::move(cell));
    }
  return cells;
}

Search judge(const Contender& contender, std::span<const CellResult> results, std::uint64_t seeds) {
  Search search{.contender = contender.name, .factors = factors(contender.method), .errors = {}};
  for (std::size_t k = 0; k < search.factors.size(); ++k) {
    std::vector<double> last;
    for (const CellResult& run : results.subspan(k * seeds, seeds))
      last.push_back(run.lost ? std::nan("") : run.error.back());
    search.errors.push_back(spread_of(std::move(last)).median);
  }
  const auto best = std::ranges::min_element(search.errors) - search.errors.begin();
  search.best = search.factors[static_cast<std::size_t>(best)];
  return search;
}

const std::vector<CellResult>& Figure1::of(const std::string& contender) const {
  const auto found =
      std::ranges::find(lines, contender, &std::pair<std::string, std::vector<CellResult>>::first);
  assert(found != lines.end());
  return found->second;
}

Figure Figure1::over_rounds() const {
  Figure figure{.title = fmt::format("Figure 1a: {}, {} local model", title, name_of(model)),
                .x_label = "global rounds",
                .y_label = "relative error (median and quartiles over seeds)",
                .curves = {}};
  for (const auto& [name, seeds] : lines)
    figure.curves.push_back(error_over_rounds(name, seeds, last_round));
  return figure;
}

Figure Figure1::over_time() const {
  Figure figure{.title = fmt::format("Figure 1b: {}, {} local model", title, name_of(model)),
                .x_label = "processor seconds, all agents on one thread",
                .y_label = "relative error (median and quartiles over seeds)",
                .log_x = true,
                .curves = {}};
  for (const auto& [name, seeds] : lines)
    figure.curves.push_back(error_over_time(name, seeds, 120));
  return figure;
}

double rounds_saved(std::span<const CellResult> a, std::span<const CellResult> b, double level) {
  std::vector<double> taken;  // share of a's rounds that b takes
  for (std::size_t k = 0; k < a.size(); ++k)
    taken.push_back(rounds_to(b[k], level) / rounds_to(a[k], level));
  const double median = spread_of(std::move(taken)).median;
  return std::isfinite(median) ? 1 - median : std::nan("");
}

double error_ratio_at_equal_time(std::span<const CellResult> a, std::span<const CellResult> b,
                                 double level) {
  std::vector<double> ratios;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto position = b[k].first_at(level);
    if (!position) continue;
    const double error = error_at_time(a[k], b[k].seconds[*position]);
    if (!std::isnan(error)) ratios.push_back(error / b[k].error[*position]);
  }
  if (2 * ratios.size() < a.size() || ratios.empty()) return std::nan("");
  return spread_of(std::move(ratios)).median;
}

}  // namespace grove::experiments
