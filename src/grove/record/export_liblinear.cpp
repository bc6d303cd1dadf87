// The model file of LIBLINEAR, as its function save_model writes it.
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/text.h"
#include "grove/data/labels.h"
#include "grove/record/export.h"

namespace grove {
namespace {

using Kind = Family::Kind;

struct Lines {
  std::string solver;
  std::vector<std::string> labels;           ///< empty: regression
  std::vector<std::vector<double>> columns;  ///< of W, a row of which LIBLINEAR has on each line
  std::vector<double> biases;                ///< of each column; empty: no intercept
  std::size_t features = 0;
};

std::string written(const Lines& lines) {
  std::string text = fmt::format("solver_type {}\nnr_class {}\n", lines.solver,
                                 lines.labels.empty() ? 2 : lines.labels.size());
  if (!lines.labels.empty()) text += fmt::format("label {}\n", fmt::join(lines.labels, " "));
  text += fmt::format("nr_feature {}\nbias {}\nw\n", lines.features, lines.biases.empty() ? -1 : 1);
  for (std::size_t k = 0; k < lines.features; ++k) {
    for (const auto& column : lines.columns) text += exact(column[k]) + " ";
    text += "\n";
  }
  for (const double bias : lines.biases) text += exact(bias) + " ";
  return text + (lines.biases.empty() ? "" : "\n");
}

/// LIBLINEAR reads labels as integers.
Result<std::string> label_of(const std::string& name) {
  const auto number = parse_integer(name);
  if (!number || *number < std::numeric_limits<int>::min() ||
      *number > std::numeric_limits<int>::max())
    return Error{"label " + name, "LIBLINEAR knows integers only"};
  return std::to_string(*number);
}

Result<std::string> solver_of(const Family& family) {
  switch (family.kind) {
    case Kind::binomial:
      return std::string("L2R_LR");
    case Kind::squared_hinge:
      return std::string("L2R_L2LOSS_SVC");
    case Kind::multinomial:  // with it LIBLINEAR refuses probabilities; its own are not these
      return std::string("MCSVM_CS");
    case Kind::gaussian:
    case Kind::huber:
      return std::string("L2R_L2LOSS_SVR");
    case Kind::poisson:
    case Kind::gamma:
    case Kind::negative_binomial:
    case Kind::cox:
      break;
  }
  return Error{"family " + family.name(),
               "LIBLINEAR knows two or more classes, and a mean that is linear in the features"};
}

/// Two classes: the first label is that of a positive margin. More: a column each, zero for the
/// first class.
Result<std::string> text_of(const Family& family, const std::vector<std::string>& classes,
                            const Vector& coefficients, const Vector& intercepts) {
  const auto solver = solver_of(family);
  if (!solver) return solver.error();
  if (family.kind == Kind::binomial && classes.empty())
    return Error{"response", "is a share; LIBLINEAR knows two classes"};
  Lines lines{.solver = *solver};
  for (const std::string& name : classes) {
    const auto label = label_of(name);
    if (!label) return label.error();
    lines.labels.push_back(*label);
  }
  const bool several = family.kind == Kind::multinomial;
  if (lines.labels.size() == 2 && !several) std::swap(lines.labels[0], lines.labels[1]);
  const std::size_t blocks = several ? classes.size() - 1 : 1;
  lines.features = static_cast<std::size_t>(coefficients.size()) / blocks;
  if (several) lines.columns.emplace_back(lines.features, 0.0);
  if (several && intercepts.size() > 0) lines.biases.push_back(0);
  for (std::size_t block = 0; block < blocks; ++block) {
    const double* first = coefficients.data() + block * lines.features;
    lines.columns.emplace_back(first, first + lines.features);
    if (intercepts.size() > 0) lines.biases.push_back(intercepts[static_cast<Index>(block)]);
  }
  return written(lines);
}

}  // namespace

Result<std::string> liblinear_text(const Model& model) {
  if (Status status = exports::check_loss(model); !status) return status.error();
  auto like = model;
  like.coefficients = Vector();  // the family and the classes are all that is asked for
  const auto fitted = exports::as_fitted(like);
  if (!fitted) return fitted.error();
  return text_of(fitted->family, fitted->encoding.classes, model.coefficients, fitted->intercepts);
}

Result<std::string> liblinear_text(const FittedModel& model) {
  if (!exports::offsets_of(model).empty()) return Error{"offset", "LIBLINEAR has none"};
  for (const DesignColumn& column : model.encoding.columns) {
    const bool number = column.parts.size() == 1 && column.parts[0].level < 0 &&
                        !model.encoding.formula.variables[column.parts[0].variable].column.empty();
    if (!number)
      return Error{"column " + column.name,
                   "is made of the table's columns; LIBLINEAR reads numbers as they are"};
  }
  return text_of(model.family, model.encoding.classes, model.coefficients, model.intercepts);
}

}  // namespace grove
