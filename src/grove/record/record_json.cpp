#include <algorithm>
#include <array>
#include <cmath>

#include "grove/record/certificate_json.h"
#include "grove/record/json_format.h"
#include "grove/record/record.h"

namespace grove {
namespace {

using nlohmann::json;

constexpr auto record_format = "grove-run/1";

constexpr std::array<std::string_view, 17> keys_of_trace{
    "round",      "objective",        "objective_gap",    "worst_gap",       "relative_error",
    "active",     "stationarity",     "consensus_error",  "broadcasts",      "vectors_sent",
    "bytes_sent", "solves",           "gradient_samples", "hessian_samples", "damped_steps",
    "seconds",    "simulated_seconds"};

/// JSON has no infinity: numbers that a diverged run leaves behind become null, and read as NaN.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double number_from(const json& value) {
  return value.is_null() ? std::nan("") : value.get<double>();
}

json optional_number(const std::optional<double>& value) {
  return value ? number(*value) : json(nullptr);
}

json vector_json(const Vector& values) {
  json result = json::array();
  for (double value : values) result.push_back(number(value));
  return result;
}

Vector vector_from(const json& values) {
  Vector result(static_cast<Index>(values.size()));
  for (Index k = 0; k < result.size(); ++k) result[k] = number_from(values.at(k));
  return result;
}

}  // namespace

json to_json(const TracePoint& point) {
  json row = {{"round", point.round},
              {"objective", number(point.objective)},
              {"objective_gap", optional_number(point.objective_gap)},
              {"relative_error", optional_number(point.relative_error)},
              {"consensus_error", number(point.consensus_error)},
              {"stationarity", number(point.stationarity)},
              {"active", point.active},
              {"broadcasts", point.cost.broadcasts},
              {"vectors_sent", point.cost.vectors_sent},
              {"bytes_sent", point.cost.bytes_sent},
              {"gradient_samples", point.cost.gradient_samples},
              {"hessian_samples", point.cost.hessian_samples},
              {"solves", point.cost.solves},
              {"damped_steps", point.cost.damped_steps},
              {"seconds", point.seconds}};
  if (point.simulated_seconds) row["simulated_seconds"] = *point.simulated_seconds;
  if (point.worst_gap) row["worst_gap"] = number(*point.worst_gap);
  for (const auto& [name, value] : point.metrics) row[name] = number(value);
  return row;
}

namespace {

TracePoint trace_from(const json& row, bool has_reference) {
  TracePoint point;
  row.at("round").get_to(point.round);
  point.objective = number_from(row.at("objective"));
  if (has_reference) {
    point.objective_gap = number_from(row.at("objective_gap"));
    point.relative_error = number_from(row.at("relative_error"));
  }
  point.consensus_error = number_from(row.at("consensus_error"));
  point.stationarity = number_from(row.at("stationarity"));
  row.at("active").get_to(point.active);
  row.at("broadcasts").get_to(point.cost.broadcasts);
  row.at("vectors_sent").get_to(point.cost.vectors_sent);
  row.at("bytes_sent").get_to(point.cost.bytes_sent);
  row.at("gradient_samples").get_to(point.cost.gradient_samples);
  row.at("hessian_samples").get_to(point.cost.hessian_samples);
  row.at("solves").get_to(point.cost.solves);
  row.at("damped_steps").get_to(point.cost.damped_steps);
  row.at("seconds").get_to(point.seconds);
  if (row.contains("simulated_seconds"))
    point.simulated_seconds = row.at("simulated_seconds").get<double>();
  if (row.contains("worst_gap")) point.worst_gap = number_from(row.at("worst_gap"));
  for (const auto& [name, value] : row.items())
    if (std::ranges::find(trace_keys(), name) == trace_keys().end())
      point.metrics[name] = number_from(value);
  return point;
}

json problem_json(const ProblemSummary& problem) {
  json result = {{"samples", problem.samples},   {"features", problem.features},
                 {"agents", problem.agents},     {"edges", problem.edges},
                 {"loss", problem.loss},         {"lambda_max", problem.lambda_max},
                 {"lambda_2", problem.lambda_2}, {"labels", labels_json(problem.labels)}};
  put_columns(problem.columns, result);
  return result;
}

ProblemSummary problem_from(const json& row) {
  ProblemSummary problem;
  row.at("samples").get_to(problem.samples);
  row.at("features").get_to(problem.features);
  row.at("agents").get_to(problem.agents);
  row.at("edges").get_to(problem.edges);
  if (row.contains("loss")) row.at("loss").get_to(problem.loss);
  row.at("lambda_max").get_to(problem.lambda_max);
  row.at("lambda_2").get_to(problem.lambda_2);
  problem.labels = labels_from(row.at("labels"));
  problem.columns = columns_from(row);
  return problem;
}

json agent_json(const AgentSummary& agent) {
  json row = {{"samples", agent.samples},
              {"degree", agent.degree},
              {"work", agent.work},
              {"participation", agent.participation},
              {"prox", optional_number(agent.prox)}};
  if (agent.speed) row["speed"] = *agent.speed;
  if (!agent.work_reason.empty()) row["work_reason"] = agent.work_reason;
  return row;
}

AgentSummary agent_from(const json& row) {
  AgentSummary agent{.samples = row.at("samples"),
                     .degree = row.at("degree"),
                     .work = row.at("work"),
                     .participation = row.at("participation")};
  if (!row.at("prox").is_null()) agent.prox = row.at("prox").get<double>();
  if (row.contains("speed")) agent.speed = row.at("speed").get<double>();
  if (row.contains("work_reason")) agent.work_reason = row.at("work_reason");
  return agent;
}

json process_json(const ProcessReport& process) {
  return {{"agents", process.agents},
          {"threads", process.threads},
          {"activations", process.activations},
          {"compute_seconds", process.compute_seconds},
          {"exchange_seconds", process.exchange_seconds},
          {"wait_seconds", process.wait_seconds},
          {"vectors_sent", process.vectors_sent},
          {"bytes_sent", process.bytes_sent}};
}

ProcessReport process_from(const json& row) {
  return {.agents = row.at("agents"),
          .threads = row.at("threads"),
          .activations = row.at("activations"),
          .compute_seconds = row.at("compute_seconds"),
          .exchange_seconds = row.at("exchange_seconds"),
          .wait_seconds = row.at("wait_seconds"),
          .vectors_sent = row.at("vectors_sent"),
          .bytes_sent = row.at("bytes_sent")};
}

RunStatus status_from(const std::string& name) {
  for (RunStatus status : {RunStatus::converged, RunStatus::round_limit, RunStatus::diverged,
                           RunStatus::peer_lost, RunStatus::interrupted, RunStatus::budget_spent})
    if (name_of(status) == name) return status;
  throw json::other_error::create(501, "unknown status " + name, nullptr);
}

RunRecord read_record(const json& from) {
  RunRecord record;
  from.at("version").get_to(record.version);
  record.config = from.at("config");
  record.problem = problem_from(from.at("problem"));
  for (const json& row : from.at("agents")) record.agents.push_back(agent_from(row));
  const json& outcome = from.at("outcome");
  record.outcome = {.status = status_from(outcome.at("status")),
                    .detail = outcome.at("detail"),
                    .rounds = outcome.at("rounds"),
                    .seconds = outcome.at("seconds")};
  if (outcome.contains("gap_bound")) record.outcome.gap_bound = outcome.at("gap_bound");
  from.at("notes").get_to(record.notes);
  if (from.contains("explanations")) from.at("explanations").get_to(record.explanations);
  if (from.contains("events"))
    for (const json& row : from.at("events"))
      record.events.push_back({row.at("round"), row.at("agent"), row.at("what"), row.at("why")});
  if (const json& reference = from.at("reference"); !reference.is_null())
    record.reference = {number_from(reference.at("objective")),
                        vector_from(reference.at("solution")), reference.value("unique", true)};
  record.solution = vector_from(from.at("solution"));
  record.objective = number_from(from.at("objective"));
  if (from.contains("certificate")) record.certificate = certificate_from(from.at("certificate"));
  from.at("nonzeros").get_to(record.nonzeros);
  if (from.contains("estimates"))
    for (const json& row : from.at("estimates")) record.estimates.push_back(vector_from(row));
  for (const json& row : from.at("trace"))
    record.trace.push_back(trace_from(row, record.reference.has_value()));
  if (from.contains("ranks"))
    for (const json& row : from.at("ranks")) record.processes.push_back(process_from(row));
  if (from.contains("agent_trace")) record.agent_trace = agent_trace_from(from.at("agent_trace"));
  return record;
}

}  // namespace

std::span<const std::string_view> trace_keys() { return keys_of_trace; }

json to_json(const RunRecord& record) {
  json result = {{"format", record_format},
                 {"version", record.version},
                 {"config", record.config},
                 {"problem", problem_json(record.problem)},
                 {"agents", json::array()},
                 {"outcome",
                  {{"status", name_of(record.outcome.status)},
                   {"detail", record.outcome.detail},
                   {"rounds", record.outcome.rounds},
                   {"seconds", record.outcome.seconds}}},
                 {"notes", record.notes},
                 {"explanations", record.explanations},
                 {"reference", nullptr},
                 {"solution", vector_json(record.solution)},
                 {"objective", number(record.objective)},
                 {"nonzeros", record.nonzeros},
                 {"trace", json::array()}};
  if (record.outcome.gap_bound) result["outcome"]["gap_bound"] = *record.outcome.gap_bound;
  for (const RunEvent& event : record.events)
    result["events"].push_back(
        {{"round", event.round}, {"agent", event.agent}, {"what", event.what}, {"why", event.why}});
  for (const AgentSummary& agent : record.agents) result["agents"].push_back(agent_json(agent));
  if (record.certificate) result["certificate"] = to_json(*record.certificate);
  if (record.reference)
    result["reference"] = {{"objective", number(record.reference->objective)},
                           {"solution", vector_json(record.reference->solution)},
                           {"unique", record.reference->unique}};
  for (const Vector& estimate : record.estimates)
    result["estimates"].push_back(vector_json(estimate));
  for (const TracePoint& point : record.trace) result["trace"].push_back(to_json(point));
  for (const ProcessReport& process : record.processes)
    result["ranks"].push_back(process_json(process));
  if (record.agent_trace) result["agent_trace"] = to_json(*record.agent_trace);
  return result;
}

Result<RunRecord> record_from_json(const json& from) {
  if (!has_format(from, record_format))
    return Error{"format", "is not a run record; expected \"grove-run/1\""};
  try {  // nlohmann-json reports missing and mistyped fields by exception
    return read_record(from);
  } catch (const json::exception& error) {
    return Error{"run record", plain_message(error)};
  }
}

}  // namespace grove
