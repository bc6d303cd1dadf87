#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "grove/problem/feature_view.h"
#include "grove/problem/objective.h"
#include "grove/train/run.h"

namespace grove {

/// Settings of a run. Those that say where data come from are left at their defaults: a Problem
/// has its data.
using Options = Config;

/// What a network is to minimize, in memory. Files are one way to make one: see run(Config).
class Problem {
 public:
  /// Samples in the caller's memory; features are not copied, and have to outlive the problem and
  /// its runs. The loss, penalties, number of agents and how samples reach them are Options. For a
  /// classification the targets have two values; the smaller one stands for class 0. Refuses
  /// sizes that do not fit, and numbers that are not finite, by row.
  static Result<Problem> from_samples(const FeatureView& features, std::span<const double> targets);

  /// An objective f_i for every agent: one of Grove's, or the user's own (SmoothObjective). The
  /// network minimizes their mean, plus the regularizer of the Options. In a cluster every process
  /// gives as many, and only those of its own agents are used.
  static Result<Problem> from_objectives(std::vector<std::shared_ptr<const Objective>> objectives);

  /// The number of agents that the problem asks for; 0: any.
  std::size_t agents() const;

 private:
  struct SampleData {
    FeatureView features;
    Vector targets;
  };
  using Objectives = std::vector<std::shared_ptr<const Objective>>;

  explicit Problem(std::variant<SampleData, Objectives> content) : content_(std::move(content)) {}

  friend Result<PreparedProblem> prepare(const Problem& problem, const Options& options,
                                         Cluster* cluster);

  std::variant<SampleData, Objectives> content_;
};

/// Lays the problem out on the network of the options, and solves it centrally unless
/// `options.no_reference`. With a cluster this and run() are collective.
Result<PreparedProblem> prepare(const Problem& problem, const Options& options,
                                Cluster* cluster = nullptr);

/// Trains: options in, record out.
Result<RunRecord> run(const Problem& problem, const Options& options, const RunHooks& hooks = {},
                      Cluster* cluster = nullptr);

/// The options with those that a problem in memory decides: agents where it has objectives, and
/// where the data are.
Result<Options> options_for(const Problem& problem, Options options);

}  // namespace grove
