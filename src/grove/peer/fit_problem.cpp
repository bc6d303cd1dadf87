// The problem of a peer that fits a formula.
#include <algorithm>

#include "grove/base/bytes.h"
#include "grove/data/complete_rows.h"
#include "grove/data/digest.h"
#include "grove/peer/fit_agreement.h"
#include "grove/peer/problem_parts.h"

namespace grove::peer {
namespace {

/// Of everything that the numbers of columns, classes and coordinates follow from.
std::string encoding_digest(const FitData& data) {
  ByteWriter bytes;
  const auto put_texts = [&](const std::vector<std::string>& texts) {
    bytes.put(static_cast<std::uint64_t>(texts.size()));
    for (const std::string& text : texts) bytes.put_bytes(text);
  };
  put_texts(data.column_names());
  put_texts(data.encoding.classes);
  for (const auto& factor : data.encoding.factors) {
    bytes.put(factor.has_value());
    if (factor) put_texts(factor->levels);
  }
  for (const auto& [column, value] : data.encoding.fill) {
    bytes.put_bytes(column);
    bytes.put(value);
  }
  bytes.put(data.scaling.center);
  bytes.put(data.scaling.scale);
  bytes.put(data.moments.weight);
  bytes.put(static_cast<std::uint64_t>(data.agents));
  Sha256 digest;
  digest.update(bytes.bytes());
  return digest.finish();
}

std::string design_digest(const Design& design, double scale) {
  ByteWriter bytes;
  bytes.put_bytes(digest_of(design.samples, scale));
  for (const Vector* vector : {&design.weights, &design.offsets, &design.events})
    bytes.put(*vector);
  Sha256 digest;
  digest.update(bytes.bytes());
  return digest.finish();
}

Result<Instance> fit_instance(const Config& training, const FitData& data, const Vector& start) {
  auto graph = Graph::from_edges(1, {}, "peer");
  if (!graph) return graph.error();
  Instance instance{.graph = std::move(*graph)};
  instance.samples = data.designs.front().samples.count();
  instance.features = data.scaling.blocks * data.scaling.features();
  instance.regularizer = regularizer_of(training, instance.features);
  instance.objectives = objectives_of(data, training.l2);
  instance.mean = make_mean_objective({instance.objectives[0].get()});
  instance.initial = start;
  return instance;
}

}  // namespace

std::optional<DisclosureViolation> find_design_violation(const DisclosureRules& given,
                                                         const FitData& data, const Design& design,
                                                         std::uint64_t members) {
  if (!given.enforced()) return std::nullopt;
  DisclosureRules rules = given;
  rules.columns.clear();
  const bool labels = data.model.family.kind == Family::Kind::binomial && data.model.classes == 2;
  const std::optional<ColumnNames> names = ColumnNames{data.column_names(), {}};
  return find_violation(rules, {.samples = design.samples,
                                .columns = names,
                                .classes = labels,
                                .coefficients = data.scaling.dimension(),
                                .members = members});
}

std::optional<DisclosureViolation> find_fit_violation(const PeerConfig& config,
                                                      const Table& table) {
  if (!config.disclosure.enforced()) return std::nullopt;
  const auto formula = parse_formula(config.fit.formula, table.names());
  if (!formula) return std::nullopt;  // the agreement says what is wrong
  TableRoles roles = config.fit.roles;
  roles.response = config.fit.family.response();
  const auto summary = summarize(table, *formula, roles);
  if (!summary) return std::nullopt;
  return find_violation(config.disclosure, *summary, columns_read(*formula, roles), config.members);
}

Result<PeerProblem> fit_problem(PeerConfig& config, AgreedFit agreed) {
  auto fit = std::make_shared<const AgreedFit>(std::move(agreed));
  const FitData& data = fit->data;
  const Design& design = data.designs.front();
  config.training.weighting = Weighting::sample;
  config.training.intercept = data.model.intercept;
  if (config.fit.family.has_margin()) config.training.loss = config.fit.family.loss();
  const Vector start = start_of(data);
  auto instance = fit_instance(config.training, data, start);
  if (!instance) return instance.error();
  ProblemParts parts{
      .schema = fit_schema(config),
      .data = design_digest(design, data.moments.weight),
      .columns = ColumnNames{data.column_names(), {}},
      .forbidden = find_design_violation(config.disclosure, data, design, config.members),
      .influence = {}};
  parts.schema.push_back({std::string(encoding_key), encoding_digest(data)});
  auto problem = set_up_problem(config, *instance, std::move(parts));
  if (!problem) return problem.error();
  if (!problem->certifies())
    return Error{"method",
                 "the answers of peers that fit a formula must be equal, which sums "
                 "certify; expected tree-newton, or an --l1 or bounds as regularizer"};
  problem->fit = std::move(fit);
  problem->start = start;
  return problem;
}

}  // namespace grove::peer
