#include "grove/train/fit_path.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "grove/base/random.h"

namespace grove {
namespace {

/// Of the smallest weight and the largest.
constexpr double path_ratio = 1e-3;

template <class Value>
double sum_over_sites(const FitData& data, const Value& value) {
  std::vector<Vector> parts;
  for (std::size_t k = 0; k < data.designs.size(); ++k)
    parts.push_back(Vector::Constant(1, value(k)));
  return data.exchange.sum(parts)[0];
}

double network_deviance(const FitData& data, const Vector& x) {
  return sum_over_sites(
      data, [&](std::size_t k) { return inference_sums(data.model, data.designs[k], x).deviance; });
}

double deviance_left_out(const FitData& data, const std::vector<Design>& left_out,
                         const FitData& training, const Vector& x) {
  return sum_over_sites(data, [&](std::size_t k) {
    if (left_out[k].samples.count() == 0) return 0.0;
    if (data.model.family.kind != Family::Kind::cox)
      return inference_sums(data.model, left_out[k], x).deviance;
    // Verweij and van Houwelingen: what the rows left out add to the partial likelihood.
    return -2 * (cox_log_likelihood(data.designs[k], data.model.ties, x) -
                 cox_log_likelihood(training.designs[k], data.model.ties, x));
  });
}

double weight_of(const FitData& data, const std::vector<Design>& designs) {
  return sum_over_sites(data, [&](std::size_t k) {
    double total = 0;
    for (Index row = 0; row < designs[k].samples.count(); ++row) total += designs[k].weight(row);
    return total;
  });
}

/// The fold of every row of a site.
std::vector<std::size_t> folds_of(Index rows, std::size_t folds, std::uint64_t seed,
                                  std::size_t site) {
  KeyedRandom random({.seed = seed, .purpose = Purpose::partition, .agent = site, .round = 1});
  std::vector<std::size_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random.below(k)]);
  std::vector<std::size_t> fold(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) fold[order[k]] = k % folds;
  return fold;
}

/// The rows of all folds but one, and those of that one.
struct FoldSplit {
  FitData training;
  std::vector<Design> left_out;
};

FoldSplit split_fold(const FitData& data, std::size_t fold, std::size_t folds, std::uint64_t seed) {
  FoldSplit result{.training = data, .left_out = {}};
  result.training.designs.clear();
  for (std::size_t site = 0; site < data.designs.size(); ++site) {
    const Design& design = data.designs[site];
    const auto fold_of_row = folds_of(design.samples.count(), folds, seed, site);
    std::vector<std::uint32_t> kept, left_out;
    for (std::uint32_t row = 0; row < fold_of_row.size(); ++row)
      (fold_of_row[row] == fold ? left_out : kept).push_back(row);
    result.training.designs.push_back(take_rows(design, kept));
    result.left_out.push_back(take_rows(design, left_out));
  }
  const DesignMoments moments = network_moments(result.training.designs, data.exchange);
  result.training.moments.rows = moments.rows;
  result.training.moments.weight = moments.weight;
  result.training.moments.response_mean = moments.response_mean;
  result.training.moments.exposure = moments.exposure;
  return result;
}

void choose(CrossValidation& result) {
  result.best =
      static_cast<std::size_t>(std::ranges::min_element(result.mean) - result.mean.begin());
  const double limit = result.mean[result.best] + result.std_error[result.best];
  result.one_standard_error = result.best;
  while (result.one_standard_error > 0 && result.mean[result.one_standard_error - 1] <= limit)
    --result.one_standard_error;
}

}  // namespace

double largest_l1(const FitData& data, double l2) {
  const Vector x = null_model(data);
  std::vector<Vector> parts;
  ObjectiveScratch scratch;
  for (const auto& objective : objectives_of(data, l2))
    objective->evaluate(x, Batch::all(), &parts.emplace_back(), nullptr, scratch);
  const Vector gradient = data.exchange.sum(parts) / static_cast<double>(data.agents);
  const Index penalized = data.scaling.blocks * data.scaling.features();
  return penalized > 0 ? gradient.head(penalized).lpNorm<Eigen::Infinity>() : 0;
}

std::vector<double> path_weights(const FitData& data, double l2, std::size_t count) {
  const double largest = largest_l1(data, l2);
  std::vector<double> weights;
  for (std::size_t k = 0; k < count; ++k) {
    const double share = count > 1 ? static_cast<double>(k) / static_cast<double>(count - 1) : 0.0;
    weights.push_back(largest * std::pow(path_ratio, share));
  }
  return weights;
}

Result<FitPath> fit_path(const FitOptions& options, const Config& config, const FitData& data,
                         const std::vector<double>& weights, const RunHooks& hooks) {
  FitPath path;
  const auto objectives = objectives_of(data, config.l2);
  Vector start = null_model(data);
  path.null_deviance = network_deviance(data, start);
  for (const double weight : weights) {
    Config at = config;
    at.l1 = weight;
    auto solution = solve_network(options, at, data, objectives, start, hooks);
    if (!solution) return solution.error();
    start = solution->x;
    const Index slopes = data.scaling.blocks * data.scaling.features();
    path.points.push_back(
        {.l1 = weight,
         .scaled = start,
         .coefficients = data.scaling.to_original(start),
         .nonzeros = static_cast<std::size_t>((start.head(slopes).array() != 0).count()),
         .deviance = network_deviance(data, start),
         .rounds = solution->record.outcome.rounds,
         .converged = solution->converged});
    path.rounds += solution->record.outcome.rounds;
  }
  return path;
}

Result<CrossValidation> cross_validate(const FitOptions& options, const Config& config,
                                       const FitData& data, const std::vector<double>& weights,
                                       std::size_t folds, const RunHooks& hooks) {
  Status rows = success();
  for (const Design& design : data.designs)
    if (rows && design.samples.count() < 2)
      rows = Error{"--cv", fmt::format("{} has one row; expected at least two to leave one out",
                                       design.site)};
  if (Status status = data.exchange.agree(rows); !status) return status.error();
  CrossValidation result{.folds = folds, .l1 = weights};
  std::vector<std::vector<double>> scores(folds);
  std::vector<double> sizes(folds);
  for (std::size_t fold = 0; fold < folds; ++fold) {
    const FoldSplit split = split_fold(data, fold, folds, config.seed);
    sizes[fold] = weight_of(data, split.left_out);
    if (!(sizes[fold] > 0))
      return Error{"--cv", fmt::format("fold {} has no rows; expected fewer folds", fold + 1)};
    const auto path = fit_path(options, config, split.training, weights, hooks);
    if (!path) return path.error();
    for (const PathPoint& point : path->points)
      scores[fold].push_back(deviance_left_out(data, split.left_out, split.training, point.scaled) /
                             sizes[fold]);
  }
  const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  for (std::size_t k = 0; k < weights.size(); ++k) {
    double mean = 0, spread = 0;
    for (std::size_t fold = 0; fold < folds; ++fold) mean += sizes[fold] / total * scores[fold][k];
    for (std::size_t fold = 0; fold < folds; ++fold)
      spread += sizes[fold] / total * (scores[fold][k] - mean) * (scores[fold][k] - mean);
    result.mean.push_back(mean);
    result.std_error.push_back(std::sqrt(spread / static_cast<double>(folds - 1)));
  }
  choose(result);
  return result;
}

}  // namespace grove
