#pragma once

#include <memory>
#include <optional>
#include <span>

#include "grove/problem/reference.h"
#include "grove/record/record.h"
#include "grove/runtime/runtime.h"
#include "grove/setup/instance.h"

namespace grove {

/// The network's answer where no agent keeps theta.
enum class Answer {
  mean,  ///< of x_i
  /// The mean of x_i, but exactly zero, or at a bound, where more than half of the agents are: for
  /// agents which all apply r, so that each x_i has the zeros of an optimum.
  majority_support
};

/// The network seen from outside. Nothing here is known to any single agent.
struct Measures {
  Vector solution;          ///< theta where a method has one, otherwise by the Answer
  Index nonzeros = 0;       ///< features whose coefficient in the solution is not 0
  double objective = 0;     ///< at the solution
  double stationarity = 0;  ///< norm of a prox-gradient step, from the solution; with theta, from
                            ///< the mean of x_i
  double step_length = 0;   ///< how far that step goes: the stationarity as a distance
  /// What both could be at most where f has this value: |gradient|^2 <= 2 L f, as f >= 0. Rounding
  /// errors are of that scale, also where the terms of the gradient cancel.
  double stationarity_bound = 0;
  double step_bound = 0;
  double consensus_error = 0;  ///< sqrt of the mean of |x_i - mean|^2
  double mean_norm = 0;        ///< |mean of x_i|, the scale of the consensus error
  double squared_error = 0;    ///< sum_i |x_i - x*|^2, if there is a reference
  bool finite = true;
  Vector measured_at, gradient;  ///< of the mean of f_i: where the stationarity is measured
};

class Measurer {
 public:
  /// Borrows both; `reference` may be null.
  Measurer(const Instance& instance, const ReferenceSolution* reference,
           Answer answer = Answer::mean);

  Measures measure(const Estimates& estimates);
  Measures measure(std::span<const std::unique_ptr<Agent>> agents) {
    return measure(estimates_of(agents));
  }

  /// The largest objective among the agents' own models; bounds of r, which theta alone need
  /// satisfy, are left out. It takes a pass over all data for every agent.
  double worst_objective(const Estimates& estimates);

  /// What turns a gradient into a step: the smoothness constant of the mean, where it has one.
  double smoothness() const { return smoothness_; }

 private:
  void measure_consensus(const Estimates& estimates, Measures& result);

  const Instance& instance_;
  const ReferenceSolution* reference_;
  Answer answer_;
  double smoothness_;
  Vector mean_;
  ObjectiveScratch scratch_;
};

}  // namespace grove
