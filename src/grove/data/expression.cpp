#include "grove/data/expression.h"

#include <chrono>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "grove/base/text.h"
#include "grove/data/lines.h"

namespace grove {
namespace {

constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

class Evaluator {
 public:
  Evaluator(const Table& table, const FillValues& fill) : table_(table), fill_(fill) {}

  Result<Vector> value(const Syntax& syntax) const {
    switch (syntax.kind) {
      case Syntax::Kind::number:
        return Vector(Vector::Constant(rows(), syntax.number));
      case Syntax::Kind::name:
        return column(syntax.text);
      case Syntax::Kind::call:
        return call(syntax);
      case Syntax::Kind::unary:
        return unary(syntax);
      case Syntax::Kind::binary:
        return binary(syntax);
      default:
        return Error{table_.source, fmt::format("expected a number, found {}", canonical(syntax))};
    }
  }

 private:
  Index rows() const { return static_cast<Index>(table_.rows()); }

  Result<const TableColumn*> find(const std::string& name) const {
    const TableColumn* column = table_.find(name);
    if (column == nullptr)
      return Error{table_.source, fmt::format("has no column {}", shown(name))};
    return column;
  }

  Result<Vector> column(const std::string& name) const {
    const auto found = find(name);
    if (!found) return found.error();
    const TableColumn& column = **found;
    if (column.is_text) {
      const std::size_t row = column.first_text_row;
      const std::string cell = column.text(row);
      return Error{
          table_.where(row),
          fmt::format(
              "column {}: expected a number, found {}{}", shown(name), shown(cell),
              days_since_1970(cell) ? fmt::format("; date({}) makes days of it", name) : "")};
    }
    Vector result = Eigen::Map<const Vector>(column.numbers.data(), rows());
    if (const auto fill = fill_.find(name); fill != fill_.end())
      for (double& number : result)
        if (std::isnan(number)) number = fill->second;
    return result;
  }

  Result<Vector> call(const Syntax& syntax) const {
    const Syntax& argument = syntax.children[0];
    if (syntax.text == "date") return date(argument);
    auto inside = value(argument);
    if (!inside || syntax.text == "I") return inside;
    double (*function)(double) = nullptr;
    if (syntax.text == "log") function = [](double x) { return std::log(x); };
    if (syntax.text == "exp") function = [](double x) { return std::exp(x); };
    if (syntax.text == "sqrt") function = [](double x) { return std::sqrt(x); };
    return each(syntax, *inside, Vector::Zero(rows()),
                [function](double x, double) { return function(x); });
  }

  Result<Vector> date(const Syntax& argument) const {
    if (argument.kind != Syntax::Kind::name)
      return Error{table_.source, "expected a column in date()"};
    const auto found = find(argument.text);
    if (!found) return found.error();
    Vector result(rows());
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      double& day = result[static_cast<Index>(row)];
      day = missing_value;
      if ((*found)->missing(row)) continue;
      const auto days = days_since_1970((*found)->text(row));
      if (!days)
        return Error{table_.where(row),
                     fmt::format("column {}: expected a date as 2024-12-31, found {}",
                                 shown(argument.text), shown((*found)->text(row)))};
      day = *days;
    }
    return result;
  }

  Result<Vector> unary(const Syntax& syntax) const {
    auto inside = value(syntax.children[0]);
    if (!inside) return inside;
    if (syntax.text == "-") *inside = -*inside;
    if (syntax.text == "!")
      for (double& number : *inside)
        if (!std::isnan(number)) number = number == 0 ? 1 : 0;
    return inside;
  }

  Result<Vector> binary(const Syntax& syntax) const {
    const Syntax& left = syntax.children[0];
    const Syntax& right = syntax.children[1];
    if (left.kind == Syntax::Kind::text) return compared(right, syntax.text, left.text);
    if (right.kind == Syntax::Kind::text) return compared(left, syntax.text, right.text);
    auto a = value(left), b = value(right);
    if (!a) return a;
    if (!b) return b;
    return each(syntax, *a, *b, operation(syntax.text));
  }

  static std::function<double(double, double)> operation(const std::string& sign) {
    if (sign == "+") return std::plus<>{};
    if (sign == "-") return std::minus<>{};
    if (sign == "*") return std::multiplies<>{};
    if (sign == "/") return std::divides<>{};
    if (sign == "^") return [](double a, double b) { return std::pow(a, b); };
    if (sign == "==") return [](double a, double b) { return a == b ? 1.0 : 0.0; };
    if (sign == "!=") return [](double a, double b) { return a != b ? 1.0 : 0.0; };
    if (sign == "<") return [](double a, double b) { return a < b ? 1.0 : 0.0; };
    if (sign == "<=") return [](double a, double b) { return a <= b ? 1.0 : 0.0; };
    if (sign == ">") return [](double a, double b) { return a > b ? 1.0 : 0.0; };
    if (sign == ">=") return [](double a, double b) { return a >= b ? 1.0 : 0.0; };
    if (sign == "&") return [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; };
    return [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; };
  }

  /// A text column against a text.
  Result<Vector> compared(const Syntax& name, const std::string& sign,
                          const std::string& text) const {
    if (name.kind != Syntax::Kind::name || (sign != "==" && sign != "!="))
      return Error{table_.source, fmt::format("expected COLUMN == \"{}\" or !=", text)};
    const auto found = find(name.text);
    if (!found) return found.error();
    Vector result(rows());
    for (std::size_t row = 0; row < table_.rows(); ++row)
      result[static_cast<Index>(row)] =
          (*found)->missing(row)
              ? missing_value
              : static_cast<double>(((*found)->text(row) == text) == (sign == "=="));
    return result;
  }

  /// Missing where an operand is; an error where the result is not finite.
  Result<Vector> each(const Syntax& syntax, const Vector& a, const Vector& b,
                      const std::function<double(double, double)>& apply) const {
    Vector result(rows());
    for (Index row = 0; row < rows(); ++row) {
      const bool missing = std::isnan(a[row]) || std::isnan(b[row]);
      result[row] = missing ? missing_value : apply(a[row], b[row]);
      if (!missing && !std::isfinite(result[row]))
        return Error{table_.where(static_cast<std::size_t>(row)),
                     fmt::format("{} is not a finite number", canonical(syntax))};
    }
    return result;
  }

  const Table& table_;
  const FillValues& fill_;
};

}  // namespace

std::optional<double> days_since_1970(std::string_view text) {
  if (text.size() != 10 || (text[4] != '-' && text[4] != '/') || text[7] != text[4])
    return std::nullopt;
  const auto year = parse_integer(text.substr(0, 4)), month = parse_integer(text.substr(5, 2)),
             day = parse_integer(text.substr(8, 2));
  if (!year || !month || !day || *month < 1 || *day < 1) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

Result<Vector> evaluate(const Syntax& expression, const Table& table, const FillValues& fill) {
  return Evaluator(table, fill).value(expression);
}

}  // namespace grove
