#pragma once

#include <filesystem>
#include <set>

#include "experiments/figure1.h"
#include "experiments/participation.h"
#include "experiments/unequal_machines.h"

namespace grove::experiments {

constexpr int work_figure = 4;  ///< not the paper's, but its question: work on unequal machines

struct ReproduceOptions {
  Scale scale;
  std::set<int> figures = {1, 2, 3, work_figure};
  std::filesystem::path out = "grove-reproduce";
  std::string date;  ///< for the report; empty: none
  JobHooks hooks;
};

/// Everything that was measured.
struct Findings {
  Scale scale;
  std::string date;
  std::vector<Search> searches;  ///< grids of the gradient methods, setting in the contender's name
  std::vector<Figure1> figure1;
  std::vector<CostFigure> figure2, figure3;
  std::vector<WorkFigure> work;
};

/// Runs what is missing and writes pictures, tables and the report into `out`. Nothing:
/// interrupted, and a second call goes on from there.
Result<std::optional<Findings>> reproduce(const ReproduceOptions& options);

/// Writes report.md and report.html; the pictures of `findings` are in `folder` already.
Status write_report(const Findings& findings, const std::filesystem::path& folder);

/// Names of a picture's files, without ending.
std::string stem_of(const Figure1& figure, char part);
std::string stem_of(const CostFigure& figure);
std::string stem_of(const WorkFigure& figure);

}  // namespace grove::experiments
