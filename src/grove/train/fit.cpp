#include "grove/train/fit.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/network/topology.h"
#include "grove/problem/multinomial.h"
#include "grove/record/version.h"
#include "grove/runtime/cluster.h"
#include "grove/setup/shared_instance.h"

namespace grove {
namespace {

/// A fraction y of successes with weight w is a success of weight w y and a failure of w (1 - y).
Design without_fractions(const Design& design) {
  const auto& rows = std::get<DenseRows>(design.samples.features);
  std::vector<Index> sources;
  std::vector<double> targets, weights;
  const auto add = [&](Index row, double target, double weight) {
    sources.push_back(row);
    targets.push_back(target);
    weights.push_back(weight);
  };
  for (Index row = 0; row < rows.rows(); ++row) {
    const double y = design.samples.targets[row], weight = design.weight(row);
    if (y > 0) add(row, 1, weight * y);
    if (y < 1) add(row, 0, weight * (1 - y));
  }
  const auto count = static_cast<Index>(sources.size());
  Design result{.site = design.site};
  DenseRows features(count, rows.cols());
  result.weights = Eigen::Map<const Vector>(weights.data(), count);
  if (design.offsets.size() > 0) result.offsets.resize(count);
  for (Index k = 0; k < count; ++k) {
    features.row(k) = rows.row(sources[static_cast<std::size_t>(k)]);
    if (design.offsets.size() > 0)
      result.offsets[k] = design.offsets[sources[static_cast<std::size_t>(k)]];
  }
  result.samples = {std::move(features), Eigen::Map<const Vector>(targets.data(), count)};
  return result;
}

std::shared_ptr<const Objective> objective_of(const FitData& data, const Design& design,
                                              const SiteTerms& terms) {
  const Family& family = data.model.family;
  if (family.kind == Family::Kind::multinomial)
    return make_multinomial_objective(design, data.model.classes, terms);
  if (family.kind == Family::Kind::cox) return make_cox_objective(design, data.model.ties, terms);
  ShardTerms shard{.loss = family.loss(),
                   .l2 = terms.l2,
                   .intercept = terms.intercept,
                   .scale = terms.scale,
                   .offsets = design.offsets,
                   .weights = design.weights};
  return make_shard_objective(design.samples, shard);
}

Result<Instance> make_instance(const Config& config, const FitData& data,
                               const SiteObjectives& objectives, const Vector& start) {
  auto graph = make_graph(config.graph, config.agents, config.seed);
  if (!graph) return graph.error();
  Instance instance{.graph = std::move(*graph)};
  if (data.cluster != nullptr) {
    instance.own = agents_of(data.agents, data.cluster->rank(), data.cluster->size());
    instance.objectives.resize(instance.own->first);
  }
  instance.objectives.insert(instance.objectives.end(), objectives.begin(), objectives.end());
  instance.objectives.resize(data.agents);
  instance.features = data.scaling.blocks * data.scaling.features();
  instance.regularizer = regularizer_of(config, instance.features);
  instance.samples = data.moments.rows;
  instance.initial = start;
  if (data.cluster != nullptr) {
    share(instance, *data.cluster);
    return instance;
  }
  std::vector<const Objective*> parts;
  for (const auto& objective : instance.objectives) parts.push_back(objective.get());
  instance.mean = make_mean_objective(std::move(parts), static_cast<int>(config.threads));
  return instance;
}

Config network_config(const FitOptions& options, const Config& given, const FitData& data) {
  Config config = given;
  config.agents = data.agents;
  config.agents_given = true;
  config.weighting = Weighting::sample;
  config.intercept = data.model.intercept;
  // The Newton steps that follow keep zeros and signs, which must be right before.
  constexpr double largest_gap = 1e-12;
  if (config.tolerance > 0) config.tolerance = std::min(config.tolerance, largest_gap);
  if (options.family.has_margin()) config.loss = options.family.loss();
  return config;
}

/// The names of the coordinates in their order.
std::vector<std::string> coordinate_names(const FitData& data) {
  std::vector<std::string> names;
  const auto& classes = data.encoding.classes;
  const bool multinomial = data.model.family.kind == Family::Kind::multinomial;
  const auto labelled = [&](const std::string& name, Index block) {
    return multinomial ? classes[static_cast<std::size_t>(block) + 1] + ": " + name : name;
  };
  for (Index block = 0; block < data.scaling.blocks; ++block)
    for (const std::string& name : data.column_names()) names.push_back(labelled(name, block));
  for (Index block = 0; data.model.intercept && block < data.scaling.blocks; ++block)
    names.push_back(labelled("Intercept", block));
  return names;
}

/// Along some direction the likelihood grows for ever: Newton's steps do not become short although
/// nothing is left to gain.
std::optional<Error> separation(const FitData& data, const Polished& polished, double value) {
  if (polished.converged || !data.model.family.is_likelihood()) return std::nullopt;
  const double longest =
      polished.last_step.size() > 0 ? polished.last_step.lpNorm<Eigen::Infinity>() : 0;
  const bool nothing_to_gain = polished.decrement <= 1e-6 * std::max(value, 1e-6);
  if (!polished.separating && (!nothing_to_gain || !(longest > 1e-3))) return std::nullopt;
  // In deviations of the columns, so that a shift of the intercept by centred columns is no change.
  Vector step = data.scaling.to_original(polished.last_step);
  const Index features = data.scaling.features();
  for (Index k = 0; k < data.scaling.blocks * features; ++k)
    step[k] *= data.scaling.scale[k % features];
  const double largest = step.lpNorm<Eigen::Infinity>();
  std::vector<std::string> names = coordinate_names(data), growing;
  for (Index k = 0; k < step.size(); ++k)
    if (std::abs(step[k]) > 1e-2 * largest) growing.push_back(names[static_cast<std::size_t>(k)]);
  return Error{"formula",
               fmt::format("the data is separated: the likelihood grows for ever along {}, so that "
                           "these estimates are infinite; expected a penalty (--l2 1e-3) or fewer "
                           "terms",
                           fmt::join(growing, ", "))};
}

NullSums network_null_sums(const FitData& data, double intercept) {
  std::vector<Vector> parts;
  for (const Design& design : data.designs)
    parts.push_back(pack(null_sums(data.model, design, intercept)));
  return unpack_null(data.exchange.sum(parts));
}

/// The intercept of the model without terms, by Newton's method on one number.
double null_intercept(const FitData& data) {
  double intercept = start_of(data)[data.scaling.dimension() - 1];
  for (int step = 0; step < 50; ++step) {
    const NullSums sums = network_null_sums(data, intercept);
    const double move = sums.score / sums.sums.information(0, 0);
    if (!std::isfinite(move)) break;
    intercept += std::clamp(move, -2.0, 2.0);
    if (std::abs(move) <= 1e-14 * (1 + std::abs(intercept))) break;
  }
  return intercept;
}

Vector class_weights(const FitData& data) {
  std::vector<Vector> parts;
  for (const Design& design : data.designs) {
    Vector& counts = parts.emplace_back(Vector::Zero(data.model.classes));
    for (Index row = 0; row < design.samples.count(); ++row)
      counts[static_cast<Index>(design.samples.targets[row])] += design.weight(row);
  }
  return data.exchange.sum(parts);
}

/// Class frequencies: the multinomial model without terms.
InferenceSums multinomial_null(const FitData& data) {
  const Vector counts = class_weights(data);
  InferenceSums sums;
  const double total = counts.sum();
  for (const double count : counts)
    if (count > 0)
      sums.log_likelihood +=
          count *
          std::log(data.model.intercept ? count / total : 1.0 / static_cast<double>(counts.size()));
  sums.deviance = -2 * sums.log_likelihood;
  return sums;
}

std::string refusal_of(const FitOptions& options, const Config& config) {
  if (config.l1 > 0) return "--l1 selects coefficients, which their errors would have to reflect";
  if (std::isfinite(config.constraint.low) || std::isfinite(config.constraint.high))
    return "--constraint bounds coefficients, which their errors would have to reflect";
  if (config.regularizer) return "there is a --regularizer";
  if (options.robust && options.family.kind == Family::Kind::cox)
    return "--robust is not available for cox";
  if (!options.class_weight.empty() && !options.robust)
    return "weights of classes are no numbers of rows; --robust gives errors under them";
  return {};
}

FittedModel coefficients_model(const FitOptions& options, const Config& config, const FitData& data,
                               const Vector& x) {
  FittedModel model{.version = std::string(version),
                    .family = options.family,
                    .ties = options.ties,
                    .encoding = data.encoding,
                    .intercept = data.model.intercept,
                    .l1 = config.l1,
                    .l2 = config.l2,
                    .standardize = options.standardize,
                    .sites = data.sites};
  const Vector original = data.scaling.to_original(x);
  const Index slopes = data.scaling.blocks * data.scaling.features();
  model.coefficients = original.head(slopes);
  model.intercepts = original.tail(original.size() - slopes);
  for (Index k = 0; k < slopes; ++k)
    if (x[k] == 0) model.coefficients[k] = 0;
  return model;
}

std::string outcome_text(const NetworkSolution& solution) {
  const Outcome& outcome = solution.record.outcome;
  std::string text = fmt::format(
      "{} {} rounds", outcome.status == RunStatus::converged ? "converged in" : "ended after",
      outcome.rounds);
  if (!solution.can_polish) return text;
  const int steps = solution.polished.steps;
  return text + fmt::format(", {} Newton step{} with network sums: {}", steps,
                            steps == 1 ? "" : "s",
                            solution.polished.converged ? "accurate to rounding" : "not converged");
}

}  // namespace

Vector start_of(const FitData& data) {
  Vector start = Vector::Zero(data.scaling.dimension());
  const Family& family = data.model.family;
  if (!data.model.intercept || !family.has_margin()) return start;
  const DesignMoments& moments = data.moments;
  const double exposure = moments.exposure > 0 && std::isfinite(moments.exposure)
                              ? moments.exposure / moments.weight
                              : 1;
  start[start.size() - 1] = family.link() == "log"
                                ? link_of_mean(family, moments.response_mean / exposure)
                                : link_of_mean(family, moments.response_mean);
  if (family.kind == Family::Kind::squared_hinge) start[start.size() - 1] = 0;
  return start;
}

NullFit null_fit(const FitData& data) {
  const Family& family = data.model.family;
  if (family.kind == Family::Kind::multinomial) return {.sums = multinomial_null(data)};
  if (!family.is_likelihood()) return {};
  NullFit null{.intercept = data.model.intercept ? null_intercept(data) : 0, .sums = {}};
  null.sums = network_null_sums(data, null.intercept).sums;
  return null;
}

Vector inference_numbers(const FitOptions& options, const Design& design,
                         const InferenceModel& model, const Vector& x) {
  return pack(inference_sums(model, design, x, options.robust));
}

FittedModel fitted_model(const FitOptions& options, const Config& config, const FitData& data,
                         const Vector& x, const std::optional<Vector>& total, const NullFit& null) {
  FittedModel model = coefficients_model(options, config, data, x);
  InferenceOptions wanted{.robust = options.robust,
                          .confidence = options.confidence,
                          .ridge = config.l2 * data.moments.weight,
                          .selects = config.l1 > 0,
                          .refusal = refusal_of(options, config)};
  const bool multinomial = options.family.kind == Family::Kind::multinomial;
  InferenceSums sums;
  if (total)
    sums = unpack(*total, x.size());
  else
    wanted.refusal = "the sums of the members are not known";
  model.inference = infer(data.model, sums, null.sums, x, data.scaling, data.column_names(),
                          multinomial ? data.encoding.classes : std::vector<std::string>{}, wanted);
  for (const FittedSite& site : data.sites) model.inference.dropped += site.dropped;
  return model;
}

SiteObjectives objectives_of(const FitData& data, double l2) {
  const auto agents = static_cast<double>(data.agents);
  const auto rows = static_cast<double>(data.moments.rows);
  const bool fractions =
      data.model.family.kind == Family::Kind::binomial && data.encoding.classes.empty();
  SiteObjectives objectives;
  for (const Design& given : data.designs) {
    Design design = fractions ? without_fractions(given) : given;
    if (design.weights.size() > 0) design.weights *= rows / data.moments.weight;
    const auto count = static_cast<double>(given.samples.count());
    if (fractions)  // more rows, the same sum
      design.weights *= static_cast<double>(design.samples.count()) / count;
    const SiteTerms terms{
        .l2 = l2, .intercept = data.model.intercept, .scale = agents * count / rows};
    objectives.push_back(objective_of(data, design, terms));
  }
  return objectives;
}

Vector null_model(const FitData& data) {
  Vector x = Vector::Zero(data.scaling.dimension());
  if (!data.model.intercept) return x;
  if (data.model.family.kind != Family::Kind::multinomial) {
    x[x.size() - 1] = data.model.family.is_likelihood() ? null_intercept(data) : 0;
    return x;
  }
  const Vector counts = class_weights(data).cwiseMax(1e-6);
  for (Index k = 1; k < counts.size(); ++k)
    x[x.size() - counts.size() + k] = std::log(counts[k] / counts[0]);
  return x;
}

Vector start_from(const FittedModel& earlier, const FitData& data) {
  const Index features = data.scaling.features(), blocks = data.scaling.blocks;
  Vector start = Vector::Zero(data.scaling.dimension());
  if (earlier.blocks() != blocks) return start_of(data);
  const auto known = static_cast<Index>(earlier.encoding.columns.size());
  const std::vector<std::string> names = data.column_names();
  for (Index k = 0; k < known; ++k) {
    const auto found =
        std::ranges::find(names, earlier.encoding.columns[static_cast<std::size_t>(k)].name);
    if (found == names.end()) continue;
    for (Index block = 0; block < blocks; ++block)
      start[block * features + (found - names.begin())] = earlier.coefficients[block * known + k];
  }
  if (data.model.intercept && earlier.intercepts.size() == blocks)
    start.tail(blocks) = earlier.intercepts;
  return data.scaling.to_scaled(start);
}

Result<NetworkSolution> solve_network(const FitOptions& options, const Config& given,
                                      const FitData& data, const SiteObjectives& objectives,
                                      const Vector& start, const RunHooks& hooks) {
  const Config config = network_config(options, given, data);
  auto instance = make_instance(config, data, objectives, start);
  if (!instance) return instance.error();
  auto prepared = prepare(config, std::move(*instance));
  if (!prepared) return prepared.error();
  auto record = run_prepared(config, *prepared, hooks, data.cluster);
  if (!record) return record.error();
  const Instance& laid_out = prepared->instance;
  NetworkSolution solution{.record = std::move(*record)};
  const bool usable =
      solution.record.outcome.status != RunStatus::diverged && solution.record.solution.allFinite();
  solution.polished = newton_polish(*laid_out.mean, laid_out.regularizer,
                                    usable ? solution.record.solution : start);
  solution.can_polish = solution.polished.steps > 0 || solution.polished.converged;
  solution.x = solution.polished.x;
  solution.value = laid_out.objective_at(solution.x);
  solution.converged = solution.can_polish ? solution.polished.converged
                                           : solution.record.outcome.status == RunStatus::converged;
  if (config.l1 == 0)  // with an l1 weight no coefficient can grow for ever
    if (const auto separated = separation(data, solution.polished, solution.value))
      return *separated;
  return solution;
}

Result<Fit> fit(const FitOptions& options, const Config& config, const FitData& data,
                const RunHooks& hooks, const std::optional<Vector>& start) {
  if (!config.dp.empty())
    return Error{"--dp", "the sums of a table of coefficients have no noise; expected grove train"};
  auto solved = solve_network(options, config, data, objectives_of(data, config.l2),
                              start.value_or(start_of(data)), hooks);
  if (!solved) return solved.error();
  std::vector<Vector> parts;
  for (const Design& design : data.designs)
    parts.push_back(inference_numbers(options, design, data.model, solved->x));
  const Vector total = data.exchange.sum(parts);
  Fit result{.record = {},
             .model = fitted_model(options, config, data, solved->x, total, null_fit(data)),
             .scaled = solved->x};
  if (options.family.is_likelihood() && !std::isfinite(result.model.inference.deviance))
    return Error{
        "formula",
        fmt::format("predictions overflow at the answer; expected terms and offsets on the "
                    "scale of the link ({}), such as offset(log(population))",
                    options.family.link())};
  result.model.objective = solved->value;
  result.model.outcome = outcome_text(*solved);
  result.record = std::move(solved->record);
  RunRecord& record = result.record;
  if (solved->converged)
    record.outcome.status = RunStatus::converged;
  else if (record.outcome.status == RunStatus::converged)
    record.outcome.status = RunStatus::round_limit;
  record.outcome.detail = result.model.outcome;
  record.solution = data.scaling.to_original(result.scaled);
  record.objective = result.model.objective;
  record.config["loss"] = options.family.name();
  record.config["data"] = options.sites;
  record.config["formula"] = options.formula;
  record.config["family"] = options.family.name();
  return result;
}

std::vector<std::optional<Inference>> site_estimates(const FitOptions& options,
                                                     const FitData& data) {
  std::vector<std::optional<Inference>> result;
  const auto objectives = objectives_of(data, 0);
  for (std::size_t k = 0; k < objectives.size(); ++k) {
    const Polished alone = newton_polish(*objectives[k], Regularizer{}, start_of(data));
    result.emplace_back();
    if (!alone.converged) continue;
    const InferenceSums sums = inference_sums(data.model, data.designs[k], alone.x, options.robust);
    const bool multinomial = options.family.kind == Family::Kind::multinomial;
    result.back() =
        infer(data.model, sums, std::nullopt, alone.x, data.scaling, data.column_names(),
              multinomial ? data.encoding.classes : std::vector<std::string>{},
              {.robust = options.robust, .confidence = options.confidence});
  }
  return result;
}

}  // namespace grove
