#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "grove/setup/option.h"
#include "grove/theory/tuned_prox.h"

namespace grove {

/// eps_i by work load, from Corollary 1's surrogate rule.
struct TunedProx {
  TunedProxRule rule;
  std::optional<double> base;  ///< eps at the mean work load (2 mu_z)
};

/// eps_i as small as keeps the agent's local model stable, by what the agent itself knows.
struct AutoProx {};

/// One eps for every agent, one for each, tuned, or automatic.
struct ProxSpec {
  ProxSpec(double eps) : value(eps) {}
  ProxSpec(std::vector<double> by_agent) : value(std::move(by_agent)) {}
  ProxSpec(TunedProx tuned) : value(tuned) {}
  ProxSpec(AutoProx automatic) : value(automatic) {}

  std::variant<double, std::vector<double>, TunedProx, AutoProx> value;
};

/// `EPS`, `a,b,c` (one for each agent), `auto`, `tuned` or `tuned:c=C,zeta=Z,work=E,eps=EPS` with
/// any of the keys.
Option prox_option(const OptionText& text, std::optional<ProxSpec>& target);

}  // namespace grove
