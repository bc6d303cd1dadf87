#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/coupling/link_weight.h"
#include "grove/data/partition.h"
#include "grove/local/local_model_kind.h"
#include "grove/problem/loss.h"
#include "grove/schedule/machine_options.h"
#include "grove/schedule/schedule.h"
#include "grove/setup/option.h"
#include "grove/setup/penalty_spec.h"
#include "grove/setup/privacy_spec.h"
#include "grove/setup/prox_spec.h"
#include "grove/setup/registry.h"

namespace grove {

enum class Weighting { agent, sample };
enum class SamplingKind { full, minibatch, variance_reduced, adaptive };
/// Which links of the graph agents use: all, or of a dense graph a sparse subset.
enum class LinkChoice { automatic, all, sparse };
enum class RuntimeKind { simulator, mpi };

/// Bounds on every regularized coefficient: an indicator in r.
struct Constraint {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// One process of a cluster that takes `factor` times as long: to see what slow ones cost.
struct SlowRank {
  int rank = 0;
  double factor = 1;
};

/// A regularizer of a registry: the text that names it, and what it stands for.
struct RegularizerChoice {
  std::string text;
  std::shared_ptr<const RegularizerTerm> term;
};

/// Which samples there are, and how they reach agents.
struct DataOptions {
  std::string data = "synthetic:ijcnn-like";
  std::string shards;
  std::string label_column;
  std::uint64_t features = 0;  ///< of a LIBSVM file; 0: up to the largest index
  std::uint64_t samples = 0;
  PartitionSpec partition = "even";
};

struct NetworkOptions {
  std::uint64_t agents = 10;
  bool agents_given = false;  ///< if not, a cluster runs one agent per process
  GraphSpec graph = "erdos-renyi:0.3";
  LinkChoice links = LinkChoice::automatic;
  std::uint64_t regularizer_agent = 0;  ///< q: applies r where one agent does
};

/// The function that is minimized.
struct ModelOptions {
  Loss loss = LogisticLoss{};
  double l1 = 0;
  double l2 = 0;
  Constraint constraint;
  std::optional<RegularizerChoice> regularizer;  ///< in place of l1 and constraint
  Weighting weighting = Weighting::agent;
  bool intercept = false;
};

/// What neighbours see of the sums over a tree: those of subtrees, or only the total.
enum class SumsKind { open, masked };
/// The other one of two would know an agent's part from the total.
constexpr std::uint64_t fewest_masked_agents = 3;

/// The method and what an agent does in one activation.
struct SolverOptions {
  Method method = Method::druid_vl;
  SumsKind sums = SumsKind::open;
  PrivacySpec dp = "";  ///< differential privacy of a row; empty: none
  PenaltySpec penalty;
  std::optional<double> theta_penalty;
  std::optional<ProxSpec> prox;
  std::optional<double> step;
  bool safeguard = true;  ///< Newton steps on exact sums where links are slow
  WorkSpec work = "auto";
  LocalModelKind local_model = LocalModelKind::augmented;
  SamplingKind sampling = SamplingKind::full;
  std::uint64_t batch_gradient = 100;
  std::uint64_t batch_hessian = 100;
  double exact_tolerance = 1e-5;
};

struct AsynchronyOptions {
  ParticipationSpec participation = "1";
  LinkKind link = LinkKind::broadcast;
  double loss_rate = 0;
  std::uint64_t delay = 0;
};

/// When a run ends, and what is measured and kept of it.
struct StoppingOptions {
  std::uint64_t rounds = 500;
  double tolerance = 1e-6;
  bool no_reference = false;
  bool keep_estimates = false;
  std::uint64_t measure_every = 1;
  std::vector<Metric> metrics;  ///< further numbers of every measured round
  std::string checkpoint;
  std::uint64_t checkpoint_every = 100;
};

/// Where agents run.
struct RuntimeOptions {
  RuntimeKind runtime = RuntimeKind::simulator;
  std::uint64_t threads = 0;
  bool free_running = false;
  SpeedSpec speeds = "";     ///< of the simulated machines; empty: time is not simulated ...
  LatencySpec latency = "";  ///< ... unless this is given
  std::optional<SlowRank> slow_rank;
};

/// A training run, complete: the same Config gives the same iterates everywhere. Meanings and
/// ranges of the fields stand in options_of(). A run does not change its Config; what was chosen
/// automatically stands in MethodSetup::resolved.
struct Config : DataOptions,
                NetworkOptions,
                ModelOptions,
                SolverOptions,
                AsynchronyOptions,
                StoppingOptions,
                RuntimeOptions {
  std::uint64_t seed = 1;
};

/// The options of a run, bound to `config`, which must outlive them. Names of methods and the like
/// are looked up in the registry.
std::vector<Option> options_of(Config& config, const Registry& registry = built_in_registry());

/// Every option's value, by name.
nlohmann::json options_json(const Config& config);

inline bool is_druid(Method method) { return method.local_solver() != nullptr; }
bool simulates_time(const Config& config);       ///< simulated seconds stand beside rounds
bool can_publish_weights(const Config& config);  ///< agents may publish link weights
/// The error where --penalty asks for published weights and they are not possible.
constexpr std::string_view published_weights_need =
    "scalar, diagonal, low-rank:K and full need --method druid-vl, --local-model augmented, no "
    "--sampling "
    "minibatch and no --prox tuned; expected a number, or auto";

/// What no option can see alone: settings that exclude each other.
Status check(const Config& config);

}  // namespace grove
