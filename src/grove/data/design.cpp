#include "grove/data/design.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/data/complete_rows.h"
#include "grove/data/lines.h"

namespace grove {
namespace {

class DesignBuilder {
 public:
  DesignBuilder(const Table& table, const Encoding& encoding, const DesignOptions& options)
      : table_(table), encoding_(encoding), options_(options) {}

  Result<Design> build() {
    if (Status status = check_columns(); !status) return status.error();
    auto complete = complete_rows(table_, encoding_.formula, encoding_.roles, design_.has_targets);
    if (!complete) return complete.error();
    design_.site = table_.source;
    design_.rows = std::move(complete->rows);
    design_.missing = std::move(complete->missing);
    design_.dropped = table_.rows() - design_.rows.size();
    for (const Status& status : {fill_features(), fill_targets(), fill_weights(), fill_offsets()})
      if (!status) return status.error();
    return std::move(design_);
  }

 private:
  Index count() const { return static_cast<Index>(design_.rows.size()); }

  Status check_columns() {
    const Response& response = encoding_.formula.response;
    std::vector<std::string> of_response;
    collect_columns(response.expression, of_response);
    if (response.event) collect_columns(*response.event, of_response);
    for (const std::string& name : columns_read(encoding_.formula, encoding_.roles)) {
      if (table_.find(name) != nullptr) continue;
      const bool optional =
          !options_.needs_response && std::ranges::find(of_response, name) != of_response.end();
      if (!optional) return Error{table_.source, fmt::format("has no column {}", shown(name))};
      design_.has_targets = false;
    }
    return success();
  }

  Vector picked(const Vector& all) const {
    Vector result(count());
    for (Index k = 0; k < count(); ++k) result[k] = all[static_cast<Index>(design_.rows[k])];
    return result;
  }

  Result<Vector> numbers(const Syntax& expression) const {
    auto all = evaluate(expression, table_, encoding_.fill);
    if (!all) return all;
    return picked(*all);
  }

  /// The level of every used row; -2: unseen.
  Result<std::vector<int>> level_numbers(std::size_t k) const {
    const FactorLevels& factor = *encoding_.factors[k];
    const TableColumn& column = *table_.find(encoding_.formula.variables[k].column);
    std::vector<int> result;
    for (const std::size_t row : design_.rows) {
      if (column.missing(row)) {
        result.push_back(factor.missing_level ? static_cast<int>(factor.levels.size()) - 1 : -2);
        if (!factor.missing_level && options_.unseen == UnseenLevels::refuse)
          return Error{table_.where(row),
                       fmt::format("column {}: expected a level, found a missing "
                                   "cell",
                                   shown(column.name))};
        continue;
      }
      const std::string text = column.text(row);
      const auto found = std::ranges::find(factor.levels, text);
      if (found == factor.levels.end() && options_.unseen == UnseenLevels::refuse)
        return Error{table_.where(row),
                     fmt::format("column {}: {} is no level of the model; expected one of {}, or "
                                 "--unseen zero",
                                 shown(column.name), shown(text), fmt::join(factor.levels, ", "))};
      result.push_back(
          found == factor.levels.end() ? -2 : static_cast<int>(found - factor.levels.begin()));
    }
    return result;
  }

  Status fill_features() {
    const auto& variables = encoding_.formula.variables;
    std::vector<Vector> values(variables.size());
    std::vector<std::vector<int>> levels(variables.size());
    for (std::size_t k = 0; k < variables.size(); ++k) {
      if (encoding_.factors[k]) {
        auto numbers_of_levels = level_numbers(k);
        if (!numbers_of_levels) return numbers_of_levels.error();
        levels[k] = std::move(*numbers_of_levels);
      } else {
        auto of_rows = numbers(variables[k].expression);
        if (!of_rows) return of_rows.error();
        values[k] = std::move(*of_rows);
      }
    }
    DenseRows features = DenseRows::Ones(count(), static_cast<Index>(encoding_.columns.size()));
    for (Index c = 0; c < features.cols(); ++c) {
      const DesignColumn& column = encoding_.columns[static_cast<std::size_t>(c)];
      if (!column.indicator_of.empty()) fill_indicator(column.indicator_of, features.col(c));
      for (const DesignColumn::Part& part : column.parts)
        for (Index k = 0; k < count(); ++k)
          features(k, c) *=
              part.level < 0
                  ? values[part.variable][k]
                  : static_cast<double>(levels[part.variable][static_cast<std::size_t>(k)] ==
                                        part.level);
    }
    design_.samples.features = std::move(features);
    return success();
  }

  template <class Column>
  void fill_indicator(const std::string& name, Column column) const {
    const TableColumn& source = *table_.find(name);
    for (Index k = 0; k < count(); ++k)
      column[k] = source.missing(design_.rows[static_cast<std::size_t>(k)]) ? 1 : 0;
  }

  Status fill_targets() {
    design_.samples.targets = Vector::Constant(count(), std::numeric_limits<double>::quiet_NaN());
    if (!design_.has_targets) return success();
    const Response& response = encoding_.formula.response;
    if (!encoding_.classes.empty()) return fill_classes();
    auto targets = evaluate(response.expression, table_);
    if (!targets) return targets.error();
    design_.samples.targets = picked(*targets);
    if (!response.event) return success();
    auto events = evaluate(*response.event, table_);
    if (!events) return events.error();
    design_.events = picked(*events);
    for (Index k = 0; k < count(); ++k)
      if (design_.events[k] != 0 && design_.events[k] != 1)
        return Error{table_.where(design_.rows[static_cast<std::size_t>(k)]),
                     fmt::format("{}: expected the event as 0 or 1, found {}",
                                 canonical(*response.event), exact(design_.events[k]))};
    return success();
  }

  Status fill_classes() {
    const Response& response = encoding_.formula.response;
    const TableColumn* column = response.column.empty() ? nullptr : table_.find(response.column);
    Vector values;
    if (column == nullptr) {
      auto evaluated = evaluate(response.expression, table_);
      if (!evaluated) return evaluated.error();
      values = std::move(*evaluated);
    }
    for (Index k = 0; k < count(); ++k) {
      const std::size_t row = design_.rows[static_cast<std::size_t>(k)];
      const bool missing =
          column ? column->missing(row) : std::isnan(values[static_cast<Index>(row)]);
      if (missing) continue;  // only where the response is not needed
      const std::string text = column ? column->text(row) : exact(values[static_cast<Index>(row)]);
      const auto found = std::ranges::find(encoding_.classes, text);
      if (found == encoding_.classes.end()) {
        if (!options_.needs_response) {
          design_.has_targets = false;
          return success();
        }
        return Error{table_.where(row),
                     fmt::format("{}: {} is no class of the model; expected one of {}",
                                 response.name, shown(text), fmt::join(encoding_.classes, ", "))};
      }
      design_.samples.targets[k] = static_cast<double>(found - encoding_.classes.begin());
    }
    return success();
  }

  Status fill_weights() {
    const std::string& name = encoding_.roles.weights;
    if (name.empty() || !design_.has_targets) return success();
    const Syntax column{.kind = Syntax::Kind::name, .text = name};
    auto weights = numbers(column);
    if (!weights) return weights.error();
    for (Index k = 0; k < count(); ++k)
      if (!((*weights)[k] >= 0))
        return Error{table_.where(design_.rows[static_cast<std::size_t>(k)]),
                     fmt::format("weights {}: expected a number of at least 0, found {}",
                                 shown(name), exact((*weights)[k]))};
    design_.weights = std::move(*weights);
    return success();
  }

  Status fill_offsets() {
    std::vector<Syntax> offsets = encoding_.formula.offsets;
    if (!encoding_.roles.offset.empty())
      offsets.push_back({.kind = Syntax::Kind::name, .text = encoding_.roles.offset});
    for (const Syntax& offset : offsets) {
      auto values = numbers(offset);
      if (!values) return values.error();
      if (design_.offsets.size() == 0) design_.offsets = Vector::Zero(count());
      design_.offsets += *values;
    }
    return success();
  }

  const Table& table_;
  const Encoding& encoding_;
  const DesignOptions& options_;
  Design design_;
};

}  // namespace

Result<Design> make_design(const Table& table, const Encoding& encoding,
                           const DesignOptions& options) {
  return DesignBuilder(table, encoding, options).build();
}

Design take_rows(const Design& design, const std::vector<std::uint32_t>& rows) {
  const auto count = static_cast<Index>(rows.size());
  const auto picked = [&](const Vector& from) {
    Vector result(from.size() > 0 ? count : 0);
    for (Index k = 0; k < result.size(); ++k) result[k] = from[rows[static_cast<std::size_t>(k)]];
    return result;
  };
  const auto& features = std::get<DenseRows>(design.samples.features);
  DenseRows taken(count, features.cols());
  for (Index k = 0; k < count; ++k) taken.row(k) = features.row(rows[static_cast<std::size_t>(k)]);
  Design part{.site = design.site,
              .samples = {std::move(taken), picked(design.samples.targets)},
              .events = picked(design.events),
              .offsets = picked(design.offsets),
              .weights = picked(design.weights)};
  for (const std::uint32_t row : rows)
    if (row < design.rows.size()) part.rows.push_back(design.rows[row]);
  return part;
}

Vector DesignMoments::deviations() const { return (squares / weight).cwiseSqrt(); }

DesignMoments moments_of(const Design& design) {
  const auto& features = std::get<DenseRows>(design.samples.features);
  DesignMoments moments{.rows = design.samples.count()};
  moments.mean = Vector::Zero(features.cols());
  moments.squares = Vector::Zero(features.cols());
  for (Index row = 0; row < features.rows(); ++row) {
    const double weight = design.weight(row);
    if (weight == 0) continue;
    moments.weight += weight;
    const Vector difference = features.row(row).transpose() - moments.mean;
    moments.mean += difference * (weight / moments.weight);
    moments.squares.array() +=
        weight * difference.array() * (features.row(row).transpose() - moments.mean).array();
    moments.response_mean +=
        (design.samples.targets[row] - moments.response_mean) * (weight / moments.weight);
    moments.exposure += weight * std::exp(std::min(design.offset(row), 700.0));
  }
  return moments;
}

void merge(const DesignMoments& other, DesignMoments& moments) {
  moments.rows += other.rows;
  if (other.weight == 0) return;
  if (moments.weight == 0) {
    const Index rows = moments.rows;
    moments = other;
    moments.rows = rows;
    return;
  }
  const double total = moments.weight + other.weight;
  const double share = other.weight / total;
  const Vector difference = other.mean - moments.mean;
  moments.squares += other.squares;
  moments.squares.array() += difference.array().square() * (moments.weight * share);
  moments.mean += share * difference;
  moments.response_mean += share * (other.response_mean - moments.response_mean);
  moments.exposure += other.exposure;
  moments.weight = total;
}

}  // namespace grove
