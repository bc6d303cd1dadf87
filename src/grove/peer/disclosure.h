#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "grove/data/encoding.h"
#include "grove/data/samples.h"

namespace grove::peer {

/// Rules that a site sets on what its peer may take part in. The peer checks them before it opens a
/// connection. The defaults are those of many data officers.
struct DisclosureRules {
  std::string mode = "on";  ///< "off" must be written in peer.toml, and is logged
  std::uint64_t min_rows = 10;
  double max_ratio = 1.0 / 3;          ///< coefficients over rows
  std::uint64_t min_count = 3;         ///< rows with either value of a binary column or class
  std::uint64_t min_members = 3;       ///< of the network
  std::vector<std::string> columns{};  ///< that may be used; empty: all

  bool enforced() const { return mode != "off"; }
};

/// A rule that forbids taking part, by its key in peer.toml.
struct DisclosureViolation {
  std::string rule;
  std::string detail;
};

/// What the rules look at.
struct DisclosureFacts {
  const Samples& samples;
  const std::optional<ColumnNames>& columns;
  bool classes = false;    ///< the targets are 0 and 1
  Index coefficients = 0;  ///< with the intercept
  std::uint64_t members = 0;
};

/// The first rule that is violated, whatever the mode.
std::optional<DisclosureViolation> find_violation(const DisclosureRules& rules,
                                                  const DisclosureFacts& facts);

/// Of a table whose summary other sites are to see: its rows, the columns that are read, and rows
/// of each level of its factors and of each class, where it has any.
std::optional<DisclosureViolation> find_violation(const DisclosureRules& rules,
                                                  const TableSummary& summary,
                                                  const std::vector<std::string>& columns,
                                                  std::uint64_t members);

/// The rule on the number of members alone, for a network that shrinks.
std::optional<DisclosureViolation> find_violation(const DisclosureRules& rules,
                                                  std::uint64_t members);

}  // namespace grove::peer
