#include "grove/data/syntax.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "grove/base/text.h"
#include "grove/data/number.h"

namespace grove {
namespace {

struct Token {
  enum class Kind { number, text, name, sign, end };
  Kind kind = Kind::end;
  std::string text = {};
  double number = 0;
  TextRange range = {};
};

bool is_letter(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         character == '_' || static_cast<unsigned char>(character) >= 0x80;
}
bool is_digit(char character) { return character >= '0' && character <= '9'; }

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  Result<Token> next() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n'))
      ++at_;
    const std::size_t begin = at_;
    if (begin == text_.size()) return token(Token::Kind::end, begin, begin);
    const char first = text_[begin];
    if (first == '`' || first == '"' || first == '\'') return quoted(first);
    if (is_digit(first) || (first == '.' && begin + 1 < text_.size() && is_digit(text_[begin + 1])))
      return number();
    if (is_letter(first) || first == '.') return name();
    static constexpr std::array<std::string_view, 6> pairs{"==", "!=", "<=", ">=", "**", "%%"};
    for (const std::string_view pair : pairs)
      if (text_.substr(begin).starts_with(pair)) return sign(2);
    if (std::string_view("+-*/:^()~,=<>!&|").find(first) != std::string_view::npos) return sign(1);
    std::size_t end = begin + 1;
    return formula_error(text_, {begin, end},
                         fmt::format("'{}' has no meaning in a formula", text_.substr(begin, 1)));
  }

 private:
  Token token(Token::Kind kind, std::size_t begin, std::size_t end) const {
    return {kind, std::string(text_.substr(begin, end - begin)), 0, {begin, end}};
  }

  Token sign(std::size_t length) {
    at_ += length;
    return token(Token::Kind::sign, at_ - length, at_);
  }

  Token name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.'))
      ++at_;
    return token(Token::Kind::name, begin, at_);
  }

  Result<Token> number() {
    const std::size_t begin = at_;
    double value = 0;
    const char* const end = read_number(text_.data() + begin, text_.data() + text_.size(), value);
    if (end == nullptr) return formula_error(text_, {begin, begin + 1}, "expected a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    Token result = token(Token::Kind::number, begin, at_);
    result.number = value;
    return result;
  }

  Result<Token> quoted(char quote) {
    const std::size_t begin = at_;
    const std::size_t close = text_.find(quote, begin + 1);
    if (close == std::string_view::npos)
      return formula_error(text_, {begin, begin + 1},
                           fmt::format("expected {} to be closed", quote));
    at_ = close + 1;
    Token result = token(quote == '`' ? Token::Kind::name : Token::Kind::text, begin + 1, close);
    result.range = {begin, at_};
    return result;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// R's operators from loose to tight; unary minus stands between : and *.
int precedence(std::string_view sign) {
  if (sign == "~") return 1;
  if (sign == "|") return 2;
  if (sign == "&") return 3;
  if (sign == "==" || sign == "!=" || sign == "<" || sign == "<=" || sign == ">" || sign == ">=")
    return 4;
  if (sign == "+" || sign == "-") return 5;
  if (sign == "*" || sign == "/") return 6;
  if (sign == ":") return 7;
  if (sign == "^" || sign == "**") return 9;
  return 0;
}
constexpr int unary_precedence = 8;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), tokens_(text) {}

  Result<Syntax> parse() {
    if (Status status = advance(); !status) return status.error();
    auto result = expression(1);
    if (!result) return result;
    if (token_.kind != Token::Kind::end)
      return fail(token_.text == ")" ? "expected no ) here: none is open" : "expected an operator");
    return result;
  }

 private:
  Status advance() {
    auto next = tokens_.next();
    if (!next) return next.error();
    token_ = std::move(*next);
    return success();
  }

  Error fail(std::string what) const {
    TextRange range = token_.range;
    if (range.end == range.begin) ++range.end;
    return formula_error(text_, range, std::move(what));
  }

  Result<Syntax> expression(int lowest) {
    if (depth_ > 200) return fail("is nested too deeply");
    ++depth_;
    auto left = operand();
    while (left && token_.kind == Token::Kind::sign) {
      const int strength = precedence(token_.text);
      if (strength < lowest || strength == 0) break;
      const std::string sign = token_.text == "**" ? "^" : token_.text;
      if (Status status = advance(); !status) return status.error();
      auto right = expression(sign == "^" ? strength : strength + 1);
      if (!right) return right;
      const TextRange range{left->range.begin, right->range.end};
      Syntax joined{.kind = Syntax::Kind::binary, .text = sign, .range = range};
      joined.children = {std::move(*left), std::move(*right)};
      left = std::move(joined);
    }
    --depth_;
    return left;
  }

  Result<Syntax> operand() {
    const Token token = token_;
    if (token.kind == Token::Kind::end) return fail("expected a term, found the end");
    if (Status status = advance(); !status) return status.error();
    switch (token.kind) {
      case Token::Kind::number:
        return Syntax{.kind = Syntax::Kind::number,
                      .text = token.text,
                      .number = token.number,
                      .range = token.range};
      case Token::Kind::text:
        return Syntax{.kind = Syntax::Kind::text, .text = token.text, .range = token.range};
      case Token::Kind::name:
        if (token_.kind == Token::Kind::sign && token_.text == "(") return call(token);
        return Syntax{.kind = token.text == "." ? Syntax::Kind::dot : Syntax::Kind::name,
                      .text = token.text,
                      .range = token.range};
      default:
        break;
    }
    if (token.text == "(") return parenthesis(token);
    if (token.text == "-" || token.text == "+" || token.text == "!" || token.text == "~")
      return unary(token);
    return formula_error(text_, token.range, "expected a term before it");
  }

  Result<Syntax> unary(const Token& token) {
    auto child = expression(token.text == "~" ? 2 : unary_precedence);
    if (!child) return child;
    Syntax result{.kind = Syntax::Kind::unary,
                  .text = token.text,
                  .range = {token.range.begin, child->range.end}};
    result.children.push_back(std::move(*child));
    return result;
  }

  Result<Syntax> parenthesis(const Token& open) {
    auto inside = expression(2);
    if (!inside) return inside;
    if (token_.text != ")" || token_.kind != Token::Kind::sign)
      return formula_error(text_, open.range, "expected this ( to be closed");
    const TextRange range{open.range.begin, token_.range.end};
    if (Status status = advance(); !status) return status.error();
    Syntax result{.kind = Syntax::Kind::unary, .text = "(", .range = range};
    result.children.push_back(std::move(*inside));
    return result;
  }

  Result<Syntax> call(const Token& name) {
    const TextRange open = token_.range;
    if (Status status = advance(); !status) return status.error();
    Syntax result{.kind = Syntax::Kind::call, .text = name.text, .range = name.range};
    while (!(token_.kind == Token::Kind::sign && token_.text == ")")) {
      auto argument = expression(2);
      if (!argument) return argument;
      std::string keyword;
      if (token_.text == "=" && argument->kind == Syntax::Kind::name) {
        keyword = argument->text;
        if (Status status = advance(); !status) return status.error();
        argument = expression(2);
        if (!argument) return argument;
      }
      result.children.push_back(std::move(*argument));
      result.keywords.push_back(std::move(keyword));
      if (token_.kind == Token::Kind::sign && token_.text == ",") {
        if (Status status = advance(); !status) return status.error();
      } else if (token_.text != ")") {
        return formula_error(text_, open, "expected this ( to be closed");
      }
    }
    result.range.end = token_.range.end;
    if (Status status = advance(); !status) return status.error();
    return result;
  }

  std::string_view text_;
  Tokenizer tokens_;
  Token token_;
  int depth_ = 0;
};

bool is_plain_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) && std::ranges::all_of(name, [](char character) {
    return is_letter(character) || is_digit(character) || character == '.';
  });
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

Result<Syntax> parse_syntax(std::string_view formula) { return Parser(formula).parse(); }

std::string canonical(const Syntax& syntax) {
  switch (syntax.kind) {
    case Syntax::Kind::number:
      return exact(syntax.number);
    case Syntax::Kind::text:
      return '"' + syntax.text + '"';
    case Syntax::Kind::name:
      return is_plain_name(syntax.text) ? syntax.text : '`' + syntax.text + '`';
    case Syntax::Kind::dot:
      return ".";
    case Syntax::Kind::unary:
      if (syntax.text == "(") return "(" + canonical(syntax.children[0]) + ")";
      return syntax.text + canonical(syntax.children[0]);
    case Syntax::Kind::binary:
      return canonical(syntax.children[0]) + " " + syntax.text + " " +
             canonical(syntax.children[1]);
    case Syntax::Kind::call:
      break;
  }
  std::string text = syntax.text + "(";
  for (std::size_t k = 0; k < syntax.children.size(); ++k) {
    if (k > 0) text += ", ";
    if (!syntax.keywords[k].empty()) text += syntax.keywords[k] + "=";
    text += canonical(syntax.children[k]);
  }
  return text + ")";
}

Error formula_error(std::string_view formula, TextRange range, std::string what) {
  const std::size_t begin = std::min(range.begin, formula.size());
  const std::size_t end = std::clamp(range.end, begin, formula.size());
  const std::size_t width =
      std::max<std::size_t>(1, code_points(formula.substr(begin, end - begin)));
  return {"formula", fmt::format("{}\n  {}\n  {}{}", what, formula,
                                 std::string(code_points(formula.substr(0, begin)), ' '),
                                 std::string(width, '^'))};
}

void collect_columns(const Syntax& syntax, std::vector<std::string>& columns) {
  if (syntax.kind == Syntax::Kind::name && std::ranges::find(columns, syntax.text) == columns.end())
    columns.push_back(syntax.text);
  for (std::size_t k = 0; k < syntax.children.size(); ++k)
    if (syntax.keywords.empty() || syntax.keywords[k].empty())
      collect_columns(syntax.children[k], columns);
}

}  // namespace grove
