#include <algorithm>

#include "grove/base/text.h"
#include "grove/data/dataset.h"
#include "grove/peer/peer_config.h"
#include "grove/setup/instance.h"
#include "grove/setup/method_setup.h"

namespace grove::peer {
namespace {

Result<Dataset> load_shard(const PeerConfig& config) {
  const Config& training = config.training;
  const bool classes = is_classification(training.loss);
  const auto kind = classes && !config.labels ? TargetKind::two_classes : TargetKind::number;
  auto shard =
      load_dataset(training.data, kind, training.seed, {.label_column = training.label_column});
  if (!shard) return shard.error();
  if (classes && config.labels)
    if (Status status = apply_labels(*config.labels, *shard); !status) return status.error();
  const auto features = static_cast<Index>(config.features);
  if (features > 0 && shard->samples.dimension() > features)
    return Error{"features", fmt::format("{} has {} columns; expected at most {}", training.data,
                                         shard->samples.dimension(), features)};
  if (features > 0) shard->samples = widen(std::move(shard->samples), features);
  return shard;
}

using Method = std::variant<DruidOptions, CurvatureDruidOptions>;

Method method_of(const MethodOptions& options) {
  if (const auto* curvature = std::get_if<CurvatureDruidOptions>(&options)) return *curvature;
  return std::get<DruidOptions>(options);
}

/// With matrix weights every peer applies its share of r, unless theta has a penalty of its own.
bool shares_regularizer(const Method& method) {
  const auto* curvature = std::get_if<CurvatureDruidOptions>(&method);
  return curvature != nullptr && !curvature->theta_penalty;
}

/// Describes the settings that must be equal at all peers for the network to have one solution.
std::string describe(const PeerConfig& config, const Method& method, Index dimension) {
  Config training = config.training;
  std::string text = fmt::format("dimension={} holder={}", dimension, config.holder);
  for (const Option& option : options_of(training))
    for (const std::string_view name :
         {"loss", "l1", "l2", "constraint", "regularizer", "weighting", "intercept", "penalty"})
      if (option.name == name) text += fmt::format(" {}={}", name, option.get().dump());
  return shares_regularizer(method) ? text + " shared" : text;
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

Result<PeerProblem> load_problem(PeerConfig& config) {
  if (config.training.data.empty()) return Error{"data", "missing; expected a file"};
  auto shard = load_shard(config);
  if (!shard) return shard.error();
  if (!config.labels) config.labels = shard->labels;
  auto instance = single_agent_instance(config, std::move(*shard));
  if (!instance) return instance.error();
  config.training.agents = 1;
  config.training.link = LinkKind::edge;
  const bool automatic = config.training.work == WorkSpec("auto");
  auto setup = set_up_method(config.training, *instance);
  if (!setup) return setup.error();
  config.training = setup->resolved;
  const Method method = method_of(setup->options[0]);
  return PeerProblem{
      .objective = instance->objectives[0],
      .regularizer = instance->regularizer,
      .method = method,
      .work = setup->work_loads[0],
      // Only for the agent that stops local steps early, which can be given too many.
      .measures_work = automatic && std::holds_alternative<CurvatureDruidOptions>(method),
      .features = instance->features,
      .fingerprint = describe(config, method, instance->dimension())};
}

bool PeerProblem::shares_regularizer() const { return peer::shares_regularizer(method); }

LinkShape PeerProblem::link_shape() const {
  const auto* curvature = std::get_if<CurvatureDruidOptions>(&method);
  return {objective->dimension(),
          curvature != nullptr ? std::optional(curvature->form) : std::nullopt};
}

}  // namespace grove::peer
