#include "grove/train/fit.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "grove/base/random.h"
#include "grove/train/newton_polish.h"

namespace grove {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "/grove-fit-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }

 private:
  fs::path path_;
};

Config usual() {
  Config config;
  config.no_reference = true;
  return config;
}

Result<Fit> fit_tables(const std::string& formula, const std::vector<std::string>& texts,
                       const std::string& family, FitOptions options = {},
                       const Config& config = usual()) {
  const Folder folder;
  options.formula = formula;
  options.family = *Family::parse(family);
  for (std::size_t k = 0; k < texts.size(); ++k)
    options.sites.push_back(folder.write(fmt::format("s{}.csv", k), texts[k]));
  const auto data = read_fit_data(options, config);
  if (!data) return data.error();
  return fit(options, config, *data);
}

std::string error_of(const Result<Fit>& fit) { return fit ? "" : fit.error().text(); }

/// A row of every kind of response; p has three levels, x and z are numbers.
struct Row {
  std::string cells;
};
constexpr const char* header = "y,count,size,label,time,event,x,z,p\n";

std::vector<Row> rows_of(std::size_t count, std::uint64_t seed) {
  KeyedRandom random({.seed = seed, .purpose = Purpose::synthetic});
  std::vector<Row> rows;
  for (std::size_t k = 0; k < count; ++k) {
    const double x = 10 + 3 * random.normal(), z = random.normal();
    const int p = static_cast<int>(3 * random.uniform());
    const double eta = 0.1 * x - 0.4 * z + 0.3 * p - 1;
    rows.push_back({fmt::format("{},{},{},{},{},{},{},{},{}\n", eta + random.normal(),
                                std::floor(std::exp(eta) * 2 * random.uniform()),
                                std::exp(eta) * (0.2 + random.uniform()),
                                random.uniform() < 1 / (1 + std::exp(-eta)) ? "yes" : "no",
                                std::ceil(10 * random.uniform() / std::exp(eta / 2)),
                                random.uniform() < 0.7 ? 1 : 0, x, z, "abc"[p])});
  }
  return rows;
}

std::string table_of(const std::vector<Row>& rows, std::size_t first, std::size_t last) {
  std::string text = header;
  for (std::size_t k = first; k < last; ++k) text += rows[k].cells;
  return text;
}

void expect_same_table(const Inference& a, const Inference& b, double tolerance) {
  ASSERT_EQ(a.table.size(), b.table.size());
  for (std::size_t k = 0; k < a.table.size(); ++k) {
    const CoefficientRow &left = a.table[k], &right = b.table[k];
    EXPECT_EQ(left.name, right.name);
    EXPECT_NEAR(left.estimate, right.estimate, tolerance * (1e-3 + std::abs(right.estimate)))
        << left.name;
    ASSERT_EQ(left.std_error.has_value(), right.std_error.has_value());
    if (!left.std_error) continue;
    EXPECT_NEAR(*left.std_error, *right.std_error, tolerance * *right.std_error) << left.name;
    EXPECT_NEAR(*left.p_value, *right.p_value, tolerance) << left.name;
  }
  EXPECT_NEAR(a.deviance, b.deviance, tolerance * std::abs(b.deviance));
  EXPECT_NEAR(*a.aic, *b.aic, tolerance * std::abs(*b.aic));
}

/// The same rows as numbers and codes of texts, as programs have them.
Table in_memory(const std::string& name, const std::string& csv) {
  const auto parsed = parse_table(csv, name);
  auto table = make_table(name, parsed->columns);
  EXPECT_TRUE(table) << table.error().text();
  return table ? *table : Table{};
}

TEST(FitOnTablesInMemory, IsTheFitOnTheSameRowsInFiles) {
  const std::vector<Row> rows = rows_of(120, 3);
  const std::vector<std::string> texts{table_of(rows, 0, 50), table_of(rows, 50, 120)};
  for (const char* family : {"binomial", "multinomial"}) {
    const std::string formula = family == std::string("binomial") ? "label ~ x + z*p" : "p ~ x + z";
    const auto files = fit_tables(formula, texts, family);
    ASSERT_TRUE(files) << error_of(files);
    const FitOptions options{
        .formula = formula, .sites = {"a", "b"}, .family = *Family::parse(family)};
    const auto data =
        make_fit_data(options, usual(), {in_memory("a", texts[0]), in_memory("b", texts[1])});
    ASSERT_TRUE(data) << data.error().text();
    const auto memory = fit(options, usual(), *data);
    ASSERT_TRUE(memory) << error_of(memory);
    EXPECT_EQ(memory->model.coefficients, files->model.coefficients);
    EXPECT_EQ(memory->model.intercepts, files->model.intercepts);
    EXPECT_EQ(memory->model.sites[1].name, "b");
    EXPECT_EQ(memory->record.config["data"], (nlohmann::json{"a", "b"}));
  }
  const auto none = make_fit_data({.formula = "y ~ x"}, usual(), {});
  EXPECT_EQ(none.error().text(), "sites: expected at least one table, found none");
}

TEST(FitOnTablesInMemory, NamesTheRowOfABadResponse) {
  const FitOptions options{.formula = "y ~ x", .family = *Family::parse("poisson")};
  const auto table = make_table(
      "ward", {{.name = "y", .numbers = {1, 2, -3}}, {.name = "x", .numbers = {1, 2, 4}}});
  const auto data = make_fit_data(options, usual(), {*table});
  EXPECT_EQ(data.error().where, "ward, row 2");
}

/// q of the normal distribution for 0.9 is 1.6449, of Student's with 3 degrees of freedom 2.3534
/// (tables in any textbook).
TEST(Inference, HasTheQuantilesOfTextbooks) {
  EXPECT_NEAR(interval_quantile({.uses_t = false}, 0.9), 1.644853627, 1e-9);
  EXPECT_NEAR(interval_quantile({.uses_t = true, .df_residual = 3}, 0.9), 2.353363435, 1e-9);
}

TEST(Fit, HasProbabilitiesOfClassesThatSumToOne) {
  // Scores 0, log 2 and log 3: probabilities 1/6, 2/6 and 3/6, whatever is added to all scores.
  const Vector some = class_probabilities(Eigen::RowVector2d(std::log(2.0), std::log(3.0)));
  EXPECT_NEAR((some - Eigen::Vector3d(1, 2, 3) / 6).norm(), 0, 1e-15);
  const Vector certain = class_probabilities(Eigen::RowVector2d(-1e4, 1e4));
  EXPECT_NEAR((certain - Eigen::Vector3d(0, 0, 1)).norm(), 0, 1e-300);
}

struct Case {
  const char* formula;
  const char* family;
};
const std::vector<Case> cases{
    {"y ~ x + z*p", "gaussian"},      {"label ~ x + z + p", "binomial"},
    {"count ~ x + z + p", "poisson"}, {"count ~ x + offset(z)", "negative-binomial:2"},
    {"size ~ log(x) + p", "gamma"},   {"p ~ x + z", "multinomial"}};

/// (Cox's model is stratified by site: its risk sets, and so its answer, depend on the sites.)
TEST(Fit, GivesTheSameTableForAnySplitOfRowsIntoSites) {
  const std::vector<Row> rows = rows_of(120, 3);
  for (const auto& [formula, family] : cases)
    for (const bool robust : {false, true}) {
      const FitOptions options{.robust = robust};
      const auto one = fit_tables(formula, {table_of(rows, 0, 120)}, family, options);
      ASSERT_TRUE(one) << formula << ": " << error_of(one);
      const auto three = fit_tables(
          formula, {table_of(rows, 0, 7), table_of(rows, 7, 80), table_of(rows, 80, 120)}, family,
          options);
      ASSERT_TRUE(three) << formula << ": " << error_of(three);
      EXPECT_EQ(three->record.outcome.status, RunStatus::converged);
      expect_same_table(three->model.inference, one->model.inference, 1e-9);
    }
}

TEST(Fit, DealsASingleFileToAgents) {
  const std::vector<Row> rows = rows_of(90, 4);
  Config config = usual();
  config.agents = 4;
  config.agents_given = true;
  const auto one = fit_tables("count ~ x + z", {table_of(rows, 0, 90)}, "poisson");
  const auto four = fit_tables("count ~ x + z", {table_of(rows, 0, 90)}, "poisson", {}, config);
  ASSERT_TRUE(one && four) << error_of(four);
  EXPECT_EQ(four->record.problem.agents, 4U);
  expect_same_table(four->model.inference, one->model.inference, 1e-9);
}

TEST(Fit, DoesNotDependOnTheOrderOfColumnsAndRows) {
  const std::string a = "y,x,p\n1,2,u\n3,5,v\n2,2,u\n4,9,v\n", b = "y,x,p\n5,1,u\n6,3,v\n";
  const std::string permuted = "p,y,x\nv,6,3\nu,5,1\n";
  const auto plain = fit_tables("y ~ x + p", {a, b}, "gaussian");
  const auto other = fit_tables("y ~ x + p", {permuted, a}, "gaussian");
  ASSERT_TRUE(plain && other) << error_of(plain) << error_of(other);
  expect_same_table(other->model.inference, plain->model.inference, 1e-9);
}

/// A weight of k is a row k times; a fraction s/k with weight k is s successes of k.
TEST(Fit, TakesWeightsAsNumbersOfRows) {
  const std::string weighted = "s,w,x\n0.25,4,1\n0.5,2,2\n1,3,3\n0,2,0\n";
  const std::string whole =
      "s,w,x\n1,1,1\n0,1,1\n0,1,1\n0,1,1\n1,1,2\n0,1,2\n1,1,3\n1,1,3\n1,1,3\n"
      "0,1,0\n0,1,0\n";
  const FitOptions options{.roles = {.weights = "w"}};
  const auto a = fit_tables("s ~ x", {weighted}, "binomial", options);
  const auto b = fit_tables("s ~ x", {whole}, "binomial");
  ASSERT_TRUE(a && b) << error_of(a) << error_of(b);
  for (std::size_t k = 0; k < 2; ++k) {
    const CoefficientRow &left = a->model.inference.table[k], &right = b->model.inference.table[k];
    EXPECT_NEAR(left.estimate, right.estimate, 1e-10);
    EXPECT_NEAR(*left.std_error, *right.std_error, 1e-10);
  }
}

TEST(Fit, NamesWhatIsSeparated) {
  const auto fit = fit_tables(
      "y ~ x + z", {"y,x,z\n0,1,5\n0,2,1\n0,3,9\n", "y,x,z\n1,4,3\n1,5,8\n1,6,1\n"}, "binomial");
  EXPECT_NE(error_of(fit).find("is separated"), std::string::npos) << error_of(fit);
  EXPECT_NE(error_of(fit).find("x"), std::string::npos);
  const auto zeros =
      fit_tables("y ~ p", {"y,p\n1,a\n2,a\n1,a\n", "y,p\n0,b\n0,b\n0,b\n"}, "poisson");
  EXPECT_NE(error_of(zeros).find("along p[T.b]"), std::string::npos) << error_of(zeros);
}

/// One event among 500 rows at x = 0: the rate there is small, but estimable.
std::string rare_events(int site) {
  std::string text = "y,x\n";
  for (int row = 0; row < 500; ++row)
    text += fmt::format("{},{}\n", row % 2 == 0 ? (row == 8 && site == 0) : row % 7, row % 2);
  return text;
}

// By every method, however far it comes before the loss fades into rounding. Rare
// events are no separation.
TEST(Fit, NamesWhatIsSeparatedAfterAnyMethod) {
  for (const Method method : {Method::automatic, Method::druid_vl}) {
    Config config = usual();
    config.method = method;
    const auto separated =
        fit_tables("y ~ p + x", {"y,p,x\n1,a,1\n2,a,2\n1,a,4\n", "y,p,x\n0,b,2\n0,b,1\n0,b,5\n"},
                   "poisson", {}, config);
    EXPECT_NE(error_of(separated).find("along p[T.b]"), std::string::npos) << error_of(separated);
    const auto rare = fit_tables("y ~ x", {rare_events(0), rare_events(1)}, "poisson", {}, config);
    ASSERT_EQ(error_of(rare), "");
    EXPECT_NEAR(rare->model.inference.table[0].estimate, std::log(1.0 / 500), 1e-9);
  }
}

// Offsets that spread the means over many decades are no separation; the mean of y is e^1 times
// what the offset says. Those that no mean can have are refused.
TEST(Fit, TakesOffsetsOfAnySize) {
  std::string tables[2];
  for (std::string& table : tables) table = "y,x,o\n";
  for (int row = 0; row < 60; ++row) {
    const double offset = row % 20;
    tables[row % 2] += fmt::format("{:.0f},{},{}\n", std::round(std::exp(offset + 1)),
                                   row % 3 == 0 ? 1 : 0, offset);
  }
  for (const Method method : {Method::automatic, Method::druid_vl}) {
    Config config = usual();
    config.method = method;
    const auto fit = fit_tables("y ~ x + offset(o)", {tables[0], tables[1]}, "poisson", {}, config);
    ASSERT_EQ(error_of(fit), "");
    EXPECT_NEAR(fit->model.inference.table[0].estimate, 1, 1e-4);
    const auto overflow =
        fit_tables("y ~ x + offset(I(o * 1e4))", {tables[0], tables[1]}, "poisson", {}, config);
    EXPECT_NE(error_of(overflow), "");
  }
}

// Sums of a table have no noise.
TEST(Fit, RefusesDifferentialPrivacy) {
  Config config = usual();
  config.dp = "epsilon=1,delta=1e-6,bound=2";
  const auto fit =
      fit_tables("y ~ x", {"y,x\n0,1\n1,2\n", "y,x\n1,0\n0,3\n"}, "binomial", {}, config);
  EXPECT_EQ(error_of(fit).substr(0, 4), "--dp");
}

TEST(Fit, NamesTheSiteThatLacksAColumn) {
  for (const bool first : {true, false}) {
    const std::string with = "y,x,z\n1,2,3\n2,2,1\n", without = "y,x\n1,2\n2,3\n";
    const auto fit =
        fit_tables("y ~ x + z", {first ? without : with, first ? with : without}, "gaussian");
    EXPECT_NE(error_of(fit).find(first ? "s0.csv: has no column `z`" : "s1.csv: has no column `z`"),
              std::string::npos)
        << error_of(fit);
  }
}

TEST(Fit, NamesCollinearAndConstantColumns) {
  const auto twice = fit_tables(
      "y ~ x + z + u", {"y,x,z,u\n1,1,2,3\n2,2,4,1\n", "y,x,z,u\n3,5,10,2\n0,4,8,7\n9,1,2,4\n"},
      "gaussian");
  EXPECT_NE(error_of(twice).find("the columns x, z are collinear"), std::string::npos)
      << error_of(twice);
  const auto constant =
      fit_tables("y ~ x + z", {"y,x,z\n1,1,2\n2,2,2\n", "y,x,z\n3,5,2\n"}, "gaussian");
  EXPECT_NE(error_of(constant).find("`z` is 2 in all rows of all sites; expected a term that "
                                    "varies\n  y ~ x + z\n          ^"),
            std::string::npos)
      << error_of(constant);
}

TEST(Fit, NamesTheRowOfAResponseThatTheFamilyDoesNotHave) {
  const auto negative = fit_tables("y ~ x", {"y,x\n1,1\n2,2\n", "y,x\n3,5\n-1,4\n"}, "poisson");
  EXPECT_NE(error_of(negative).find("s1.csv:3: response of family poisson: expected a count"),
            std::string::npos)
      << error_of(negative);
  const auto zero = fit_tables("y ~ x", {"y,x\n1,1\n0,2\n"}, "gamma");
  EXPECT_NE(error_of(zero).find("s0.csv:3"), std::string::npos) << error_of(zero);
}

/// Counts of e^18: Newton's method from zero would overflow.
TEST(Fit, BearsLargeCounts) {
  const auto fit =
      fit_tables("y ~ x", {"y,x\n60000000,1\n70000000,2\n", "y,x\n90000000,3\n"}, "poisson");
  ASSERT_TRUE(fit) << error_of(fit);
  EXPECT_EQ(fit->record.outcome.status, RunStatus::converged);
  EXPECT_TRUE(std::isfinite(fit->model.inference.deviance));
}

TEST(Fit, ModelsAreReadBackExactly) {
  const std::vector<Row> rows = rows_of(60, 9);
  for (const auto& [formula, family] : cases) {
    const auto fit = fit_tables(formula, {table_of(rows, 0, 30), table_of(rows, 30, 60)}, family);
    ASSERT_TRUE(fit) << error_of(fit);
    const nlohmann::json json = to_json(fit->model);
    const auto back = fitted_model_from_json(json);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(to_json(*back).dump(), json.dump());
    EXPECT_EQ(summary_text(*back), summary_text(fit->model));
  }
}

std::vector<std::string> public_sites(const std::string& name) {
  const char* folder = std::getenv("GROVE_DATA_DIR");
  const fs::path root = folder == nullptr ? fs::path(GROVE_SOURCE_DIR) / "../shared/data" : folder;
  std::vector<std::string> files;
  for (const char* site : {"a", "b", "c"}) {
    const fs::path file = root / "sites" / fmt::format("{}-{}.csv", name, site);
    if (fs::exists(file)) files.push_back(file.string());
  }
  return files;
}

/// glmnet 4.1: the lasso on standardized columns, coefficients in the original units.
TEST(Fit, LassoOnStandardizedColumnsIsGlmnets) {
  FitOptions options{.formula = "admit ~ gre + gpa + C(rank)",
                     .sites = public_sites("binomial"),
                     .family = {Family::Kind::binomial},
                     .standardize = true};
  if (options.sites.size() != 3)
    GTEST_SKIP() << "sites/binomial-*.csv are absent: set GROVE_DATA_DIR";
  Config config = usual();
  config.l1 = 0.02;
  const auto data = read_fit_data(options, config);
  ASSERT_TRUE(data) << data.error().text();
  const auto got = fit(options, config, *data);
  ASSERT_TRUE(got) << error_of(got);
  const std::vector<double> want{-3.58838568, 0.00173265938, 0.601911869,
                                 0,           -0.545699978,  -0.671030383};
  for (std::size_t k = 0; k < want.size(); ++k)
    EXPECT_NEAR(got->model.inference.table[k].estimate, want[k], 2e-8 * (1 + std::abs(want[k])));
  EXPECT_EQ(got->model.inference.kind, "none");
}

/// R: glm on the pooled rows without those of rank 4 at site a.
TEST(Fit, ALevelMayBeAbsentAtOneSite) {
  const auto files = public_sites("binomial");
  if (files.size() != 3) GTEST_SKIP() << "sites/binomial-*.csv are absent: set GROVE_DATA_DIR";
  std::string without;
  std::ifstream first(files[0]);
  for (std::string line; std::getline(first, line);)
    if (!line.ends_with(",4")) without += line + "\n";
  const Folder folder;
  const FitOptions options{.formula = "admit ~ gre + gpa + C(rank)",
                           .sites = {folder.write("a.csv", without), files[1], files[2]},
                           .family = {Family::Kind::binomial}};
  const auto data = read_fit_data(options, usual());
  ASSERT_TRUE(data) << data.error().text();
  const auto got = fit(options, usual(), *data);
  ASSERT_TRUE(got) << error_of(got);
  EXPECT_EQ(got->model.inference.samples, 379U);
  EXPECT_NEAR(got->model.inference.table[0].estimate, -3.89, 0.005);
  EXPECT_NEAR(got->model.inference.table[2].estimate, 0.765, 0.0005);
  EXPECT_NEAR(got->model.inference.deviance, 439, 0.5);
}

}  // namespace
}  // namespace grove
