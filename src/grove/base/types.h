#pragma once

#include <compare>
#include <cstdint>

#include <Eigen/Core>

namespace grove {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

/// Agents are numbered from 0 to n-1, in files, flags and code alike.
struct AgentId {
  std::uint32_t value = 0;
  auto operator<=>(const AgentId&) const = default;
};

/// Rounds are numbered from 1; round 0 is the start, before anyone has worked.
using Round = std::uint64_t;

}  // namespace grove
