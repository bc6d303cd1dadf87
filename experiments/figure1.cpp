#include "experiments/figure1.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace grove::experiments {
namespace {

// Methods with cheap rounds get more of them, so that curves over time end at similar moments.
constexpr std::uint64_t gradient_rounds = 3000;
constexpr std::uint64_t newton_factor = 4;

/// Only what decides the run: gossip methods do not depend on the setting, and only DRUID-VL has a
/// local model.
std::string record_name(const Setting& setting, LocalModelKind model, const Contender& contender) {
  std::vector<std::string> parts;
  if (is_druid(contender.method)) parts.push_back(setting.name);
  if (contender.method == Method::druid_vl) parts.push_back(name_of(model));
  parts.push_back(contender.name);
  return file_name(parts);
}

bool is_gossip(const Contender& contender) { return !is_druid(contender.method); }

Config config_of(const Scale& scale, const Setting& setting, const Contender& contender,
                 std::uint64_t seed) {
  Config config = base_config(scale, setting, seed);
  config.method = contender.method;
  config.work = std::to_string(contender.work);
  if (contender.whole_shards) config.sampling = SamplingKind::full;
  if (contender.method != Method::druid_vl) config.sampling = SamplingKind::full;
  if (contender.searched) {
    config.prox = std::nullopt;
    config.rounds = searched_rounds(scale);
  }
  if (is_gossip(contender)) {  // these do not depend on the setting: one trial serves all figures
    config.penalty = 1e-3;
    config.theta_penalty = std::nullopt;
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

std::uint64_t searched_rounds(const Scale& scale) { return scale.quick ? 100 : gradient_rounds; }

std::vector<double> factors(Method method) {
  if (method == Method::druid_gd) return {0.02, 0.05, 0.1, 0.2, 0.5, 1};
  return {0.5, 1, 2, 4, 8, 16, 32};
}

std::vector<Trial> contender_trials(const Scale& scale, const Setting& setting,
                                    LocalModelKind model, const Contender& contender,
                                    std::optional<double> factor) {
  std::vector<Trial> trials;
  for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
    Trial trial{.config = config_of(scale, setting, contender, seed),
                .smoothness_factor = factor,
                .timed = true};
    if (contender.method == Method::druid_vl) trial.config.local_model = model;
    if (contender.method == Method::druid_newton) trial.config.rounds *= newton_factor;
    if (contender.searched) trial.config.measure_every = 5;
    if (seed == 1) trial.record = record_name(setting, model, contender);
    trials.push_back(std::move(trial));
  }
  return trials;
}

std::vector<Trial> search_trials(const Scale& scale, const Setting& setting,
                                 const Contender& contender) {
  std::vector<Trial> trials;
  for (const double factor : factors(contender.method))
    for (std::uint64_t seed = 1; seed <= scale.seeds; ++seed) {
      Trial trial{.config = config_of(scale, setting, contender, seed),
                  .smoothness_factor = factor};
      trial.config.measure_every = 10;
      trials.push_back(std::move(trial));
    }
  return trials;
}

Search pick_best(const Contender& contender, std::span<const TrialResult> results,
                 std::uint64_t seeds, std::uint64_t rounds) {
  Search search{.contender = contender.name,
                .rounds = rounds,
                .factors = factors(contender.method),
                .errors = {},
                .solved = {}};
  const auto horizon = static_cast<double>(rounds);
  for (std::size_t k = 0; k < search.factors.size(); ++k) {
    std::vector<double> last, solved;
    for (const TrialResult& run : results.subspan(k * seeds, seeds)) {
      last.push_back(error_at_round(run, horizon));
      const double needed = rounds_to(run, Search::solved_error);
      solved.push_back(needed <= horizon ? needed : std::nan(""));
    }
    search.errors.push_back(spread_of(std::move(last)).median);
    search.solved.push_back(spread_of(std::move(solved)).median);
  }
  const auto better = [&search](std::size_t a, std::size_t b) {
    return std::pair(search.solved[a], search.errors[a]) <
           std::pair(search.solved[b], search.errors[b]);
  };
  std::size_t best = 0;
  for (std::size_t k = 1; k < search.factors.size(); ++k)
    if (better(k, best)) best = k;
  search.best = search.factors[best];
  return search;
}

const std::vector<TrialResult>& Figure1::of(const std::string& contender) const {
  const auto found = std::ranges::find(lines, contender, &Line::name);
  assert(found != lines.end());
  return found->over_time;
}

Figure Figure1::over_rounds() const {
  Figure figure{.title = fmt::format("Figure 1a: {}, {} local model", title, name_of(model)),
                .x_label = "global rounds",
                .y_label = "relative error (median and quartiles over seeds)",
                .mark_meaning = diverged_meaning,
                .curves = {}};
  for (const Line& line : lines)
    figure.curves.push_back(error_over_rounds(line.name, line.over_rounds, last_round));
  return figure;
}

Figure Figure1::over_time() const {
  Figure figure{.title = fmt::format("Figure 1b: {}, {} local model", title, name_of(model)),
                .x_label = "processor seconds, all agents on one thread",
                .y_label = "relative error (median and quartiles over seeds)",
                .log_x = true,
                .mark_meaning = diverged_meaning,
                .curves = {}};
  for (const Line& line : lines)
    figure.curves.push_back(error_over_time(line.name, line.over_time, 120));
  return figure;
}

double rounds_saved(std::span<const TrialResult> a, std::span<const TrialResult> b, double level) {
  std::vector<double> taken;  // share of a's rounds that b takes
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double compared = rounds_to(a[k], level);
    taken.push_back(std::isfinite(compared) ? rounds_to(b[k], level) / compared : std::nan(""));
  }
  const double median = spread_of(std::move(taken)).median;
  return std::isfinite(median) ? 1 - median : std::nan("");
}

double error_ratio_at_equal_time(std::span<const TrialResult> a, std::span<const TrialResult> b,
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
