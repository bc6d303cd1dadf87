#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "grove/agent/cost.h"
#include "grove/base/result.h"
#include "grove/base/types.h"
#include "grove/data/samples.h"
#include "grove/record/agent_trace.h"
#include "grove/runtime/runtime.h"

namespace grove {

enum class RunStatus {
  converged,
  round_limit,
  diverged,
  peer_lost,
  interrupted,
  budget_spent  ///< the answer of a run with differential privacy, which nothing certifies
};
std::string name_of(RunStatus status);

struct Outcome {
  RunStatus status = RunStatus::round_limit;
  std::string detail;  ///< one sentence for a person
  Round rounds = 0;
  double seconds = 0;
  /// Certified: the objective of the answer is at most this share above the optimum. Missing where
  /// the regularizer is not separable, or nothing finite is known.
  std::optional<double> gap_bound = {};
};

/// One measured round. Missing values: no reference was computed.
struct TracePoint {
  Round round = 0;
  double objective = 0;
  std::optional<double> objective_gap;  ///< objective - optimum
  /// The largest gap among the agents' own models. It is worked out at the start and at the end,
  /// and in every measured round where the models are kept (--keep-estimates).
  std::optional<double> worst_gap;
  std::optional<double> relative_error;  ///< sum |x_i - x*|^2 / sum |x_i^0 - x*|^2
  double consensus_error = 0;
  double stationarity = 0;
  std::uint64_t active = 0;                 ///< agents that worked in this round
  Cost cost;                                ///< of all agents since the start
  double seconds = 0;                       ///< since the start of round 1, measuring left out
  std::optional<double> simulated_seconds;  ///< the same on simulated machines, if there are any
  std::map<std::string, double> metrics;    ///< those of --metrics, by name
};

struct ProblemSummary {
  std::uint64_t samples = 0;
  std::uint64_t features = 0;
  std::uint64_t agents = 0;
  std::uint64_t edges = 0;
  std::string loss;  ///< of a sample, in the units of the targets
  double lambda_max = 0;
  double lambda_2 = 0;
  std::optional<LabelNames> labels;
  std::optional<ColumnNames> columns;  ///< of a CSV file
};

struct ReferenceSummary {
  double objective = 0;
  Vector solution;
  bool unique = true;  ///< false: one optimum of many
};

struct AgentSummary {
  std::uint64_t samples = 0;
  std::uint64_t degree = 0;
  int work = 1;  ///< E_i
  double participation = 1;
  std::optional<double> prox;   ///< eps_i, in the DRUID family
  std::optional<double> speed;  ///< of its simulated machine
  std::string work_reason;      ///< why E_i is what it is, where it was chosen
};

/// What an agent's safeguard did.
struct RunEvent {
  Round round = 0;
  std::uint32_t agent = 0;
  std::string what, why;
};

/// All that is known of a run, in the format "grove-run/1".
struct RunRecord {
  std::string version;
  nlohmann::json config;  ///< every option as resolved
  ProblemSummary problem;
  std::vector<AgentSummary> agents;
  Outcome outcome;
  std::vector<std::string> notes;         ///< about the settings, known before the first round
  std::vector<std::string> explanations;  ///< why it took so long, for a person
  std::vector<RunEvent> events;           ///< by round
  std::optional<ReferenceSummary> reference;
  Vector solution;
  double objective = 0;
  /// Where the network certified its answer before the run ended (tree-newton).
  std::optional<AnswerCertificate> certificate;
  std::uint64_t nonzeros = 0;
  std::vector<Vector> estimates;  ///< only when asked for
  std::vector<TracePoint> trace;
  std::vector<ProcessReport> processes;   ///< by rank, of a run of several processes
  std::optional<AgentTrace> agent_trace;  ///< for the view; only when asked for
};

/// The keys that every row of a trace may have: no metric can be called so.
std::span<const std::string_view> trace_keys();

/// A row of the trace.
nlohmann::json to_json(const TracePoint& point);
/// Exact to read back: from_json(to_json(record)) equals the record, bit for bit.
nlohmann::json to_json(const RunRecord& record);
Result<RunRecord> record_from_json(const nlohmann::json& json);

/// The first measured round at which relative_error is at most `level`.
std::optional<Round> rounds_to(const RunRecord& record, double level);

}  // namespace grove
