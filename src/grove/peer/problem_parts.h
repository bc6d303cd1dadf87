#pragma once

// Private to the peer: what of a problem depends on where its numbers come from.

#include "grove/peer/peer_config.h"
#include "grove/setup/instance.h"

namespace grove::peer {

struct ProblemParts {
  Schema schema;     ///< of the data
  std::string data;  ///< digest
  std::optional<ColumnNames> columns;
  std::optional<DisclosureViolation> forbidden;
  std::optional<InfluenceBound> influence;
};

/// `instance` has this peer as its only agent. Chooses the method; config.training is then what was
/// chosen.
Result<PeerProblem> set_up_problem(PeerConfig& config, const Instance& instance,
                                   ProblemParts parts);

/// The rules on numbers, of the columns of the design. The rule on names looks at the table.
std::optional<DisclosureViolation> find_design_violation(const DisclosureRules& given,
                                                         const FitData& data, const Design& design,
                                                         std::uint64_t members);

/// SHA-256 of the samples as the peer uses them, and of their weight.
std::string digest_of(const Samples& samples, double scale);

}  // namespace grove::peer
