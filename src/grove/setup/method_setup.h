#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grove/methods/method.h"
#include "grove/runtime/machines.h"
#include "grove/setup/instance.h"

namespace grove {

/// The agent that holds the regularizer in the DRUID family: q.
inline AgentId regularizer_holder(const NetworkOptions& network) {
  return AgentId{static_cast<std::uint32_t>(network.regularizer_agent)};
}

/// Settings of every agent, with nothing left open.
struct MethodSetup {
  Config resolved;                        ///< the options with all that was chosen automatically
  std::vector<MethodOptions> options;     ///< by agent
  std::vector<int> work_loads;            ///< E_i
  std::vector<std::string> work_reasons;  ///< by agent, where E_i was chosen
  std::vector<double> participation;
  std::vector<double> speeds;        ///< of the simulated machines; empty without any
  std::optional<Machines> machines;  ///< with their links
  std::vector<std::string> notes;    ///< what the user should know before the run
  /// Several linearized steps, or a --step, beyond what is guaranteed to be stable.
  bool beyond_bound = false;
  bool scaled = false;  ///< agents use the coordinates of Instance::scaling
};

/// The form of the weights that agents publish where --penalty is auto; nothing where one number
/// weighs all links.
std::optional<LinkWeightForm> automatic_weight_form(const Config& config, Index dimension);

/// The method that suits a problem in that many coefficients, and why.
struct MethodChoice {
  Method method;
  std::string reason;
};
MethodChoice choose_method(const Config& config, const Instance& instance);

/// Reduces the graph to the links that agents use (--links), and says so where it does. All
/// processes of a cluster choose the same links.
std::optional<std::string> choose_links(const Config& config, Instance& instance);

/// Derives the settings that were not given.
Result<MethodSetup> set_up_method(const Config& config, const Instance& instance);

/// The agents of this process (instance.own), ready for any runtime.
std::vector<std::unique_ptr<Agent>> make_agents(const Instance& instance, const MethodSetup& setup);

}  // namespace grove
