#pragma once

#include <optional>
#include <span>

#include "grove/problem/certificate.h"
#include "grove/record/record.h"
#include "grove/setup/instance.h"
#include "grove/train/measures.h"

namespace grove {

/// When a run has converged: the relative objective gap of the network's answer is certified to be
/// at most the tolerance, and no agent's model is farther from the answer, in the metric of the
/// Hessian (docs/reference/certificate.md). Neither changes with the units of columns. A gap is
/// relative to the optimum, or to 1e-7 of the objective at the start where the optimum is smaller.
///
/// A regularizer that is not separable has no certificate: there a run has converged at rest.
class StoppingRule {
 public:
  StoppingRule(const Instance& instance, double tolerance, const Measures& start);

  /// Judges the last measured round. A certificate takes a Hessian over all data, so that it is
  /// tried only where the objective has nearly come to rest, and in every sixteenth part of a run.
  /// The rounds depend on the trace alone: a run that goes on from a checkpoint stops as it would
  /// have without.
  bool converged(const Measures& now, const Estimates& estimates,
                 std::span<const TracePoint> trace);

  /// Without a certificate: the stationarity relative to its value at the start, and the consensus
  /// error relative to the norm of the mean, are within the tolerance.
  bool at_rest(const Measures& now) const;

  /// The certified relative gap of the answer, as measured last; nothing without a certificate.
  std::optional<double> gap_bound(const Measures& now);
  /// Whether the answer, as measured last, shows that there is no minimizer: the objective falls
  /// for ever along it, as where a logistic model separates the classes.
  bool has_no_minimizer(const Measures& now) const;
  /// Of Newton, from the answer of the last certificate, in scaled coordinates.
  const Vector& last_step() const { return last_->step; }
  /// Whether it would move the answer by more than a thousandth: certified answers of objectives
  /// that have one minimizer are nearer to it.
  bool step_is_long() const;
  /// Whether the answer of the last certificate is one of many.
  bool is_flat() const { return flat_; }

 private:
  bool separable() const { return instance_.regularizer.separable(); }
  double least(double value) const;
  bool is_worth_a_look(const Measures& now, std::span<const TracePoint> trace) const;
  void certify(const Measures& now);
  bool agents_agree(const Measures& now, const Estimates& estimates);

  const Instance& instance_;
  double tolerance_;
  Measures start_;
  std::shared_ptr<const Objective> mean_;  ///< in scaled coordinates, as all that follows
  Regularizer regularizer_;
  Certifier certifier_;
  std::optional<Certificate> last_;
  Vector certified_;  ///< the answer of the last certificate, in the user's coordinates
  bool flat_ = false;
};

/// A verdict on the future. Iterates have overflowed, or in each of the last rounds the objective
/// was above a multiple of that at the start: a million times, or once with steps that are not
/// guaranteed to converge.
bool has_diverged(const Measures& now, std::span<const TracePoint> trace, bool beyond_bound);

}  // namespace grove
