#include "grove/record/export.h"

#include <algorithm>

#include <fmt/format.h>

#include "grove/data/labels.h"
#include "grove/setup/loss_option.h"

namespace grove::exports {
namespace {

class InputCollector {
 public:
  Status add(const std::string& name, bool is_text) {
    const auto found = std::ranges::find(inputs_, name, &Input::name);
    if (found == inputs_.end()) {
      inputs_.push_back({.name = name, .is_text = is_text, .levels = {}});
      return success();
    }
    if (found->is_text == is_text) return success();
    return Error{"column " + name,
                 "is read both as numbers and as the levels of a factor; expected one of them"};
  }

  Status add_factor(const std::string& name, const FactorLevels& factor) {
    if (Status status = add(name, true); !status) return status;
    Input& input = *std::ranges::find(inputs_, name, &Input::name);
    for (const std::string& level : factor.levels)
      if (std::ranges::find(input.levels, level) == input.levels.end())
        input.levels.push_back(level);
    input.missing_level = factor.missing_level;
    return success();
  }

  Status add_expression(const Syntax& syntax) {
    if (syntax.kind == Syntax::Kind::name) return add(syntax.text, false);
    if (syntax.kind == Syntax::Kind::call && syntax.text == "date")
      return Error{canonical(syntax), "dates have no place in this format"};
    const bool of_text = std::ranges::find(syntax.children, Syntax::Kind::text, &Syntax::kind) !=
                         syntax.children.end();
    for (const Syntax& child : syntax.children) {
      if (child.kind == Syntax::Kind::text) continue;
      Status status = of_text ? add(child.text, true) : add_expression(child);
      if (!status) return status;
    }
    return success();
  }

  std::vector<Input> take() { return std::move(inputs_); }

 private:
  std::vector<Input> inputs_;
};

Family family_of(const Loss& loss) {
  Loss copy = loss;
  return *Family::parse(loss_option(copy).get().get<std::string>());
}

}  // namespace

std::vector<Syntax> offsets_of(const FittedModel& model) {
  std::vector<Syntax> offsets = model.encoding.formula.offsets;
  if (!model.encoding.roles.offset.empty())
    offsets.push_back({.kind = Syntax::Kind::name, .text = model.encoding.roles.offset});
  return offsets;
}

Result<std::vector<Input>> inputs_of(const FittedModel& model) {
  const Encoding& encoding = model.encoding;
  InputCollector inputs;
  for (std::size_t k = 0; k < encoding.factors.size(); ++k) {
    const Variable& variable = encoding.formula.variables[k];
    const Status status = encoding.factors[k]
                              ? inputs.add_factor(variable.column, *encoding.factors[k])
                              : inputs.add_expression(variable.expression);
    if (!status) return status.error();
  }
  for (const Syntax& offset : offsets_of(model))
    if (Status status = inputs.add_expression(offset); !status) return status.error();
  return inputs.take();
}

Status check_loss(const Model& model) {
  if (const auto* custom = std::get_if<CustomLoss>(&model.loss))
    return Error{"loss " + custom->name, "is of a program's own; other programs do not know it"};
  return success();
}

Result<FittedModel> as_fitted(const Model& model) {
  if (Status status = check_loss(model); !status) return status.error();
  FittedModel result{.version = model.version, .family = family_of(model.loss)};
  Encoding& encoding = result.encoding;
  std::vector<double> coefficients;
  for (Index k = 0; k < model.coefficients.size(); ++k) {
    if (model.coefficients[k] == 0) continue;
    const std::string name = model.columns ? model.columns->features[static_cast<std::size_t>(k)]
                                           : fmt::format("f{}", k + 1);
    encoding.columns.push_back({.name = name, .parts = {{encoding.factors.size(), -1}}});
    encoding.formula.variables.push_back(
        {.name = name, .expression = {.kind = Syntax::Kind::name, .text = name}, .column = name});
    encoding.factors.emplace_back();
    if (!model.columns) encoding.fill[name] = 0;  // what a line of LIBSVM text leaves out
    coefficients.push_back(model.coefficients[k]);
  }
  result.coefficients =
      Eigen::Map<const Vector>(coefficients.data(), static_cast<Index>(coefficients.size()));
  encoding.formula.response.name =
      model.columns && !model.columns->label.empty() ? model.columns->label : "label";
  if (model.labels)
    encoding.classes = {label_text(*model.labels, false), label_text(*model.labels, true)};
  result.intercept = model.intercept.has_value();
  if (model.intercept) result.intercepts = Vector::Constant(1, *model.intercept);
  return result;
}

Vector coefficients_of(const FittedModel& model, std::size_t column) {
  const auto columns = static_cast<Index>(model.encoding.columns.size());
  const Index blocks = columns == 0 ? 0 : model.coefficients.size() / columns;
  Vector result(blocks);
  for (Index block = 0; block < blocks; ++block)
    result[block] = model.coefficients[block * columns + static_cast<Index>(column)];
  return result;
}

}  // namespace grove::exports
