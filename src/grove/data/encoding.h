#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "grove/base/result.h"
#include "grove/data/expression.h"
#include "grove/data/formula.h"
#include "grove/data/table.h"

/// What sites agree on before round 1, without sending rows: each summarizes its own table, the
/// summaries are merged, and the encoding follows from the merged one alone.
namespace grove {

/// What a family makes of the response.
enum class ResponseKind { number, two_classes, classes, survival };

/// What happens to rows with missing cells. `mean` puts the network's mean in the place of missing
/// numbers; `indicator` does so and adds a column that says where, and a level of factors.
enum class MissingPolicy { drop, refuse, mean, indicator };

/// How a table is read beside the formula.
struct TableRoles {
  ResponseKind response = ResponseKind::number;
  MissingPolicy missing = MissingPolicy::drop;
  std::string weights = {};  ///< column; empty: all rows weigh 1
  std::string offset = {};   ///< column added to the linear predictor
};

struct LevelCount {
  std::size_t rows = 0;
  std::size_t sites = 0;
  std::string site = {};  ///< the first that has it
};
using LevelCounts = std::map<std::string, LevelCount>;

struct SiteSummary {
  std::string name;
  std::size_t rows = 0;                        ///< used
  std::size_t dropped = 0;                     ///< for missing cells
  std::map<std::string, std::size_t> missing;  ///< missing cells, by column; columns without: none
  std::vector<std::string> response_levels;    ///< the first few
};

/// What is known of a column that stands alone in the formula.
struct ColumnKinds {
  std::string text_site, number_site;  ///< where the column holds texts, numbers; empty: nowhere
  std::string example;                 ///< a text
};

struct MeanSum {
  double sum = 0;
  double count = 0;
};

/// The summary of the tables of some sites.
struct TableSummary {
  std::vector<SiteSummary> sites;
  std::map<std::string, ColumnKinds> kinds;    ///< by column
  std::map<std::string, LevelCounts> levels;   ///< of factors, by variable
  std::map<std::string, MeanSum> means;        ///< of the present numbers, by column
  std::map<std::string, std::size_t> missing;  ///< cells, by column
  LevelCounts response_levels;                 ///< at most `most_response_levels`
  ResponseKind response = ResponseKind::number;
  bool response_is_text = false;
  double response_low = std::numeric_limits<double>::infinity();
  double response_high = -std::numeric_limits<double>::infinity();
};
inline constexpr std::size_t most_response_levels = 1000;

/// Of one site. An error names the file and what it lacks.
Result<TableSummary> summarize(const Table& table, const Formula& formula, const TableRoles& roles);

/// Adds the summary of other sites.
void merge(const TableSummary& other, TableSummary& summary);

struct FactorLevels {
  std::vector<std::string> levels;  ///< sorted: as numbers where all are, else as texts
  std::size_t reference = 0;
  bool missing_level = false;  ///< missing cells are the level `missing`, the last
};

/// One column of the design matrix: the product of these, by variable. Level -1: the number.
struct DesignColumn {
  struct Part {
    std::size_t variable = 0;
    int level = -1;
  };
  std::string name;
  std::vector<Part> parts;
  TextRange range = {};           ///< of its term, in the formula
  std::string indicator_of = {};  ///< instead of parts: 1 where this column is missing
};

/// The agreed encoding: everything that turns a table into numbers. It is part of the model.
struct Encoding {
  Formula formula;
  TableRoles roles;
  std::vector<std::optional<FactorLevels>> factors;  ///< by variable; unset: numbers
  std::vector<std::string> classes;                  ///< of the response; the first is class 0
  FillValues fill;
  std::vector<DesignColumn> columns;  ///< without the intercept
};

/// Level names and classes follow from the summary of all sites.
Result<Encoding> agree(const Formula& formula, const TableRoles& roles,
                       const TableSummary& summary);

/// Fills in `columns` from the formula and the levels.
Status lay_out_columns(Encoding& encoding);

/// Sorted as levels are.
std::vector<std::string> sorted_levels(const LevelCounts& counts);

}  // namespace grove
