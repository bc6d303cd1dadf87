#pragma once

#include <utility>
#include <vector>

#include "grove/base/result.h"
#include "grove/peer/study/site_certificate.h"

namespace grove::peer {

/// Refuses a link between two members that nobody can connect to, with an order of the members and
/// a graph that work, if there are any.
Status check_reachability(const std::vector<SiteCertificate>& members,
                          const std::vector<std::pair<std::size_t, std::size_t>>& links);

}  // namespace grove::peer
