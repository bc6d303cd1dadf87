#include "grove/base/text.h"
#include "grove/run/config.h"
#include "grove/schedule/schedule.h"

namespace grove {

Status check(const Config& config) {
  const auto participation = make_participation(config.participation, config.agents);
  if (!participation) return participation.error();
  const auto work = make_work_loads(config.work, config.agents, config.seed);
  if (!work) return work.error();

  if (needs_everyone(config.method)) {
    for (std::size_t i = 0; i < participation->size(); ++i)
      if ((*participation)[i] < 1)
        return Error{"--participation",
                     fmt::format("agent {} works with probability {}, but {} needs every agent in "
                                 "every round; expected 1, or a method of the DRUID family",
                                 i, exact((*participation)[i]), name_of(config.method))};
    if (config.link == LinkKind::edge)
      return Error{"--link", fmt::format("edge links belong to the DRUID family; {} has none",
                                         name_of(config.method))};
  }
  if (config.link == LinkKind::broadcast && config.loss_rate > 0)
    return Error{"--loss-rate", "broadcast links cannot bear lost messages; use --link edge, or 0"};
  if (config.link == LinkKind::broadcast && config.delay > 0)
    return Error{"--delay", "broadcast links cannot bear late messages; use --link edge, or 0"};
  return success();
}

}  // namespace grove
