#include <algorithm>
#include <numeric>
#include <utility>

#include "grove/base/bytes.h"
#include "grove/base/text.h"
#include "grove/data/dataset.h"
#include "grove/data/digest.h"
#include "grove/data/labels.h"
#include "grove/peer/problem_parts.h"
#include "grove/peer/study/acceptances.h"
#include "grove/setup/instance.h"
#include "grove/setup/method_setup.h"

namespace grove::peer {
namespace {

/// Sorts the columns of a CSV file by name, so that sites whose files have another order agree.
void align_columns(Dataset& shard) {
  if (!shard.columns || std::ranges::is_sorted(shard.columns->features)) return;
  auto& names = shard.columns->features;
  Eigen::PermutationMatrix<Eigen::Dynamic> to(shard.samples.dimension());
  std::vector<Index> order(names.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](Index column) { return names[column]; });
  for (std::size_t k = 0; k < order.size(); ++k) to.indices()[order[k]] = static_cast<int>(k);
  if (auto* sparse = std::get_if<SparseRows>(&shard.samples.features))
    static_cast<Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>&>(*sparse) =
        Eigen::SparseMatrix<double, Eigen::RowMajor, std::int32_t>(*sparse * to.transpose());
  else
    std::get<DenseRows>(shard.samples.features) *= to.transpose();
  std::ranges::sort(names);
}

Result<Dataset> load_shard(const PeerConfig& config) {
  const Config& training = config.training;
  const bool classes = is_classification(training.loss);
  const auto kind = classes && !config.labels ? TargetKind::two_classes : TargetKind::number;
  auto shard = load_dataset(training.data, kind, training.seed,
                            {.label_column = training.label_column, .model_labels = config.labels});
  if (!shard) return shard.error();
  if (classes && config.labels)
    if (Status status = apply_labels(*config.labels, *shard); !status) return status.error();
  align_columns(*shard);
  const auto features = static_cast<Index>(config.features);
  if (features > 0 && shard->samples.dimension() > features)
    return Error{"features", fmt::format("{} has {} columns; expected at most {}", training.data,
                                         shard->samples.dimension(), features)};
  if (features > 0 && shard->columns && shard->samples.dimension() < features)
    return Error{"features", fmt::format("{} has {} columns; expected {}", training.data,
                                         shard->samples.dimension(), features)};
  if (features > 0) shard->samples = widen(std::move(shard->samples), features);
  return shard;
}

using PeerMethod = decltype(PeerProblem::method);

/// Every peer applies its share of r, unless one of them keeps the copy theta.
bool shares_regularizer(const PeerMethod& method) {
  const auto* druid = std::get_if<DruidOptions>(&method);
  return druid == nullptr || !druid->theta_penalty;
}

/// The settings of the data: what its columns and labels mean.
Schema schema_of_data(const PeerConfig& config, const Dataset& shard) {
  Schema schema{{"features", std::to_string(shard.samples.dimension())}};
  if (shard.columns)
    schema.push_back({std::string(columns_key), columns_value(shard.columns->features)});
  if (shard.columns && !shard.columns->label.empty())
    schema.push_back({"label-column", shard.columns->label});
  if (config.labels)
    schema.push_back(
        {"labels", label_text(*config.labels, false) + " and " + label_text(*config.labels, true)});
  if (config.acceptances) schema.push_back({"study", config.acceptances->study_id()});
  if (config.training.weighting == Weighting::sample && !config.acceptances)
    schema.push_back(
        {std::string(scale_per_row_key),
         fmt::format("{:.9g}", config.scale / static_cast<double>(shard.samples.count()))});
  if (config.contributions) schema.push_back({"contributions", "signed"});
  if (config.influence.feature_bound > 0) {
    schema.push_back({"feature-bound", fmt::format("{}", config.influence.feature_bound)});
    schema.push_back({"max-scale", fmt::format("{}", config.influence.max_scale)});
  }
  return schema;
}

/// The settings of the problem, for the network to have one solution and one end.
Schema schema_of_problem(const PeerConfig& config, const PeerMethod& method) {
  Config training = config.training;
  Schema schema{{"holder", config.holder}};
  for (const Option& option : options_of(training))
    for (const std::string_view name : {"loss", "l1", "l2", "constraint", "regularizer",
                                        "weighting", "intercept", "penalty", "tolerance"})
      if (option.name == name && !(fits_formula(config) && name == "loss")) {
        const auto value = option.get();
        schema.push_back(
            {option.name, value.is_string() ? value.get<std::string>() : value.dump()});
      }
  if (const auto& promise = config.training.dp; !promise.empty())
    schema.push_back({"dp", fmt::format("epsilon={},delta={},bound={},steps={}",
                                        promise.meaning()->epsilon, promise.meaning()->delta,
                                        promise.meaning()->bound, promise.meaning()->steps)});
  schema.push_back({"messages", !std::holds_alternative<DruidOptions>(method)
                                    ? config.training.sums == SumsKind::masked
                                          ? "masked sums over a tree"
                                          : "sums over a tree"
                                    : "iterates of neighbours"});
  if (std::holds_alternative<DruidOptions>(method) && settled_certify(config) != Certify::off)
    schema.push_back({"certify", settled_certify(config) == Certify::masked ? "by masked sums"
                                                                            : "by open sums"});
  schema.push_back({"regularizer-at", shares_regularizer(method) ? "every peer" : "holder"});
  return schema;
}

/// The certified step is ten times shorter than the residual that the peers agree on. Rounding sets
/// the lower limit.
TreeNewtonOptions tree_options(const PeerConfig& config) {
  constexpr double shortest = 1e-13;
  const double usual = TreeNewtonOptions().tolerance;
  return {.tolerance = std::max(shortest, std::min(usual, config.training.tolerance / 10)),
          .links = {.patience = LinkStateOptions::told}};
}

/// With few rows, the rank of a Hessian would reveal their number.
PeerMethod peer_method(const PeerConfig& config, const MethodSetup& setup, bool few_rows,
                       const std::optional<InfluenceBound>& influence) {
  if (config.training.method.traits().sums_over_tree) return tree_options(config);
  auto druid = std::get<DruidOptions>(setup.options[0]);
  druid.published_hessian = few_rows ? PublishedHessian::diagonal : PublishedHessian::blended;
  if (influence) druid.largest_weight = influence->mean_diagonal;
  return druid;
}

/// The noise is for the weight that every row has, the same at all members.
Result<PeerMethod> private_method(const PeerConfig& config, const Instance& instance) {
  constexpr Index most = 300;  ///< Hessians with noise travel in every question
  if (instance.dimension() > most)
    return Error{"dp", fmt::format("the noise grows with the coefficients; expected at most {}, "
                                   "got {}",
                                   most, instance.dimension())};
  const PrivacyChoice& choice = *config.training.dp.meaning();
  PrivateNewtonOptions options =
      private_newton_options({choice.epsilon, choice.delta}, choice.steps,
                             config.scale / static_cast<double>(instance.samples),
                             bound_with_intercept(choice.bound, config.training.intercept),
                             usual_second_derivative(config.training.loss, 0));
  options.fewest_members = config.members;
  options.noise = system_noise();
  options.links.patience = LinkStateOptions::told;
  return PeerMethod(options);
}

std::optional<CertifiedAgentOptions> certified_options(const PeerConfig& config,
                                                       const PeerMethod& method,
                                                       const Instance& instance) {
  constexpr Index largest_hessian = 2000;  ///< as that of links
  if (settled_certify(config) == Certify::off || !std::holds_alternative<DruidOptions>(method) ||
      !instance.regularizer.separable() || instance.dimension() > largest_hessian)
    return std::nullopt;
  return CertifiedAgentOptions{.tolerance = config.training.tolerance,
                               .links = {.patience = LinkStateOptions::told}};
}

/// The contributions of all members travel in one heartbeat, beside the members' entries.
Status check_contributions_fit(const PeerConfig& config, Index coefficients) {
  constexpr std::uint64_t most_numbers = (2 << 20) / sizeof(double);
  if (!config.contributions) return success();
  if (config.members * static_cast<std::uint64_t>(coefficients) > most_numbers)
    return Error{"contributions", fmt::format("{} members with {} coefficients are too many; "
                                              "expected at most {} numbers",
                                              config.members, coefficients, most_numbers)};
  if (!regularizer_of(config.training, coefficients).separable())
    return Error{"contributions", "expected l1 or a constraint, not a regularizer of its own"};
  return success();
}

/// An instance with this peer as its only agent, for the set-up of the method.
Result<Instance> single_agent_instance(const PeerConfig& config, Dataset shard) {
  auto graph = Graph::from_edges(1, {}, "peer");
  if (!graph) return graph.error();
  Instance instance{.graph = std::move(*graph)};
  instance.labels = shard.labels;
  instance.samples = shard.samples.count();
  instance.features = shard.samples.dimension();
  instance.regularizer = regularizer_of(config.training, instance.features);
  const ShardTerms terms{.loss = config.training.loss,
                         .l2 = config.training.l2,
                         .intercept = config.training.intercept,
                         .scale = config.scale};
  instance.objectives.push_back(make_shard_objective(std::move(shard.samples), terms));
  instance.mean = make_mean_objective({instance.objectives[0].get()});
  return instance;
}

}  // namespace

std::string digest_of(const Samples& samples, double scale) {
  constexpr std::size_t block_bytes = 1 << 16;
  Sha256 digest;
  ByteWriter block;
  block.put(scale);
  block.put(static_cast<std::int64_t>(samples.dimension()));
  for (Index row = 0; row < samples.count(); ++row) {
    block.put(static_cast<std::int64_t>(-1));  // no column: a new row
    block.put(samples.targets[row]);
    for_each_nonzero(samples, row, [&](Index column, double value) {
      block.put(static_cast<std::int64_t>(column));
      block.put(value);
    });
    if (block.bytes().size() < block_bytes && row + 1 < samples.count()) continue;
    digest.update(block.bytes());
    block = {};
  }
  return digest.finish();
}

Result<PeerProblem> set_up_problem(PeerConfig& config, const Instance& instance,
                                   ProblemParts parts) {
  const bool few_rows = !(static_cast<double>(instance.dimension()) <=
                          DisclosureRules().max_ratio * static_cast<double>(instance.samples));
  config.training.agents = 1;
  config.training.link = LinkKind::edge;
  bool masked = config.training.sums == SumsKind::masked;
  if (masked) config.training.method = Method::tree_newton;  // nothing else has masks
  const bool automatic = config.training.work == WorkSpec("auto");
  const PrivacySpec promise = std::exchange(config.training.dp, "");  // that of a whole network
  auto setup = set_up_method(config.training, instance);
  if (!setup) return setup.error();
  config.training = setup->resolved;
  config.training.dp = promise;
  auto chosen = config.training.dp.empty()
                    ? Result<PeerMethod>(peer_method(config, *setup, few_rows, parts.influence))
                    : private_method(config, instance);
  if (!chosen) return chosen.error();
  const PeerMethod method = std::move(*chosen);
  const auto* druid = std::get_if<DruidOptions>(&method);
  const auto certified = certified_options(config, method, instance);
  if (certified && settled_certify(config) == Certify::masked) masked = true;
  if (certified)
    setup->notes.push_back(
        fmt::format("certify: stops after exact sums at the answer; {}",
                    masked ? "each member's own numbers are under masks"
                           : "the parent of a leaf of the tree sees the leaf's Hessian there"));
  else if (druid != nullptr && settled_certify(config) == Certify::off)
    setup->notes.push_back(fmt::format("certify: off{}; peers stop by their local residuals",
                                       config.certify == Certify::automatic
                                           ? ", because masks hide nothing between two members"
                                           : ""));
  const Schema problem = schema_of_problem(config, method);
  parts.schema.insert(parts.schema.begin(), problem.begin(), problem.end());
  return PeerProblem{
      .objective = instance.objectives[0],
      .regularizer = instance.regularizer,
      .method = method,
      .work = setup->work_loads[0],
      // Only for the agent that stops local steps early, which can be given too many.
      .measures_work = automatic && druid != nullptr && published_form(*druid) != nullptr,
      .features = instance.features,
      .rows = static_cast<std::uint64_t>(instance.samples),
      .schema = std::move(parts.schema),
      .data = std::move(parts.data),
      .columns = std::move(parts.columns),
      .forbidden = std::move(parts.forbidden),
      .influence = parts.influence,
      .notes = std::move(setup->notes),
      .masks = masked ? std::make_shared<MaskDirectory>(random_key()) : nullptr,
      .certified = certified};
}

Result<PeerProblem> load_problem(PeerConfig& config) {
  if (config.training.data.empty()) return Error{"data", "missing; expected a file"};
  auto shard = load_shard(config);
  if (!shard) return shard.error();
  if (!config.labels) config.labels = shard->labels;
  if (Status status =
          check_influence(config.influence, shard->samples, shard->columns, config.scale);
      !status)
    return status.error();
  auto influence = influence_bound(config.influence, {.loss = config.training.loss,
                                                      .features = shard->samples.dimension(),
                                                      .intercept = config.training.intercept,
                                                      .l1 = config.training.l1,
                                                      .l2 = config.training.l2});
  if (!influence) return influence.error();
  const Index coefficients = shard->samples.dimension() + (config.training.intercept ? 1 : 0);
  auto forbidden =
      find_violation(config.disclosure, {.samples = shard->samples,
                                         .columns = shard->columns,
                                         .classes = is_classification(config.training.loss),
                                         .coefficients = coefficients,
                                         .members = config.members});
  if (!config.disclosure.enforced()) forbidden.reset();
  if (Status status = check_contributions_fit(config, coefficients); !status) return status.error();
  ProblemParts parts{.schema = schema_of_data(config, *shard),
                     .data = digest_of(shard->samples, config.scale),
                     .columns = shard->columns,
                     .forbidden = std::move(forbidden),
                     .influence = *influence};
  if (!config.training.dp.empty())
    shorten_rows(shard->samples, config.training.dp.meaning()->bound);
  auto instance = single_agent_instance(config, std::move(*shard));
  if (!instance) return instance.error();
  return set_up_problem(config, *instance, std::move(parts));
}

void PeerProblem::prepare_sums(const std::string& announced_data) {
  const std::string key = masks ? masks->public_key() : std::string();
  const std::uint32_t tag = data_tag(announced_data, key);
  if (certified) certified->links.data = tag;
  auto* tree = std::get_if<TreeNewtonOptions>(&method);
  auto* noisy = std::get_if<PrivateNewtonOptions>(&method);
  if (tree != nullptr) tree->links.data = tag;
  if (noisy != nullptr) noisy->links.data = tag;
  if (!masks) return;
  const MaskOptions options{.secret = masks->secret(),
                            .public_key = [directory = masks](AgentId member, std::uint32_t data) {
                              return directory->key_of(member, data);
                            }};
  if (certified) certified->masks = options;
  if (tree != nullptr) tree->masks = options;
  if (noisy != nullptr) noisy->masks = options;
}

Vector PeerProblem::start_point() const {
  const Vector from = start.size() > 0 ? start : Vector(Vector::Zero(objective->dimension()));
  Vector point = from;
  regularizer.prox(1, from, point);
  return start.size() > 0 ? start : point;
}

bool PeerProblem::shares_regularizer() const { return peer::shares_regularizer(method); }

LinkShape PeerProblem::link_shape() const {
  LinkShape shape(objective->dimension());
  shape.fits = fit != nullptr;
  shape.sums = certifies();
  if (const auto* druid = std::get_if<DruidOptions>(&method)) {
    if (const LinkWeightForm* form = published_form(*druid)) shape.weight = *form;
    shape.largest_weight = druid->largest_weight;
  } else {
    shape.vectors = false;
  }
  shape.masked = masks != nullptr;
  shape.curvature = is_private();
  return shape;
}

}  // namespace grove::peer
