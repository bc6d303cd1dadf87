#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grove/base/result.h"

namespace grove {

/// Places in a formula, in bytes.
struct TextRange {
  std::size_t begin = 0, end = 0;
};

/// A node of a parsed formula. Operators mean arithmetic inside I() and functions, and the algebra
/// of terms outside.
struct Syntax {
  enum class Kind { number, text, name, dot, call, unary, binary };
  Kind kind = Kind::name;
  std::string text = {};  ///< name, function, operator or quoted text
  double number = 0;
  std::vector<Syntax> children = {};       ///< operands or arguments
  std::vector<std::string> keywords = {};  ///< of a call, by argument: "ref", or empty
  TextRange range = {};
};

/// Parses `response ~ terms` or an expression, with R's precedence. An error shows the formula and
/// a caret below the place.
Result<Syntax> parse_syntax(std::string_view formula);

/// The text of an expression with one space around operators, as patsy names terms.
std::string canonical(const Syntax& syntax);

/// `what`, and below it the formula with carets under the range.
Error formula_error(std::string_view formula, TextRange range, std::string what);

/// The names of columns that an expression reads, each once.
void collect_columns(const Syntax& syntax, std::vector<std::string>& columns);

}  // namespace grove
