#include <cmath>

#include "grove/base/text.h"
#include "grove/schedule/machine_options.h"
#include "grove/schedule/schedule.h"
#include "grove/setup/config.h"

namespace grove {

namespace {

/// What machines agents are thought to run on.
Status check_machines(const Config& config) {
  for (const auto& [flag, given] : {std::pair{"--speeds", !config.speeds.empty()},
                                    std::pair{"--latency", !config.latency.empty()}})
    if (given && config.runtime != RuntimeKind::simulator)
      return Error{flag,
                   "processes of --runtime mpi take the time they take; use --slow-rank, or "
                   "--runtime simulator"};
  if (const auto speeds = make_speeds(config.speeds, config.agents, config.seed); !speeds)
    return speeds.error();
  return config.latency.status();
}

/// A term of the user's own is all of r.
Status check_regularizer(const Config& config) {
  if (config.regularizer_agent >= config.agents)
    return Error{"--regularizer-agent", fmt::format("there is no agent {}; expected 0 to {}",
                                                    config.regularizer_agent, config.agents - 1)};
  if (!config.regularizer) return success();
  const Constraint& bounds = config.constraint;
  if (config.l1 > 0 || std::isfinite(bounds.low) || std::isfinite(bounds.high))
    return Error{"--regularizer",
                 fmt::format("{} stands in place of --l1 and --constraint; expected "
                             "one of them",
                             config.regularizer->text)};
  return success();
}

/// Whether messages may be lost or late.
bool tolerates_faults(const Config& config) {
  return config.link == LinkKind::edge || config.method.traits().sums_over_tree;
}

/// What agents that run free of each other cannot have.
Status check_free_running(const Config& config, const std::vector<double>& participation) {
  const auto refuse = [](std::string what) { return Error{"--free-running", std::move(what)}; };
  if (!tolerates_faults(config)) return refuse("broadcast links need rounds; use --link edge");
  if (config.loss_rate > 0 || config.delay > 0)
    return refuse("messages take the time they take; leave --loss-rate and --delay at 0");
  if (!config.checkpoint.empty()) return refuse("has no rounds to keep a --checkpoint of");
  for (const double probability : participation)
    if (probability < 1)
      return refuse("every agent works whenever it can; leave --participation at 1");
  return success();
}

}  // namespace

/// What the promise of differential privacy rests on.
Status check_privacy(const Config& config) {
  if (config.dp.empty()) return success();
  if (!config.dp.meaning()) return config.dp.meaning().error();
  const auto needs = [](std::string_view what) {
    return Error{"--dp", fmt::format("needs {}", what)};
  };
  if (!config.method.traits().sums_over_tree)
    return needs(
        fmt::format("--method tree-newton, whose sums can carry noise; {} sends numbers of "
                    "one agent to its neighbours",
                    config.method.name()));
  if (!std::holds_alternative<LogisticLoss>(config.loss))
    return needs(fmt::format("--loss logistic: one row may change the gradient of {} by any amount",
                             name_of(config.loss)));
  if (config.weighting != Weighting::sample)
    return needs(
        "--weighting sample: a row of a small agent would count for more than one of a "
        "large agent");
  if (config.sums != SumsKind::masked)
    return needs("--sums masked: the noise is in totals, and too small for the sums of a part");
  if (config.free_running) return needs("rounds; expected a run without --free-running");
  if (!config.checkpoint.empty())
    return needs("a run without --checkpoint, which would answer again with other noise");
  return success();
}

Status check(const Config& config) {
  const auto participation = make_participation(config.participation, config.agents);
  if (!participation) return participation.error();
  const auto work = make_work_loads(config.work, config.agents, config.seed);
  if (!work) return work.error();
  for (const Status& status :
       {config.partition.status(), config.graph.status(), check_regularizer(config)})
    if (!status) return status;

  if (!config.method.traits().takes_local_steps && config.prox &&
      std::holds_alternative<TunedProx>(config.prox->value))
    return Error{"--prox", fmt::format("tuned goes by the number of local steps, and {} takes one; "
                                       "expected a number, or --method druid-vl",
                                       config.method.name())};
  if (config.method.traits().needs_everyone)
    for (std::size_t i = 0; i < participation->size(); ++i)
      if ((*participation)[i] < 1)
        return Error{"--participation",
                     fmt::format("agent {} works with probability {}, but {} needs every agent in "
                                 "every round; expected 1, or a method of the DRUID family",
                                 i, exact((*participation)[i]), config.method.name())};
  if (!is_druid(config.method) && !config.method.traits().sums_over_tree &&
      config.link == LinkKind::edge)
    return Error{"--link", fmt::format("edge links belong to the DRUID family; {} has none",
                                       config.method.name())};
  if (config.method.solves_by(LocalSolverKind::exact) &&
      config.local_model == LocalModelKind::linearized)
    return Error{"--local-model",
                 "exact-admm solves its sub-problem to the end, which has no linearized form; "
                 "expected augmented"};
  if (config.sums == SumsKind::masked && !config.method.traits().sums_over_tree)
    return Error{"--sums",
                 fmt::format("masked needs --method tree-newton; {} sends its own numbers "
                             "to every neighbour",
                             config.method.name())};
  if (config.sums == SumsKind::masked && config.agents < fewest_masked_agents)
    return Error{"--sums", fmt::format("masked hides nothing among {} agents; expected --agents {} "
                                       "or more",
                                       config.agents, fewest_masked_agents)};
  if (Status status = check_privacy(config); !status) return status;
  if (Status status = check_machines(config); !status) return status;
  if (config.free_running)
    if (Status status = check_free_running(config, *participation); !status) return status;
  if (config.slow_rank && config.runtime != RuntimeKind::mpi)
    return Error{"--slow-rank", "the simulator has no processes; use --runtime mpi"};
  if (!config.shards.empty()) {
    if (config.runtime != RuntimeKind::mpi)
      return Error{"--shards", "only the processes of --runtime mpi read shards of their own"};
    if (config.shards.find("{rank}") == std::string::npos)
      return Error{"--shards", fmt::format("expected {{rank}} somewhere in '{}', where the number "
                                           "of the process goes",
                                           config.shards)};
    if (config.samples > 0)
      return Error{"--samples", "sub-samples one file, but --shards gives every process its own"};
  }
  if (config.penalty.published_form() && !can_publish_weights(config))
    return Error{"--penalty", std::string(published_weights_need)};
  if (!tolerates_faults(config) && config.loss_rate > 0)
    return Error{"--loss-rate",
                 "broadcast links do not tolerate lost messages; use --link edge, or 0"};
  if (!tolerates_faults(config) && config.delay > 0)
    return Error{"--delay", "broadcast links do not tolerate late messages; use --link edge, or 0"};
  return success();
}

}  // namespace grove
