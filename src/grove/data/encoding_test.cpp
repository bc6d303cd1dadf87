#include "grove/data/encoding.h"

#include <cmath>

#include <gtest/gtest.h>

#include "grove/data/design.h"

namespace grove {
namespace {

struct Sites {
  std::vector<Table> tables;
  Encoding encoding;
  std::vector<Design> designs;
  std::string error;
};

Sites sites_of(std::string_view formula, const std::vector<std::string>& texts,
               TableRoles roles = {}) {
  Sites sites;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const std::string name = std::string(1, static_cast<char>('a' + k)) + ".csv";
    auto table = parse_table(texts[k], name);
    if (!table) return {.error = table.error().text()};
    sites.tables.push_back(std::move(*table));
  }
  const auto parsed = parse_formula(formula, sites.tables[0].names());
  if (!parsed) return {.error = parsed.error().text()};
  TableSummary all;
  for (const Table& table : sites.tables) {
    const auto summary = summarize(table, *parsed, roles);
    if (!summary) return {.error = summary.error().text()};
    merge(*summary, all);
  }
  auto encoding = agree(*parsed, roles, all);
  if (!encoding) return {.error = encoding.error().text()};
  sites.encoding = std::move(*encoding);
  for (const Table& table : sites.tables) {
    auto design = make_design(table, sites.encoding);
    if (!design) return {.error = design.error().text()};
    sites.designs.push_back(std::move(*design));
  }
  return sites;
}

std::vector<std::string> names_of(const Sites& sites) {
  std::vector<std::string> names;
  for (const DesignColumn& column : sites.encoding.columns) names.push_back(column.name);
  return names;
}

const DenseRows& rows_of(const Design& design) {
  return std::get<DenseRows>(design.samples.features);
}

using Names = std::vector<std::string>;

TEST(Encoding, TakesTheUnionOfLevelsOverTheSites) {
  const Sites sites = sites_of("y ~ C(rank) + prog",
                               {"y,rank,prog\n1,2,b\n2,10,b\n", "prog,y,rank\na,3,1\nc,4,2\n"});
  ASSERT_EQ(sites.error, "");
  EXPECT_EQ(names_of(sites), (Names{"C(rank)[T.2]", "C(rank)[T.10]", "prog[T.b]", "prog[T.c]"}));
  DenseRows first(2, 4), second(2, 4);
  first << 1, 0, 1, 0, 0, 1, 1, 0;
  second << 0, 0, 0, 0, 1, 0, 0, 1;
  EXPECT_EQ(rows_of(sites.designs[0]), first);
  EXPECT_EQ(rows_of(sites.designs[1]), second);
  EXPECT_EQ(sites.designs[1].samples.targets, (Vector(2) << 3, 4).finished());
}

TEST(Encoding, TakesTheReferenceLevelThatIsGiven) {
  const std::vector<std::string> text{"y,p\n1,a\n2,b\n3,c\n"};
  EXPECT_EQ(names_of(sites_of("y ~ C(p, ref=b)", text)),
            (Names{"C(p, ref=b)[T.a]", "C(p, ref=b)[T.c]"}));
  EXPECT_NE(sites_of("y ~ C(p, ref=z)", text).error.find("no level `z`"), std::string::npos);
}

/// patsy 0.5.3 names the same columns for these formulas.
TEST(Encoding, CodesInteractionsWithoutCollinearColumns) {
  const std::vector<std::string> text{"y,p,q,x\n1,a,u,5\n2,b,v,7\n3,a,v,9\n4,b,u,1\n"};
  EXPECT_EQ(names_of(sites_of("y ~ 0 + p + q", text)), (Names{"p[a]", "p[b]", "q[T.v]"}));
  EXPECT_EQ(names_of(sites_of("y ~ p*x", text)), (Names{"p[T.b]", "x", "p[T.b]:x"}));
  EXPECT_EQ(names_of(sites_of("y ~ p:x", text)), (Names{"p[a]:x", "p[b]:x"}));
  EXPECT_EQ(names_of(sites_of("y ~ p*q", text)), (Names{"p[T.b]", "q[T.v]", "p[T.b]:q[T.v]"}));
}

TEST(Encoding, EvaluatesExpressions) {
  const Sites sites = sites_of("log(y) ~ I(a == 3) + I(2 * a - 1) + sqrt(a) + I(p == \"u\") + a:b",
                               {"y,a,b,p\n1,4,2,u\n2,9,3,v\n"});
  ASSERT_EQ(sites.error, "");
  DenseRows expected(2, 5);
  expected << 0, 7, 2, 1, 8, 0, 17, 3, 0, 27;
  EXPECT_EQ(rows_of(sites.designs[0]), expected);
  EXPECT_DOUBLE_EQ(sites.designs[0].samples.targets[1], std::log(2));
  EXPECT_NE(
      sites_of("y ~ log(a)", {"y,a\n1,4\n2,0\n"}).error.find("a.csv:3: log(a) is not a finite"),
      std::string::npos);
}

TEST(Encoding, ReadsDatesAndRefusesThemOtherwise) {
  const std::vector<std::string> text{"y,d\n1,1970-01-02\n2,2024-02-29\n"};
  EXPECT_EQ(rows_of(sites_of("y ~ date(d)", text).designs[0])(1, 0), 19782);
  EXPECT_NE(sites_of("y ~ d", text).error.find("date(d)"), std::string::npos);
}

TEST(Encoding, MapsLabelsThatAgreeAndNamesSitesThatDoNot) {
  const TableRoles roles{.response = ResponseKind::two_classes};
  const Sites sites = sites_of("y ~ x", {"y,x\nyes,1\nno,2\n", "y,x\nno,4\nno,3\n"}, roles);
  EXPECT_EQ(sites.encoding.classes, (Names{"no", "yes"}));
  EXPECT_EQ(sites.designs[0].samples.targets, (Vector(2) << 1, 0).finished());
  const std::string error = sites_of("y ~ x", {"y,x\n1,1\n0,2\n", "y,x\n1,4\n2,3\n"}, roles).error;
  EXPECT_NE(error.find("a.csv has 0, 1; b.csv has 1, 2"), std::string::npos) << error;
  EXPECT_TRUE(sites_of("y ~ x", {"y,x\n0.25,1\n0.5,2\n1,3\n"}, roles).encoding.classes.empty());
}

TEST(Encoding, DropsRowsWithMissingCellsAndCountsThem) {
  const Sites sites = sites_of("y ~ x", {"y,x,other\n1,2,NA\nNA,1,1\n3,,1\n4,5,1\n"});
  EXPECT_EQ(sites.designs[0].rows, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(sites.designs[0].dropped, 2U);
  EXPECT_EQ(sites.designs[0].missing.at("x"), 1U);
}

TEST(Encoding, FillsMissingNumbersWithTheMeanOfTheNetwork) {
  const std::vector<std::string> texts{"y,x,p\n1,2,u\n2,,v\n", "y,x,p\n3,6,u\n4,4,\n"};
  const Sites mean = sites_of("y ~ x", texts, {.missing = MissingPolicy::mean});
  EXPECT_EQ(rows_of(mean.designs[0]), (DenseRows(2, 1) << 2, 4).finished());
  const Sites both = sites_of("y ~ x + p", texts, {.missing = MissingPolicy::indicator});
  EXPECT_EQ(names_of(both), (Names{"x", "p[T.v]", "p[T.missing]", "missing(x)"}));
  EXPECT_EQ(rows_of(both.designs[0]), (DenseRows(2, 4) << 2, 0, 0, 0, 4, 1, 0, 1).finished());
  EXPECT_EQ(rows_of(both.designs[1]), (DenseRows(2, 4) << 6, 0, 0, 0, 4, 0, 1, 0).finished());
  EXPECT_NE(sites_of("y ~ x", texts, {.missing = MissingPolicy::refuse})
                .error.find("a.csv:3: column `x`"),
            std::string::npos);
}

TEST(Encoding, NamesSiteAndColumnOfBadInput) {
  EXPECT_NE(sites_of("y ~ x", {"y,x\n1,2\n", "y,z\n1,2\n"}).error.find("b.csv: has no column `x`"),
            std::string::npos);
  EXPECT_NE(sites_of("y ~ x", {"y,x\n1,2\n2,3\n3,12O\n"}).error.find("a.csv:4: column `x`"),
            std::string::npos);
  const std::string mixed = sites_of("y ~ x", {"y,x\n1,2\n", "y,x\n1,u\n2,v\n"}).error;
  EXPECT_NE(mixed.find("numbers at a.csv and texts, as `u`, at b.csv"), std::string::npos) << mixed;
  EXPECT_NE(sites_of("y ~ p", {"y,p\n1,u\n2,u\n"}).error.find("one level `u`"), std::string::npos);
  EXPECT_NE(
      sites_of("Surv(y, e) ~ p", {"y,e,p\n1,0,5\n2,2,1\n"}, {.response = ResponseKind::survival})
          .error.find("a.csv:3: e: expected the event as 0 or 1, found 2"),
      std::string::npos);
}

/// Two passes over rows near 1e9 with a deviation of 1: sums of squares would lose all digits.
TEST(DesignMoments, MergeLikeOnePassOverAllRows) {
  const Sites apart =
      sites_of("y ~ x", {"y,x\n1,1000000001\n2,1000000002\n", "y,x\n3,1000000003\n4,1000000006\n"});
  DesignMoments moments;
  for (const Design& design : apart.designs) merge(moments_of(design), moments);
  EXPECT_EQ(moments.rows, 4);
  EXPECT_DOUBLE_EQ(moments.mean[0], 1000000003);
  EXPECT_DOUBLE_EQ(moments.deviations()[0], std::sqrt(3.5));
  EXPECT_DOUBLE_EQ(moments.response_mean, 2.5);
}

}  // namespace
}  // namespace grove
