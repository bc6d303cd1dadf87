#include "grove/data/formula.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

const std::vector<std::string> columns{"y", "a", "b", "c", "my column", "time", "event"};

/// Names of the terms, `0` in front where there is no intercept.
std::string terms_of(std::string_view text) {
  const auto formula = parse_formula(text, columns);
  if (!formula) return formula.error().text();
  std::string names = formula->intercept ? "1" : "0";
  for (const Term& term : formula->terms) names += " " + formula->name_of(term);
  return names;
}

/// The answers are those of patsy 0.5.3 (`ModelDesc.from_formula`), but for the order of factors
/// within a term.
TEST(Formula, FollowsTheAlgebraOfPatsy) {
  EXPECT_EQ(terms_of("y ~ a + b"), "1 a b");
  EXPECT_EQ(terms_of("y ~ a*b"), "1 a b a:b");
  EXPECT_EQ(terms_of("y ~ (a + b + c)^2"), "1 a b c a:b a:c b:c");
  EXPECT_EQ(terms_of("y ~ (a + b + c)**3 - a:b:c"), "1 a b c a:b a:c b:c");
  EXPECT_EQ(terms_of("y ~ a:b + a"), "1 a a:b");
  EXPECT_EQ(terms_of("y ~ a*b*c - a:c"), "1 a b c a:b b:c a:b:c");
  EXPECT_EQ(terms_of("y ~ 0 + a"), "0 a");
  EXPECT_EQ(terms_of("y ~ a - 1"), "0 a");
  EXPECT_EQ(terms_of("y ~ -1 + a"), "0 a");
  EXPECT_EQ(terms_of("y ~ 1"), "1");
  EXPECT_EQ(terms_of("y ~ a + a"), "1 a");
  EXPECT_EQ(terms_of("y ~ (a + b):c"), "1 a:c b:c");
  EXPECT_EQ(terms_of("y ~ a + (b - b)"), "1 a");
}

TEST(Formula, NamesTermsAsPatsyDoes) {
  EXPECT_EQ(terms_of("y~I(a==3)"), "1 I(a == 3)");
  EXPECT_EQ(terms_of("y~log(a)+I(a**2/b)"), "1 log(a) I(a ^ 2 / b)");
  EXPECT_EQ(terms_of("y ~ C(a) + factor(b)"), "1 C(a) factor(b)");
  EXPECT_EQ(terms_of("y ~ C(a, ref=General)"), "1 C(a, ref=General)");
  EXPECT_EQ(terms_of("y ~ `my column`"), "1 `my column`");
}

TEST(Formula, DotStandsForTheOtherColumns) {
  EXPECT_EQ(terms_of("Surv(time, event) ~ . - `my column`"), "1 y a b c");
}

TEST(Formula, ReadsResponsesAndOffsets) {
  const auto formula = parse_formula("Surv(time, event) ~ a + offset(log(b))", columns);
  ASSERT_TRUE(formula);
  EXPECT_TRUE(formula->response.event);
  EXPECT_EQ(formula->response.name, "Surv(time, event)");
  ASSERT_EQ(formula->offsets.size(), 1U);
  EXPECT_EQ(canonical(formula->offsets[0]), "log(b)");
  EXPECT_EQ(formula->columns(), (std::vector<std::string>{"time", "event", "a", "b"}));
}

TEST(Formula, PutsACaretUnderTheMistake) {
  for (const char* text : {"y = a + b", "y a"})
    EXPECT_NE(terms_of(text).find("expected RESPONSE ~ TERMS"), std::string::npos) << text;
  EXPECT_EQ(terms_of("y ~ a + gpaa"),
            "formula: there is no column `gpaa`\n"
            "  y ~ a + gpaa\n"
            "          ^^^^");
  EXPECT_EQ(terms_of("y ~ (a + b"),
            "formula: expected this ( to be closed\n"
            "  y ~ (a + b\n"
            "      ^");
  EXPECT_EQ(terms_of("y ~ a +"),
            "formula: expected a term, found the end\n"
            "  y ~ a +\n"
            "         ^");
  EXPECT_EQ(terms_of("y ~ log(a"),
            "formula: expected this ( to be closed\n"
            "  y ~ log(a\n"
            "         ^");
  EXPECT_NE(terms_of("y ~ sin(a)").find("`sin` is unknown"), std::string::npos);
  EXPECT_NE(terms_of("y ~ a / b").find("I(a / b)"), std::string::npos);
  EXPECT_NE(terms_of("y + a").find("expected RESPONSE ~ TERMS"), std::string::npos);
  EXPECT_NE(terms_of("y ~ a)").find("none is open"), std::string::npos);
  EXPECT_NE(terms_of("y ~ a $ b").find("'$' has no meaning"), std::string::npos);
  EXPECT_NE(terms_of("y ~ tim").find("nearest name is `time`"), std::string::npos);
}

TEST(Formula, BearsAnyText) {
  // Short texts over the characters of formulas: an error or a formula, never a crash.
  constexpr std::string_view letters = "ya1.~+-:*^()`\"=, CI<";
  std::uint64_t state = 1;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text;
    for (int k = 0; k < 12; ++k) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text += letters[(state >> 33) % letters.size()];
    }
    (void)parse_formula(text, columns);
  }
}

}  // namespace
}  // namespace grove
