#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/syntax.h"

namespace grove {

/// What terms are products of: an expression that gives numbers, or a factor. A column that stands
/// alone becomes a factor where it holds texts, which is found when the encoding is agreed.
struct Variable {
  std::string name;  ///< as patsy writes it
  Syntax expression;
  bool is_factor = false;      ///< by C() or factor()
  std::string column = {};     ///< of a factor or of a column that stands alone
  std::string reference = {};  ///< of a factor, where given
};

/// A product of variables, by position in Formula::variables, ascending.
struct Term {
  std::vector<std::size_t> variables;
  TextRange range;

  bool operator==(const Term& other) const { return variables == other.variables; }
};

struct Response {
  std::string name;
  Syntax expression;
  std::string column = {};      ///< where the response is a column, or C() of one
  std::string reference = {};   ///< class that is compared with, where given by C(c, ref=LEVEL)
  std::optional<Syntax> event;  ///< of Surv(time, event)
};

/// `response ~ terms` in the grammar of R and patsy.
struct Formula {
  std::string text;
  Response response;
  std::vector<Variable> variables;
  std::vector<Term> terms;  ///< main effects first, then products of two, ...; no intercept
  bool intercept = true;
  std::vector<Syntax> offsets;

  std::string name_of(const Term& term) const;
  /// The columns that the formula reads, each once; the response's first.
  std::vector<std::string> columns() const;
};

/// Parses a formula over a table with these columns; `.` stands for those that the response does
/// not read. Errors have a caret below the place.
Result<Formula> parse_formula(std::string_view text, std::span<const std::string> columns);

}  // namespace grove
