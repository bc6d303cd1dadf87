#include "grove/data/formula.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "grove/base/text.h"

namespace grove {
namespace {

constexpr std::array<std::string_view, 5> functions{"I", "log", "exp", "sqrt", "date"};

bool is_function(std::string_view name) {
  return std::ranges::find(functions, name) != functions.end();
}
bool is_factor_call(const Syntax& syntax) {
  return syntax.kind == Syntax::Kind::call && (syntax.text == "C" || syntax.text == "factor");
}

/// Builds the terms of a formula by its algebra: + joins, - removes, : multiplies, a*b is
/// a + b + a:b, and a^n is a*a*... with equal terms once.
class TermBuilder {
 public:
  TermBuilder(std::string_view text, std::span<const std::string> columns, Formula& formula)
      : text_(text), columns_(columns), formula_(formula) {}

  Status response(const Syntax& syntax) {
    Response& response = formula_.response;
    response.name = canonical(syntax);
    response.expression = syntax;
    if (syntax.kind == Syntax::Kind::call && syntax.text == "Surv") {
      if (syntax.children.size() != 2) return fail(syntax, "expected Surv(time, event)");
      response.event = syntax.children[1];
      response.expression = syntax.children[0];
      if (Status status = check_expression(syntax.children[1]); !status) return status;
      return check_expression(syntax.children[0]);
    }
    if (is_factor_call(syntax)) {
      Variable factor;
      if (Status status = read_factor(syntax, factor); !status) return status;
      response.expression = syntax.children[0];
      response.reference = factor.reference;
    }
    if (response.expression.kind == Syntax::Kind::name) response.column = response.expression.text;
    return check_expression(response.expression);
  }

  /// Terms that are joined or removed; the intercept is the flag of the formula.
  Status add(const Syntax& syntax, bool plus) {
    if (syntax.kind == Syntax::Kind::binary && (syntax.text == "+" || syntax.text == "-")) {
      if (Status status = add(syntax.children[0], plus); !status) return status;
      return add(syntax.children[1], syntax.text == "+" ? plus : !plus);
    }
    if (syntax.kind == Syntax::Kind::unary && syntax.text == "(")
      return add(syntax.children[0], plus);
    if (syntax.kind == Syntax::Kind::unary && (syntax.text == "-" || syntax.text == "+"))
      return add(syntax.children[0], syntax.text == "-" ? !plus : plus);
    if (syntax.kind == Syntax::Kind::number && (syntax.number == 0 || syntax.number == 1)) {
      formula_.intercept = plus == (syntax.number == 1);
      return success();
    }
    if (syntax.kind == Syntax::Kind::call && syntax.text == "offset") {
      if (syntax.children.size() != 1) return fail(syntax, "expected one expression in offset()");
      if (plus) formula_.offsets.push_back(syntax.children[0]);
      return check_expression(syntax.children[0]);
    }
    auto terms = product(syntax);
    if (!terms) return terms.error();
    for (Term& term : *terms) {
      const auto found = std::ranges::find(formula_.terms, term);
      if (!plus && found != formula_.terms.end()) formula_.terms.erase(found);
      if (plus && found == formula_.terms.end()) formula_.terms.push_back(std::move(term));
    }
    return success();
  }

 private:
  using Terms = std::vector<Term>;

  Error fail(const Syntax& syntax, std::string what) const {
    return formula_error(text_, syntax.range, std::move(what));
  }

  Result<Terms> product(const Syntax& syntax) {
    if (syntax.kind == Syntax::Kind::unary && syntax.text == "(")
      return product(syntax.children[0]);
    if (syntax.kind == Syntax::Kind::dot) return all_others(syntax);
    if (syntax.kind == Syntax::Kind::binary) return combined(syntax);
    if (syntax.kind == Syntax::Kind::name || syntax.kind == Syntax::Kind::call)
      return single(syntax);
    return fail(syntax, "expected a term; arithmetic stands in I()");
  }

  Result<Terms> combined(const Syntax& syntax) {
    const std::string& sign = syntax.text;
    if (sign == "^") return power(syntax);
    auto left = product(syntax.children[0]), right = product(syntax.children[1]);
    if (!left) return left;
    if (!right) return right;
    Terms result;
    if (sign == "+" || sign == "*") join(*left, result), join(*right, result);
    if (sign == ":" || sign == "*") join(crossed(*left, *right, syntax.range), result);
    if (sign == "-")
      for (const Term& term : *left)
        if (std::ranges::find(*right, term) == right->end()) result.push_back(term);
    if (sign != "+" && sign != "*" && sign != ":" && sign != "-")
      return fail(syntax, fmt::format("expected a term; arithmetic stands in I(), as in I({})",
                                      canonical(syntax)));
    return result;
  }

  Result<Terms> power(const Syntax& syntax) {
    const Syntax& exponent = syntax.children[1];
    if (exponent.kind != Syntax::Kind::number || !(exponent.number >= 1 && exponent.number <= 9) ||
        exponent.number != static_cast<int>(exponent.number))
      return fail(exponent, "expected a whole number from 1 to 9; arithmetic stands in I()");
    auto base = product(syntax.children[0]);
    if (!base) return base;
    Terms result = *base;
    for (int k = 1; k < static_cast<int>(exponent.number); ++k)
      join(crossed(result, *base, syntax.range), result);
    return result;
  }

  static void join(const Terms& from, Terms& into) {
    for (const Term& term : from)
      if (std::ranges::find(into, term) == into.end()) into.push_back(term);
  }

  static Terms crossed(const Terms& left, const Terms& right, TextRange range) {
    Terms result;
    for (const Term& a : left)
      for (const Term& b : right) {
        Term both{a.variables, range};
        both.variables.insert(both.variables.end(), b.variables.begin(), b.variables.end());
        std::ranges::sort(both.variables);
        const auto rest = std::ranges::unique(both.variables);
        both.variables.erase(rest.begin(), rest.end());
        result.push_back(std::move(both));
      }
    return result;
  }

  Result<Terms> all_others(const Syntax& dot) {
    std::vector<std::string> used;
    collect_columns(formula_.response.expression, used);
    if (formula_.response.event) collect_columns(*formula_.response.event, used);
    Terms terms;
    for (const std::string& column : columns_) {
      if (std::ranges::find(used, column) != used.end()) continue;
      const Syntax name{.kind = Syntax::Kind::name, .text = column, .range = dot.range};
      auto term = single(name);
      if (!term) return term;
      join(*term, terms);
    }
    return terms;
  }

  Result<Terms> single(const Syntax& syntax) {
    Variable variable{.name = canonical(syntax), .expression = syntax};
    if (is_factor_call(syntax)) {
      if (Status status = read_factor(syntax, variable); !status) return status.error();
    } else if (syntax.kind == Syntax::Kind::name) {
      variable.column = syntax.text;
    } else if (!is_function(syntax.text)) {
      return fail(syntax, fmt::format("`{}` is unknown; expected C, factor, I, log, exp, sqrt, "
                                      "date or offset",
                                      syntax.text));
    }
    if (Status status = check_expression(variable.expression); !status) return status.error();
    auto& variables = formula_.variables;
    auto found = std::ranges::find(variables, variable.name, &Variable::name);
    if (found == variables.end()) found = variables.insert(found, std::move(variable));
    return Terms{{{static_cast<std::size_t>(found - variables.begin())}, syntax.range}};
  }

  Status read_factor(const Syntax& syntax, Variable& variable) {
    variable.is_factor = true;
    if (syntax.children.empty() || syntax.children[0].kind != Syntax::Kind::name)
      return fail(syntax, "expected a column, as in C(rank)");
    variable.column = syntax.children[0].text;
    variable.expression = syntax.children[0];
    for (std::size_t k = 1; k < syntax.children.size(); ++k) {
      const Syntax* reference = &syntax.children[k];
      if (reference->kind == Syntax::Kind::call && reference->text == "Treatment" &&
          reference->children.size() == 1)
        reference = &reference->children[0];
      else if (syntax.keywords[k] != "ref")
        return fail(*reference, "expected ref=LEVEL");
      if (reference->kind == Syntax::Kind::number)
        variable.reference = exact(reference->number);
      else if (reference->kind == Syntax::Kind::name || reference->kind == Syntax::Kind::text)
        variable.reference = reference->text;
      else
        return fail(*reference, "expected a level");
    }
    return success();
  }

  /// Names of columns and functions, down to the leaves.
  Status check_expression(const Syntax& syntax) {
    if (syntax.kind == Syntax::Kind::name) return check_column(syntax);
    if (syntax.kind == Syntax::Kind::dot) return fail(syntax, "expected a column; . is a term");
    if (syntax.kind == Syntax::Kind::call && !is_function(syntax.text))
      return fail(syntax,
                  fmt::format("`{}` is unknown; expected I, log, exp, sqrt or date", syntax.text));
    if (syntax.kind == Syntax::Kind::call && syntax.children.size() != 1)
      return fail(syntax, "expected one argument");
    if (syntax.kind == Syntax::Kind::binary && (syntax.text == ":" || syntax.text == "~"))
      return fail(syntax, fmt::format("{} has no meaning inside an expression", syntax.text));
    for (const Syntax& child : syntax.children)
      if (Status status = check_expression(child); !status) return status;
    return success();
  }

  Status check_column(const Syntax& name) const {
    if (std::ranges::find(columns_, name.text) != columns_.end()) return success();
    const auto near = closest(name.text, columns_);
    return fail(name, fmt::format("there is no column `{}`{}", name.text,
                                  near ? ", the nearest name is `" + *near + "`" : ""));
  }

  std::string_view text_;
  std::span<const std::string> columns_;
  Formula& formula_;
};

}  // namespace

std::string Formula::name_of(const Term& term) const {
  std::string name;
  for (const std::size_t k : term.variables) name += (name.empty() ? "" : ":") + variables[k].name;
  return name;
}

std::vector<std::string> Formula::columns() const {
  std::vector<std::string> columns;
  collect_columns(response.expression, columns);
  if (response.event) collect_columns(*response.event, columns);
  for (const Variable& variable : variables) collect_columns(variable.expression, columns);
  for (const Syntax& offset : offsets) collect_columns(offset, columns);
  return columns;
}

Result<Formula> parse_formula(std::string_view text, std::span<const std::string> columns) {
  const auto syntax = parse_syntax(text);
  if (!syntax && text.find('~') == std::string_view::npos)
    return formula_error(text, {0, text.size()}, "expected RESPONSE ~ TERMS, as in y ~ a + b");
  if (!syntax) return syntax.error();
  if (syntax->kind != Syntax::Kind::binary || syntax->text != "~")
    return formula_error(text, syntax->range, "expected RESPONSE ~ TERMS, as in y ~ a + b");
  Formula formula{.text = std::string(text)};
  TermBuilder builder(text, columns, formula);
  if (Status status = builder.response(syntax->children[0]); !status) return status.error();
  if (Status status = builder.add(syntax->children[1], true); !status) return status.error();
  std::ranges::stable_sort(formula.terms, {},
                           [](const Term& term) { return term.variables.size(); });
  return formula;
}

}  // namespace grove
