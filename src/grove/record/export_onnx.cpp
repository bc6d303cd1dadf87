#include <algorithm>
#include <map>

#include "grove/record/export.h"
#include "grove/record/onnx_graph.h"

namespace grove {
namespace {

using Kind = Family::Kind;
using exports::Input;
using Type = OnnxGraph::Type;

const std::map<std::string, std::string, std::less<>> operations{{"+", "Add"},
                                                                 {"-", "Sub"},
                                                                 {"*", "Mul"},
                                                                 {"/", "Div"},
                                                                 {"^", "Pow"},
                                                                 {"log", "Log"},
                                                                 {"exp", "Exp"},
                                                                 {"sqrt", "Sqrt"},
                                                                 {"==", "Equal"},
                                                                 {"<", "Less"},
                                                                 {"<=", "LessOrEqual"},
                                                                 {">", "Greater"},
                                                                 {">=", "GreaterOrEqual"},
                                                                 {"&", "And"},
                                                                 {"|", "Or"}};

/// What follows the linear predictors: a column for every class, zero for the first, or one column.
void put_outputs(const Family& family, const std::vector<std::string>& classes,
                 const std::string& eta, OnnxGraph& graph) {
  if (!classes.empty()) {
    const std::string label = graph.node("Gather", {graph.constant(classes), graph.arg_max(eta)});
    graph.output(label, "predicted_label", Type::texts, 0);
    if (family.kind != Kind::squared_hinge)
      graph.output(graph.node("Softmax", {eta}, "axis", 1), "predicted_probabilities",
                   Type::doubles, static_cast<Index>(classes.size()));
    return;
  }
  std::string mean = eta;
  if (family.kind == Kind::binomial) mean = graph.node("Sigmoid", {eta});
  if (family.link() == "log") mean = graph.node("Exp", {eta});
  graph.output(mean, family.kind == Kind::cox ? "relative_risk" : "predicted_value", Type::doubles,
               1);
}

/// The linear predictors of features: a column per class, the first of zeros, where there are
/// classes.
std::string linear(const std::string& features, const Matrix& coefficients,
                   const Vector& intercepts, bool has_classes, OnnxGraph& graph) {
  const Index first = has_classes ? 1 : 0;
  const Index width = first + coefficients.cols();
  std::string eta;
  if (coefficients.rows() > 0) {
    Matrix all = Matrix::Zero(coefficients.rows(), width);
    all.rightCols(coefficients.cols()) = coefficients;
    eta = graph.node("MatMul", {features, graph.constant(all)});
  }
  Matrix biases = Matrix::Zero(1, width);
  if (intercepts.size() > 0) biases.rightCols(intercepts.size()) = intercepts.transpose();
  const std::string bias = graph.constant(biases);
  if (!eta.empty()) return graph.node("Add", {eta, bias});
  return graph.node("MatMul", {features, bias});  // features is a column of ones
}

class FittedGraph {
 public:
  FittedGraph(const FittedModel& model, const std::vector<Input>& inputs)
      : model_(model), encoding_(model.encoding) {
    for (const Input& input : inputs) {
      const std::string raw =
          graph_.input(input.name, input.is_text ? Type::texts : Type::doubles, 1);
      columns_[input.name] = input.is_text ? raw : filled(input.name);
    }
  }

  std::string file() {
    std::vector<std::string> features;
    for (const DesignColumn& column : encoding_.columns) features.push_back(design(column));
    const Eigen::Map<const Matrix> coefficients(
        model_.coefficients.data(), static_cast<Index>(features.size()), model_.blocks());
    const std::string joined =
        features.empty() ? ones() : graph_.node("Concat", features, "axis", 1);
    const bool classes = !encoding_.classes.empty();
    std::string eta = linear(joined, coefficients, model_.intercepts, classes, graph_);
    for (const Syntax& offset : exports::offsets_of(model_)) {
      Matrix where = Matrix::Ones(1, model_.blocks() + (classes ? 1 : 0));
      if (classes) where(0, 0) = 0;
      eta = graph_.node("Add",
                        {eta, graph_.node("MatMul", {number(offset), graph_.constant(where)})});
    }
    put_outputs(model_.family, encoding_.classes, eta, graph_);
    return graph_.model(model_.version);
  }

 private:
  /// A column of ones, as long as the inputs.
  std::string ones() {
    const auto numeric = std::ranges::find_if(columns_, [](const auto&) { return true; });
    return graph_.as_double(graph_.node("Equal", {numeric->second, numeric->second}));
  }

  std::string filled(const std::string& name) {
    const auto fill = encoding_.fill.find(name);
    if (fill == encoding_.fill.end()) return name;
    return graph_.node("Where",
                       {graph_.node("IsNaN", {name}), graph_.constant(fill->second), name});
  }

  std::string design(const DesignColumn& column) {
    if (!column.indicator_of.empty())
      return graph_.as_double(graph_.node("IsNaN", {column.indicator_of}));
    std::string product;
    for (const DesignColumn::Part& part : column.parts) {
      const Variable& variable = encoding_.formula.variables[part.variable];
      const std::string factor =
          part.level < 0
              ? number(variable.expression)
              : graph_.equals(
                    columns_.at(variable.column),
                    encoding_.factors[part.variable]->levels[static_cast<std::size_t>(part.level)]);
      product = product.empty() ? factor : graph_.node("Mul", {product, factor});
    }
    return product;
  }

  std::string number(const Syntax& syntax) {
    switch (syntax.kind) {
      case Syntax::Kind::number:
        return graph_.constant(syntax.number);
      case Syntax::Kind::name:
        return columns_.at(syntax.text);
      case Syntax::Kind::call:
        return syntax.text == "I" ? number(syntax.children[0])
                                  : graph_.node(operations.find(syntax.text)->second,
                                                {number(syntax.children[0])});
      case Syntax::Kind::unary:
        return unary(syntax);
      default:
        return binary(syntax);
    }
  }

  std::string unary(const Syntax& syntax) {
    const std::string inside = number(syntax.children[0]);
    if (syntax.text == "-") return graph_.node("Neg", {inside});
    if (syntax.text == "!") return negation(truth(inside));
    return inside;
  }

  /// Whether a number is not 0.
  std::string truth(const std::string& value) {
    return graph_.node("Not", {graph_.node("Equal", {value, graph_.constant(0)})});
  }
  std::string negation(const std::string& condition) {
    return graph_.as_double(graph_.node("Not", {condition}));
  }

  std::string binary(const Syntax& syntax) {
    const Syntax& left = syntax.children[0];
    const Syntax& right = syntax.children[1];
    if (left.kind == Syntax::Kind::text || right.kind == Syntax::Kind::text) {
      const bool first = left.kind == Syntax::Kind::text;
      const std::string same =
          graph_.equals(columns_.at((first ? right : left).text), (first ? left : right).text);
      return syntax.text == "==" ? same : graph_.node("Sub", {graph_.constant(1), same});
    }
    std::string a = number(left), b = number(right);
    if (syntax.text == "!=") return negation(graph_.node("Equal", {a, b}));
    const bool joins = syntax.text == "&" || syntax.text == "|";
    if (joins) a = truth(a), b = truth(b);
    const std::string result = graph_.node(operations.find(syntax.text)->second, {a, b});
    const bool arithmetic = std::string_view("+-*/^").find(syntax.text) != std::string_view::npos;
    return arithmetic ? result : graph_.as_double(result);
  }

  const FittedModel& model_;
  const Encoding& encoding_;
  OnnxGraph graph_;
  std::map<std::string, std::string> columns_;  ///< the value of each, missing cells filled
};

}  // namespace

Result<std::string> onnx_bytes(const Model& model) {
  Model without = model;
  without.coefficients = Vector();
  const auto fitted = exports::as_fitted(without);
  if (!fitted) return fitted.error();
  OnnxGraph graph;
  const std::string features = graph.input("features", Type::doubles, model.coefficients.size());
  const auto& classes = fitted->encoding.classes;
  const std::string eta =
      linear(features, model.coefficients, fitted->intercepts, !classes.empty(), graph);
  put_outputs(fitted->family, classes, eta, graph);
  return graph.model(model.version);
}

Result<std::string> onnx_bytes(const FittedModel& model) {
  const auto inputs = exports::inputs_of(model);
  if (!inputs) return inputs.error();
  if (inputs->empty()) return Error{"formula", "reads no column; ONNX needs an input"};
  for (const Input& input : *inputs)
    if (input.name.starts_with("predicted_") || input.name.starts_with("grove_") ||
        input.name == "relative_risk")
      return Error{"column " + input.name, "has the name of a value of the graph; rename it"};
  return FittedGraph(model, *inputs).file();
}

}  // namespace grove
