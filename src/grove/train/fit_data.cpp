#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/data/dataset.h"
#include "grove/data/lines.h"
#include "grove/data/partition.h"
#include "grove/runtime/cluster.h"
#include "grove/train/fit.h"

namespace grove {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<std::string> columns_in(const Table& table, std::vector<std::string> names) {
  std::erase_if(names, [&](const std::string& name) { return table.find(name) == nullptr; });
  return names;
}

/// The columns that a formula may read, and `.` stand for.
std::vector<std::string> usable_columns(const FitOptions& options, const Table& table) {
  std::vector<std::string> names =
      options.columns.empty() ? table.names() : columns_in(table, options.columns);
  std::erase_if(names, [&](const std::string& name) { return contains(options.ignore, name); });
  return names;
}

Status check_same_columns(const FitOptions& options, const std::vector<Table>& tables) {
  const auto first = usable_columns(options, tables[0]);
  for (const Table& table : tables) {
    const auto names = usable_columns(options, table);
    for (const std::string& name : first)
      if (!contains(names, name))
        return Error{table.source, fmt::format("has no column {}, which {} has; `.` in the formula "
                                               "stands for all",
                                               shown(name), tables[0].source)};
    for (const std::string& name : names)
      if (!contains(first, name))
        return Error{tables[0].source, fmt::format("has no column {}, which {} has; `.` in the "
                                                   "formula stands for all",
                                                   shown(name), table.source)};
  }
  return success();
}

/// A column that one of them lacks is named with its site later.
std::vector<std::string> names_of_any(const std::vector<Table>& tables) {
  std::vector<std::string> names = tables[0].names();
  for (const Table& table : tables)
    for (const std::string& name : table.names())
      if (!contains(names, name)) names.push_back(name);
  return names;
}

bool has_dot(const Syntax& syntax) {
  return syntax.kind == Syntax::Kind::dot || std::ranges::any_of(syntax.children, has_dot);
}

Result<Formula> read_formula(const FitOptions& options, const std::vector<Table>& tables) {
  const auto syntax = parse_syntax(options.formula);
  if (!syntax || !has_dot(*syntax)) return parse_formula(options.formula, names_of_any(tables));
  if (Status status = check_same_columns(options, tables); !status) return status.error();
  std::vector<std::string> names = usable_columns(options, tables[0]);
  for (const std::string& role : {options.roles.weights, options.roles.offset})
    std::erase(names, role);
  std::vector<std::string> of_response;  // whether ignored or not
  if (syntax->children.size() == 2) collect_columns(syntax->children[0], of_response);
  for (const std::string& name : of_response)
    if (!contains(names, name) && contains(tables[0].names(), name)) names.push_back(name);
  return parse_formula(options.formula, names);
}

/// The means of columns with missing cells are sums like others, so that no site's own are known.
void sum_means(const Formula& formula, const std::vector<TableSummary>& own,
               const FitExchange& exchange, TableSummary& summary) {
  const std::vector<std::string> columns = formula.columns();
  std::vector<Vector> parts;
  for (const TableSummary& site : own) {
    Vector& numbers = parts.emplace_back(Vector::Zero(2 * static_cast<Index>(columns.size())));
    for (std::size_t k = 0; k < columns.size(); ++k)
      if (const auto found = site.means.find(columns[k]); found != site.means.end())
        numbers.segment<2>(2 * static_cast<Index>(k)) << found->second.sum, found->second.count;
  }
  const Vector total = exchange.sum(parts);
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (const double count = total[2 * static_cast<Index>(k) + 1]; count > 0)
      summary.means[columns[k]] = {total[2 * static_cast<Index>(k)], count};
}

/// What the encoding follows from, merged over all sites.
Result<TableSummary> network_summary(const std::vector<Table>& tables, const Formula& formula,
                                     const TableRoles& roles, const FitExchange& exchange) {
  std::vector<TableSummary> own;
  Status read = success();
  for (const Table& table : tables) {
    auto one = summarize(table, formula, roles);
    if (one) own.push_back(std::move(*one));
    if (read && !one) read = one.error();
  }
  if (Status status = exchange.agree(read); !status) return status.error();
  const auto all = exchange.unite(own);
  if (!all) return all.error();
  TableSummary summary;
  for (const TableSummary& one : *all) merge(one, summary);
  summary.means.clear();
  if (roles.missing == MissingPolicy::mean || roles.missing == MissingPolicy::indicator)
    sum_means(formula, own, exchange, summary);
  return summary;
}

Status check_responses(const Family& family, const Table& table, const Design& design) {
  for (Index k = 0; k < design.samples.count(); ++k)
    if (const auto complaint = family.complaint(design.samples.targets[k]))
      return Error{table.where(design.rows[static_cast<std::size_t>(k)]),
                   fmt::format("response of family {}: {}, found {}", family.name(), *complaint,
                               exact(design.samples.targets[k]))};
  return success();
}

Status make_designs(const FitOptions& options, const std::vector<Table>& tables, FitData& data) {
  for (const Table& table : tables) {
    auto design = make_design(table, data.encoding);
    if (!design) return design.error();
    if (Status status = check_responses(options.family, table, *design); !status) return status;
    data.designs.push_back(std::move(*design));
  }
  return success();
}

Status check_constant_columns(const Encoding& encoding, bool spans_constant,
                              const DesignMoments& moments) {
  for (Index k = 0; k < moments.mean.size(); ++k) {
    const double mean = moments.mean[k], variance = moments.squares[k] / moments.weight;
    const bool constant = variance <= 1e-24 * mean * mean || variance == 0;
    if (!constant || (!spans_constant && mean != 0)) continue;
    const DesignColumn& column = encoding.columns[static_cast<std::size_t>(k)];
    return formula_error(encoding.formula.text, column.range,
                         fmt::format("`{}` is {} in all rows of all sites; expected a term that "
                                     "varies",
                                     column.name, exact(mean)));
  }
  return success();
}

/// Weights of the classes multiply those of the rows.
Status apply_class_weights(const FitOptions& options, FitData& data) {
  if (options.class_weight.empty()) return success();
  const std::size_t classes = data.encoding.classes.size();
  if (classes == 0)
    return Error{"--class-weight",
                 "the response has no classes; expected --family binomial or "
                 "multinomial with labels"};
  std::vector<double> factors(classes);
  if (options.class_weight == "balanced") {
    std::vector<Vector> parts;
    for (const Design& design : data.designs) {
      Vector& weights = parts.emplace_back(Vector::Zero(static_cast<Index>(classes)));
      for (Index row = 0; row < design.samples.count(); ++row)
        weights[static_cast<Index>(design.samples.targets[row])] += design.weight(row);
    }
    const Vector weights = data.exchange.sum(parts);
    for (std::size_t k = 0; k < classes; ++k)
      factors[k] = weights.sum() / (static_cast<double>(classes) * weights[static_cast<Index>(k)]);
  } else {
    const auto parts = split(options.class_weight, ',');
    for (std::size_t k = 0; k < parts.size() && parts.size() == classes; ++k)
      factors[k] = parse_double(trim(parts[k])).value_or(-1);
    if (parts.size() != classes || std::ranges::min(factors) < 0)
      return Error{"--class-weight",
                   fmt::format("expected balanced, or {} numbers of at least 0 for the classes {}",
                               classes, fmt::join(data.encoding.classes, ", "))};
  }
  for (Design& design : data.designs) {
    if (design.weights.size() == 0) design.weights = Vector::Ones(design.samples.count());
    for (Index row = 0; row < design.samples.count(); ++row)
      design.weights[row] *= factors[static_cast<std::size_t>(design.samples.targets[row])];
  }
  return success();
}

/// Deals a single file out to the agents, as train does.
Status split_single_site(const Config& config, FitData& data) {
  if (data.designs.size() != 1 || config.agents < 2 || !config.agents_given) return success();
  const Design whole = std::move(data.designs[0]);
  const auto shards = partition(whole.samples, config.partition, config.agents, config.seed);
  if (!shards) return shards.error();
  data.designs.clear();
  for (const auto& rows : *shards) data.designs.push_back(take_rows(whole, rows));
  data.agents = data.designs.size();
  return success();
}

/// Centred where an intercept takes up the difference; scaled to deviation 1 unless a penalty acts
/// on the columns as they are.
ColumnScaling make_scaling(const FitOptions& options, const Config& config, const FitData& data) {
  const bool penalized = config.l1 > 0 || config.l2 > 0 || config.regularizer.has_value() ||
                         std::isfinite(config.constraint.low) ||
                         std::isfinite(config.constraint.high);
  const bool cox = options.family.kind == Family::Kind::cox;
  const bool centers = data.model.intercept || cox;  // Cox's likelihood does not see shifts
  ColumnScaling scaling{
      .center = data.moments.mean,
      .scale = data.moments.deviations(),
      .intercept = data.model.intercept,
      .blocks = options.family.kind == Family::Kind::multinomial ? data.model.classes - 1 : 1};
  if (!centers) {
    scaling.scale =
        (data.moments.squares / data.moments.weight + data.moments.mean.cwiseAbs2()).cwiseSqrt();
    scaling.center.setZero();
  }
  if (penalized && !options.standardize) scaling.scale.setOnes();
  return scaling;
}

Status check_collinear(const Config& config, const FitData& data) {
  if (config.l1 > 0 || config.l2 > 0 || config.regularizer) return success();
  std::vector<std::string> names = data.column_names();
  if (data.model.intercept) names.emplace_back("Intercept");
  if (names.empty()) return success();
  const auto size = static_cast<Index>(names.size());
  std::vector<Vector> parts;
  for (const Design& design : data.designs) {
    const auto& rows = std::get<DenseRows>(design.samples.features);
    Matrix columns = Matrix::Ones(rows.rows(), size);
    columns.leftCols(rows.cols()) = rows;
    const Vector weights = design.weights.size() > 0 ? design.weights : Vector::Ones(rows.rows());
    parts.push_back(pack_triangle(columns.transpose() * weights.asDiagonal() * columns));
  }
  const auto found = collinear_columns(unpack_triangle(data.exchange.sum(parts), size), names);
  if (found.empty()) return success();
  return formula_error(data.encoding.formula.text, {0, data.encoding.formula.text.size()},
                       fmt::format("the columns {} are collinear at all sites together: their "
                                   "coefficients are not determined; expected one of them to be "
                                   "left out, or --l2",
                                   fmt::join(found, ", ")));
}

}  // namespace

std::vector<std::string> FitData::column_names() const {
  std::vector<std::string> names;
  for (const DesignColumn& column : encoding.columns) names.push_back(column.name);
  return names;
}

Result<FitData> read_fit_data(const FitOptions& options, const Config& config, Cluster* cluster) {
  const auto sites = static_cast<std::uint32_t>(options.sites.size());
  AgentRange here{0, sites};
  FitExchange exchange = local_exchange();
  if (cluster != nullptr) {
    const auto processes = static_cast<std::uint32_t>(cluster->size());
    if (sites < processes)
      return Error{"sites", fmt::format("expected at least one file for each of the {} processes, "
                                        "found {}",
                                        processes, sites)};
    if (options.formula.find('.') != std::string::npos && options.columns.empty())
      if (const auto syntax = parse_syntax(options.formula); syntax && has_dot(*syntax))
        return Error{"--columns", "missing; under MPI `.` stands for the columns listed here"};
    here = agents_of(sites, cluster->rank(), cluster->size());
    exchange = cluster_exchange(*cluster);
  }
  std::vector<Table> tables;
  Status read = success();
  for (std::uint32_t k = here.first; k < here.last; ++k) {
    auto table = read_table(options.sites[k], options.table);
    if (table) tables.push_back(std::move(*table));
    if (read && !table) read = table.error();
  }
  if (Status status = exchange.agree(read); !status) return status.error();
  auto data = make_fit_data(options, config, tables, exchange);
  if (data) data->cluster = cluster;
  return data;
}

Result<FitData> make_fit_data(const FitOptions& options, const Config& config,
                              const std::vector<Table>& tables, const FitExchange& exchange) {
  if (tables.empty()) return Error{"sites", "expected at least one table, found none"};
  FitData data;
  data.exchange = exchange;
  for (const Table& table : tables)
    data.notes.insert(data.notes.end(), table.notes.begin(), table.notes.end());
  const auto formula = read_formula(options, tables);
  if (Status status = exchange.agree(formula ? success() : Status(formula.error())); !status)
    return status.error();
  const bool survival = options.family.kind == Family::Kind::cox;
  if (survival != formula->response.event.has_value())
    return formula_error(options.formula, formula->response.expression.range,
                         survival ? "expected Surv(time, event) for --family cox"
                                  : "Surv(time, event) is a response of --family cox");
  TableRoles roles = options.roles;
  roles.response = options.family.response();
  auto summary = network_summary(tables, *formula, roles, exchange);
  if (!summary) return summary.error();
  auto encoding = agree(*formula, roles, *summary);
  if (!encoding) return encoding.error();
  data.encoding = std::move(*encoding);
  data.model = {.family = options.family,
                .classes = static_cast<Index>(data.encoding.classes.size()),
                .ties = options.ties,
                .intercept = formula->intercept && !survival};
  if (Status status = exchange.agree(make_designs(options, tables, data)); !status)
    return status.error();
  for (const SiteSummary& site : summary->sites)
    data.sites.push_back({site.name, site.rows, site.dropped, site.missing});
  data.agents = data.sites.size();
  if (Status status = apply_class_weights(options, data); !status) return status.error();
  data.moments = network_moments(data.designs, exchange);
  if (!(data.moments.weight > 0))
    return Error{"--weights", "are all 0; expected a row with a positive weight"};
  if (Status status =
          check_constant_columns(data.encoding, data.model.intercept || survival, data.moments);
      !status)
    return status.error();
  data.scaling = make_scaling(options, config, data);
  for (Design& design : data.designs) data.scaling.apply(design);
  if (Status status = check_collinear(config, data); !status) return status.error();
  if (Status status = split_single_site(config, data); !status) return status.error();
  return data;
}

}  // namespace grove
