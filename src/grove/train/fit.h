#pragma once

#include <optional>
#include <string>
#include <vector>

#include "grove/data/design.h"
#include "grove/record/fitted_model.h"
#include "grove/train/fit_sums.h"
#include "grove/train/newton_polish.h"
#include "grove/train/run.h"

/// Generalized linear models over tables that stay at their sites: `grove fit`.
namespace grove {

/// What is fitted. How it is fitted (graph, method, penalties, rounds) are the options of a run.
struct FitOptions {
  std::string formula;
  std::vector<std::string> sites;  ///< files, one for each site, or names of tables in memory
  Family family;
  TableOptions table = {};
  TableRoles roles = {};                  ///< its response kind follows from the family
  std::vector<std::string> columns = {};  ///< that `.` may stand for; empty: all
  std::vector<std::string> ignore = {};   ///< columns that `.` does not stand for
  Ties ties = Ties::efron;
  bool standardize = false;
  bool robust = false;
  double confidence = 0.95;
  std::string class_weight = {};  ///< `balanced` or a number for each class; empty: 1
};

/// What the model without terms gives.
struct NullFit {
  double intercept = 0;
  std::optional<InferenceSums> sums;  ///< none where the family has no likelihood
};

/// Tables in numbers, under the encoding and in the coordinates that all sites agreed on.
struct FitData {
  Encoding encoding;
  std::vector<FittedSite> sites;  ///< all of them
  std::vector<Design> designs;    ///< of the agents here, in scaled coordinates
  DesignMoments moments;          ///< of all sites, in the units of the tables
  ColumnScaling scaling;
  InferenceModel model;
  FitExchange exchange;
  std::size_t agents = 0;      ///< of the network
  Cluster* cluster = nullptr;  ///< of the processes; null: all agents are here
  std::vector<std::string> notes;

  std::vector<std::string> column_names() const;
};

/// Reads the tables and agrees on the encoding, from summaries of the sites alone. `config` says
/// how many agents share a single file, and which penalties there are.
///
/// With a cluster, all of a fit is collective: each process reads its block of the files.
Result<FitData> read_fit_data(const FitOptions& options, const Config& config,
                              Cluster* cluster = nullptr);

/// The same for tables in memory, one for each site (make_table). With an exchange, `tables` are
/// those of the sites here.
Result<FitData> make_fit_data(const FitOptions& options, const Config& config,
                              const std::vector<Table>& tables,
                              const FitExchange& exchange = local_exchange());

/// Where a run starts: the intercept alone, roughly. From there exp does not overflow.
Vector start_of(const FitData& data);

/// By Newton's method on one number, with sums over sites.
NullFit null_fit(const FitData& data);

/// What the sites here add to the inference at x, and what follows from the total over all sites.
Vector inference_numbers(const FitOptions& options, const Design& design,
                         const InferenceModel& model, const Vector& x);
/// Without a total the model has coefficients alone.
FittedModel fitted_model(const FitOptions& options, const Config& config, const FitData& data,
                         const Vector& x, const std::optional<Vector>& total, const NullFit& null);

struct Fit {
  RunRecord record;  ///< its solution in the units of the tables
  FittedModel model;
  Vector scaled;  ///< the answer in scaled coordinates
};

/// Fits the network: a run of the method, then Newton steps with the sums of all sites until the
/// answer is accurate to rounding. Separated data and collinear columns are errors that name the
/// columns.
Result<Fit> fit(const FitOptions& options, const Config& config, const FitData& data,
                const RunHooks& hooks = {}, const std::optional<Vector>& start = std::nullopt);

using SiteObjectives = std::vector<std::shared_ptr<const Objective>>;

/// f_i of every agent, with this penalty.
SiteObjectives objectives_of(const FitData& data, double l2);

/// The coefficients of the model without terms, in scaled scaling.
Vector null_model(const FitData& data);

/// What the network finds: a run of the method, then Newton steps with network sums.
struct NetworkSolution {
  RunRecord record;
  Polished polished;
  bool can_polish = false;  ///< there are no bounds and no regularizers of the user's own
  Vector x;                 ///< in scaled coordinates
  double value = 0;         ///< of the objective
  bool converged = false;
};
Result<NetworkSolution> solve_network(const FitOptions& options, const Config& config,
                                      const FitData& data, const SiteObjectives& objectives,
                                      const Vector& start, const RunHooks& hooks = {});

/// The coefficients of an earlier model as a start, by the names of columns; columns that it lacks
/// start at zero.
Vector start_from(const FittedModel& earlier, const FitData& data);

/// The estimates of every agent alone, in the units of the tables; unset where a site cannot
/// estimate all coefficients alone. For the forest plot.
std::vector<std::optional<Inference>> site_estimates(const FitOptions& options,
                                                     const FitData& data);

}  // namespace grove
