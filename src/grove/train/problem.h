#pragma once

#include <memory>
#include <optional>
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

/// What may go with samples in memory beside features and targets.
struct SampleDetails {
  /// Of the samples' losses, at least 0; only their ratios matter. Empty: all 1.
  std::span<const double> weights = {};
  /// 0: the targets are what Options::loss takes. Otherwise they are class numbers from 0 to
  /// classes - 1, and the loss is that of multinomial logistic regression (multinomial.h).
  Index classes = 0;
};

/// What a network is to minimize, in memory. Files are one way to make one: see run(Config).
class Problem {
 public:
  /// Samples in the caller's memory, where features stay: they have to outlive the problem and its
  /// runs. A run packs features of up to 64 MiB by agent, which halves its time; larger ones are
  /// not copied. The loss, penalties, number of agents and how samples reach them are Options. For
  /// a classification the targets have two values; the smaller one stands for class 0. Refuses
  /// sizes that do not fit, and numbers that are not finite, by row.
  static Result<Problem> from_samples(const FeatureView& features, std::span<const double> targets,
                                      const SampleDetails& details = {});

  /// An objective f_i for every agent: one of Grove's, or the user's own (SmoothObjective). The
  /// network minimizes their mean, plus the regularizer of the Options. In a cluster every process
  /// gives as many, and only those of its own agents are used.
  static Result<Problem> from_objectives(std::vector<std::shared_ptr<const Objective>> objectives);

  /// Where runs start, in place of zero. It has a number for every coefficient.
  void start_at(Vector x) { start_ = std::move(x); }

  /// The number of agents that the problem asks for; 0: any.
  std::size_t agents() const;

 private:
  struct SampleData {
    FeatureView features;
    Vector targets;
    Vector weights;  ///< of mean 1; empty: all 1
    Index classes = 0;
  };
  using Objectives = std::vector<std::shared_ptr<const Objective>>;

  explicit Problem(std::variant<SampleData, Objectives> content) : content_(std::move(content)) {}

  friend Result<PreparedProblem> prepare(const Problem& problem, const Options& options,
                                         Cluster* cluster);

  static Status fill_from_samples(Instance& instance, const SampleData& data,
                                  const Options& options);

  std::variant<SampleData, Objectives> content_;
  std::optional<Vector> start_;
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
