#include "grove/setup/method_notes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>

#include "grove/theory/stability.h"

namespace grove {

void note_clamped_batches(const Config& config, const Instance& instance, MethodSetup& setup) {
  if (!config.method.traits().samples_batches || config.sampling != SamplingKind::minibatch) return;
  Index smallest = instance.objectives[0]->samples();
  for (const auto& objective : instance.objectives)
    smallest = std::min(smallest, objective->samples());
  for (const auto& [name, size] : {std::pair{"--batch-gradient", config.batch_gradient},
                                   std::pair{"--batch-hessian", config.batch_hessian}})
    if (static_cast<Index>(size) > smallest)
      setup.notes.push_back(fmt::format(
          "{} {} is larger than the smallest shard ({} samples): clamped to the shard there", name,
          size, smallest));
}

void note_idle_options(const Config& config, const Instance& instance, MethodSetup& setup) {
  using Flags = std::vector<std::pair<const char*, bool>>;  // and whether they were given
  const auto idle = [&](const Flags& flags, const std::string& because) {
    std::vector<std::string_view> given;
    for (const auto& [flag, is_given] : flags)
      if (is_given) given.emplace_back(flag);
    if (!given.empty())
      setup.notes.push_back(fmt::format("{} {} no effect: {}", fmt::join(given, ", "),
                                        given.size() == 1 ? "has" : "have", because));
  };
  const Config usual;
  const std::string method = config.method.name();
  const std::pair work{"--work", config.work != usual.work};
  const std::pair model{"--local-model", config.local_model != usual.local_model};
  Flags of_links{work,
                 model,
                 {"--penalty", !config.penalty.is_auto()},
                 {"--theta-penalty", config.theta_penalty.has_value()},
                 {"--prox", config.prox.has_value()}};
  if (config.method.traits().sums_over_tree) {
    of_links.emplace_back("--step", config.step.has_value());
    of_links.emplace_back("--link", config.link != usual.link);
    idle(of_links, method + " takes Newton steps on sums over a tree");
  } else if (!is_druid(config.method))
    idle(of_links, method + " goes by --step");
  else if (!config.method.traits().takes_local_steps)
    idle({work, model}, method + " takes one local step");
  if (is_druid(config.method)) {
    idle({{"--step", config.step.has_value()}}, method + " goes by --penalty and --prox");
    idle({{"--theta-penalty", config.theta_penalty && instance.regularizer.trivial()}},
         "there is no regularizer to keep a copy for");
  }
  if (!config.method.traits().samples_batches)
    idle({{"--sampling", config.sampling != usual.sampling}}, method + " looks at all samples");
  if (!config.method.traits().samples_batches || config.sampling == SamplingKind::full)
    idle({{"--batch-gradient", config.batch_gradient != usual.batch_gradient},
          {"--batch-hessian", config.batch_hessian != usual.batch_hessian}},
         "steps look at all samples");
  idle({{"--label-column",
         !config.label_column.empty() && config.data.find(".csv") == std::string::npos}},
       "only CSV files name their columns");
}

void note_linearized_bound(const Config& config, const Instance& instance, MethodSetup& setup) {
  const bool several_steps =
      config.method.traits().takes_local_steps && std::ranges::max(setup.work_loads) > 1;
  if (config.local_model != LocalModelKind::linearized || !several_steps) return;
  LinearizedSetting setting{.penalty = config.penalty, .theta_penalty = *config.theta_penalty};
  if (!instance.regularizer.trivial()) setting.holder = regularizer_holder(config);
  for (const auto& options : setup.options)
    setting.prox.push_back(std::get<DruidOptions>(options).prox);
  const LinearizedStability stability = linearized_stability(instance.graph, setting);
  setup.beyond_bound = !stability.guaranteed;
  if (stability.guaranteed) return;
  std::vector<std::uint32_t> offending;
  offending.reserve(stability.offending.size());
  for (AgentId agent : stability.offending) offending.push_back(agent.value);
  const bool many = offending.size() > 10;
  if (many) offending.resize(10);
  setup.notes.push_back(fmt::format(
      "the linearized local model is only guaranteed stable with --prox {:.6g} or more on this "
      "graph; below mu deg_i: agents {}{}",
      stability.needed_prox, fmt::join(offending, ", "), many ? ", ..." : ""));
}

}  // namespace grove
