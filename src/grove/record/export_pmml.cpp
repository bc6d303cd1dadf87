// PMML 4.4, https://dmg.org/pmml/v4-4-1/GeneralRegression.html
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "grove/base/printable.h"
#include "grove/base/text.h"
#include "grove/record/export.h"
#include "grove/record/xml_writer.h"

namespace grove {
namespace {

using Kind = Family::Kind;
using exports::Input;

const std::map<std::string, std::string, std::less<>> function_names{
    {"+", "+"},           {"-", "-"},
    {"*", "*"},           {"/", "/"},
    {"^", "pow"},         {"log", "ln"},
    {"exp", "exp"},       {"sqrt", "sqrt"},
    {"==", "equal"},      {"!=", "notEqual"},
    {"<", "lessThan"},    {"<=", "lessOrEqual"},
    {">", "greaterThan"}, {">=", "greaterOrEqual"},
    {"&", "and"},         {"|", "or"}};

bool is_condition(const Syntax& syntax) {
  static const std::vector<std::string> signs{"==", "!=", "<", "<=", ">", ">=", "&", "|", "!"};
  const bool sign = syntax.kind == Syntax::Kind::binary || syntax.kind == Syntax::Kind::unary;
  return sign && std::ranges::find(signs, syntax.text) != signs.end();
}

class PmmlWriter {
 public:
  PmmlWriter(const FittedModel& model, std::vector<Input> inputs)
      : model_(model), encoding_(model.encoding), inputs_(std::move(inputs)) {}

  std::string text() {
    const auto root =
        xml_.element("PMML", {{"xmlns", "http://www.dmg.org/PMML-4_4"}, {"version", "4.4"}}, [&] {
          xml_.element("Header", {}, [&] {
            xml_.leaf("Application", {{"name", "Grove"}, {"version", model_.version}});
          });
          dictionary();
          if (has_derived_fields())
            xml_.element("TransformationDictionary", {}, [&] { derived(); });
          xml_.element("GeneralRegressionModel", model_attributes(), [&] { regression(); });
        });
    return root;
  }

 private:
  bool classifies() const { return !encoding_.classes.empty(); }
  const std::string& response() const { return encoding_.formula.response.name; }
  bool is_derived(std::size_t k) const {
    return !encoding_.factors[k] && encoding_.formula.variables[k].column.empty();
  }
  bool has_derived_fields() const {
    for (std::size_t k = 0; k < encoding_.factors.size(); ++k)
      if (is_derived(k)) return true;
    return offset_is_derived();
  }
  bool offset_is_derived() const {
    const auto offsets = exports::offsets_of(model_);
    return offsets.size() > 1 || (offsets.size() == 1 && offsets[0].kind != Syntax::Kind::name);
  }
  std::string offset_field() const {
    const auto offsets = exports::offsets_of(model_);
    if (offsets.empty()) return "";
    return offset_is_derived() ? "offset(" + response() + ")" : offsets[0].text;
  }

  void field(const std::string& name, const std::vector<std::string>& levels, bool is_text) {
    xml_.element("DataField",
                 {{"name", name},
                  {"optype", is_text ? "categorical" : "continuous"},
                  {"dataType", is_text ? "string" : "double"}},
                 [&] {
                   for (const std::string& level : levels) xml_.leaf("Value", {{"value", level}});
                 });
  }

  void dictionary() {
    xml_.element("DataDictionary", {}, [&] {
      field(response(), encoding_.classes, classifies());
      for (const Input& input : inputs_) field(input.name, input.levels, input.is_text);
    });
  }

  void derived_field(const std::string& name, const std::function<void()>& inside) {
    xml_.element("DerivedField", {{"name", name}, {"optype", "continuous"}, {"dataType", "double"}},
                 inside);
  }

  void derived() {
    for (std::size_t k = 0; k < encoding_.factors.size(); ++k)
      if (is_derived(k)) {
        const Variable& variable = encoding_.formula.variables[k];
        derived_field(variable.name, [&] { number(variable.expression); });
      }
    if (!offset_is_derived()) return;
    const auto offsets = exports::offsets_of(model_);
    derived_field(offset_field(), [&] { sum(offsets, 0); });
  }

  void sum(const std::vector<Syntax>& terms, std::size_t first) {
    if (first + 1 == terms.size()) return number(terms[first]);
    apply("+", [&] {
      number(terms[first]);
      sum(terms, first + 1);
    });
  }

  void apply(const std::string& function, const std::function<void()>& inside) {
    xml_.element("Apply", {{"function", function}}, inside);
  }
  void constant(double value) {
    xml_.text_leaf("Constant", {{"dataType", "double"}}, exact(value));
  }
  void call(const Syntax& syntax, void (PmmlWriter::*operand)(const Syntax&)) {
    apply(function_names.find(syntax.text)->second, [&] {
      for (const Syntax& child : syntax.children) (this->*operand)(child);
    });
  }

  /// An expression as a number; conditions are 1 or 0.
  void number(const Syntax& syntax) {
    if (is_condition(syntax))
      return apply("if", [&] {
        condition(syntax);
        constant(1);
        constant(0);
      });
    switch (syntax.kind) {
      case Syntax::Kind::number:
        return constant(syntax.number);
      case Syntax::Kind::text:
        return xml_.text_leaf("Constant", {{"dataType", "string"}}, syntax.text);
      case Syntax::Kind::name:
        return xml_.leaf("FieldRef", {{"field", syntax.text}});
      default:
        break;
    }
    if (syntax.kind == Syntax::Kind::unary && syntax.text == "-")
      return apply("*", [&] {
        constant(-1);
        number(syntax.children[0]);
      });
    const bool passes = syntax.text == "I" || syntax.kind == Syntax::Kind::unary;
    return passes ? number(syntax.children[0]) : call(syntax, &PmmlWriter::number);
  }

  void condition(const Syntax& syntax) {
    if (!is_condition(syntax))  // a number is true where it is not 0
      return apply("notEqual", [&] {
        number(syntax);
        constant(0);
      });
    if (syntax.text == "!") return apply("not", [&] { condition(syntax.children[0]); });
    const bool joins = syntax.text == "&" || syntax.text == "|";
    call(syntax, joins ? &PmmlWriter::condition : &PmmlWriter::number);
  }

  XmlAttributes model_attributes() const {
    XmlAttributes attributes{{"functionName", classifies() ? "classification" : "regression"}};
    if (classifies()) {
      attributes.emplace_back("modelType", "multinomialLogistic");
      attributes.emplace_back("targetReferenceCategory", encoding_.classes.front());
    } else {
      attributes.emplace_back("modelType", "generalizedLinear");
      attributes.emplace_back("distribution", distribution());
      attributes.emplace_back("linkFunction", model_.family.link());
    }
    if (const std::string offset = offset_field(); !offset.empty())
      attributes.emplace_back("offsetVariable", offset);
    return attributes;
  }

  std::string distribution() const {
    switch (model_.family.kind) {
      case Kind::binomial:
        return "binomial";
      case Kind::poisson:
        return "poisson";
      case Kind::gamma:
        return "gamma";
      case Kind::negative_binomial:
        return "negbin";
      default:
        return "normal";
    }
  }

  void mining_schema() {
    xml_.element("MiningSchema", {}, [&] {
      xml_.leaf("MiningField", {{"name", response()}, {"usageType", "target"}});
      for (const Input& input : inputs_) {
        XmlAttributes attributes{{"name", input.name}};
        const auto fill = encoding_.fill.find(input.name);
        if (input.missing_level)
          attributes.emplace_back("missingValueReplacement", input.levels.back());
        else if (!input.is_text && fill != encoding_.fill.end())
          attributes.emplace_back("missingValueReplacement", exact(fill->second));
        xml_.leaf("MiningField", attributes);
      }
    });
  }

  void outputs() {
    xml_.element("Output", {}, [&] {
      const std::string type = classifies() ? "string" : "double";
      xml_.leaf("OutputField", {{"name", classifies() ? "predicted_label" : "predicted_value"},
                                {"optype", classifies() ? "categorical" : "continuous"},
                                {"dataType", type},
                                {"feature", "predictedValue"}});
      for (const std::string& name : encoding_.classes)
        xml_.leaf("OutputField", {{"name", "probability_of_" + name},
                                  {"optype", "continuous"},
                                  {"dataType", "double"},
                                  {"feature", "probability"},
                                  {"value", name}});
    });
  }

  bool is_used(std::size_t column) const {
    return !exports::coefficients_of(model_, column).isZero(0);
  }
  std::string predictor(std::size_t variable) const {
    const Variable& known = encoding_.formula.variables[variable];
    return known.column.empty() ? known.name : known.column;
  }

  void predictors(const char* list, bool factors) {
    std::vector<std::string> names;
    for (std::size_t c = 0; c < encoding_.columns.size(); ++c)
      for (const DesignColumn::Part& part : encoding_.columns[c].parts) {
        const std::string name = predictor(part.variable);
        const bool known = std::ranges::find(names, name) != names.end();
        if (is_used(c) && (part.level >= 0) == factors && !known) names.push_back(name);
      }
    if (names.empty()) return;
    xml_.element(list, {}, [&] {
      for (const std::string& name : names) xml_.leaf("Predictor", {{"name", name}});
    });
  }

  template <class Visit>
  void each_parameter(const Visit& visit) {
    for (std::size_t c = 0; c < encoding_.columns.size(); ++c)
      if (is_used(c)) visit(fmt::format("p{}", c + 1), encoding_.columns[c], c);
  }

  void regression() {
    mining_schema();
    outputs();
    xml_.element("ParameterList", {}, [&] {
      xml_.leaf("Parameter", {{"name", "p0"}, {"label", "Intercept"}});
      each_parameter([&](const std::string& name, const DesignColumn& column, std::size_t) {
        xml_.leaf("Parameter", {{"name", name}, {"label", column.name}});
      });
    });
    predictors("FactorList", true);
    predictors("CovariateList", false);
    xml_.element("PPMatrix", {}, [&] {
      each_parameter([&](const std::string& name, const DesignColumn& column, std::size_t) {
        for (const DesignColumn::Part& part : column.parts) pp_cell(name, part);
      });
    });
    xml_.element("ParamMatrix", {}, [&] {
      const Index blocks = std::max<Index>(model_.blocks(), 1);
      for (Index block = 0; block < blocks; ++block) {
        const bool has = model_.intercepts.size() > 0;
        p_cell("p0", block, has ? model_.intercepts[block] : 0);
        each_parameter([&](const std::string& name, const DesignColumn&, std::size_t c) {
          p_cell(name, block, exports::coefficients_of(model_, c)[block]);
        });
      }
    });
  }

  void pp_cell(const std::string& parameter, const DesignColumn::Part& part) {
    const std::string value =
        part.level < 0
            ? "1"  // the exponent
            : encoding_.factors[part.variable]->levels[static_cast<std::size_t>(part.level)];
    xml_.leaf("PPCell", {{"value", value},
                         {"predictorName", predictor(part.variable)},
                         {"parameterName", parameter}});
  }

  void p_cell(const std::string& parameter, Index block, double beta) {
    XmlAttributes attributes;
    if (classifies())
      attributes.emplace_back("targetCategory",
                              encoding_.classes[static_cast<std::size_t>(block) + 1]);
    attributes.emplace_back("parameterName", parameter);
    attributes.emplace_back("beta", exact(beta));
    xml_.leaf("PCell", attributes);
  }

  const FittedModel& model_;
  const Encoding& encoding_;
  const std::vector<Input> inputs_;
  XmlWriter xml_;
};

Status check(const FittedModel& model, const std::vector<Input>& inputs) {
  if (model.family.kind == Kind::cox)
    return Error{"family cox",
                 "PMML needs the baseline hazard, which a fit stratified by site does not have; "
                 "ONNX gives the relative risk"};
  if (model.family.kind == Kind::squared_hinge)
    return Error{"squared-hinge", "has no probabilities, which a classification of PMML needs"};
  for (const DesignColumn& column : model.encoding.columns)
    if (!column.indicator_of.empty())
      return Error{"column " + column.name,
                   "PMML fills a missing cell before a column can say that it is missing; ONNX "
                   "does not"};
  std::vector<std::string> texts{model.encoding.formula.response.name};
  for (const std::string& name : model.encoding.classes) texts.push_back(name);
  for (const DesignColumn& column : model.encoding.columns) texts.push_back(column.name);
  for (const Input& input : inputs) {
    if (input.name == texts.front())
      return Error{"column " + input.name, "is both response and term; PMML knows it once"};
    texts.push_back(input.name);
    texts.insert(texts.end(), input.levels.begin(), input.levels.end());
  }
  for (const std::string& text : texts)
    if (printable(text) != text)
      return Error{"'" + printable(text) + "'", "has a character that XML cannot carry"};
  return success();
}

}  // namespace

Result<std::string> pmml_text(const Model& model) {
  const auto fitted = exports::as_fitted(model);
  if (!fitted) return fitted.error();
  return pmml_text(*fitted);
}

Result<std::string> pmml_text(const FittedModel& model) {
  auto inputs = exports::inputs_of(model);
  if (!inputs) return inputs.error();
  if (Status status = check(model, *inputs); !status) return status.error();
  return PmmlWriter(model, std::move(*inputs)).text();
}

}  // namespace grove
