#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/random.h"
#include "grove/base/result.h"
#include "grove/base/spec.h"
#include "grove/base/types.h"

namespace grove {

/// One call to work: which round it is and how many local steps to take.
struct Activation {
  Round round = 0;
  int local_steps = 1;
};

/// How many local steps agents take: `10`, `a,b,c,...` (one per agent), `equal:E`, `uniform:a:b`
/// (integers, inclusive, drawn per agent from the seed), `extreme:a:b` (a random half of the agents
/// gets a, the rest b) or `auto`: 5, and a method may leave out steps that gain nothing;
/// `auto:a,b,c,...`: the same with other limits than 5.
struct WorkLoads {
  enum class Kind { listed, uniform, extreme };

  static Result<WorkLoads> parse(std::string_view text);

  Kind kind = Kind::listed;
  bool automatic = false;  ///< limits; a method may take fewer steps
  std::vector<int> loads;  ///< of Kind::listed: one, or one per agent
  int low = 1, high = 1;   ///< of the drawn ones
};
using WorkSpec = Spec<WorkLoads>;

/// E_i by agent. An error where the list is neither one value nor one per agent.
Result<std::vector<int>> make_work_loads(const WorkSpec& spec, std::size_t agents,
                                         std::uint64_t seed);

/// One probability for all, or `p1,p2,...`, each in (0, 1].
struct Participation {
  static Result<Participation> parse(std::string_view text);

  std::vector<double> probabilities;
};
using ParticipationSpec = Spec<Participation>;

/// p_i by agent.
Result<std::vector<double>> make_participation(const ParticipationSpec& spec, std::size_t agents);

/// floor(count / 2) of `count` things, chosen at random: true for those.
std::vector<bool> random_half(std::size_t count, const RandomKey& key);

/// Who works when: the pure function (seed, agent, round) -> activation.
class Schedule {
 public:
  Schedule(std::uint64_t seed, std::vector<double> participation, std::vector<int> work_loads);

  /// Nothing: the agent rests in that round.
  std::optional<Activation> activation(AgentId agent, Round round) const;

 private:
  std::uint64_t seed_;
  std::vector<double> participation_;
  std::vector<int> work_loads_;
};

/// What happens to a message on its way: also a pure function of the seed.
struct LinkFaults {
  double loss_rate = 0;     ///< probability that a message is lost, in [0, 1)
  std::uint64_t delay = 0;  ///< a message arrives 0 ... delay rounds late, each equally likely

  bool none() const { return loss_rate == 0 && delay == 0; }
  /// Rounds until arrival (0: at the end of the round it was sent in), or nothing: lost.
  std::optional<std::uint64_t> draw_delay(std::uint64_t seed, AgentId from, AgentId to,
                                          Round round) const;
};

}  // namespace grove
