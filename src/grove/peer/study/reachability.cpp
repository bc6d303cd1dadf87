#include "grove/peer/study/reachability.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace grove::peer {
namespace {

/// A graph, and the order of the members in which none of its links is between two of those that
/// only dial. In a ring they stand between others; in a star they are leaves.
std::string working_graph(const std::vector<SiteCertificate>& members) {
  std::vector<std::string> open, dialing, order;
  for (const SiteCertificate& one : members) (one.inbound ? open : dialing).push_back(one.name);
  if (open.empty())
    return "no graph works: expected at least one member that others can connect to";
  const bool ring = dialing.size() <= open.size() && open.size() >= 2;
  for (std::size_t k = 0; k < std::max(open.size(), dialing.size()); ++k) {
    if (k < open.size()) order.push_back(open[k] + ".crt");
    if (k < dialing.size()) order.push_back(dialing[k] + ".crt");
  }
  return fmt::format("expected, for example, --graph {} --members {}", ring ? "ring" : "star",
                     fmt::join(order, ","));
}

}  // namespace

Status check_reachability(const std::vector<SiteCertificate>& members,
                          const std::vector<std::pair<std::size_t, std::size_t>>& links) {
  for (const auto& [a, b] : links)
    if (!members[a].inbound && !members[b].inbound)
      return Error{"--graph",
                   fmt::format("links {} and {}, and neither can be connected to (inbound = "
                               "false); {}",
                               members[a].name, members[b].name, working_graph(members))};
  return success();
}

}  // namespace grove::peer
