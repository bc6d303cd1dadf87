#pragma once

#include <string>
#include <vector>

#include "grove/setup/instance.h"
#include "grove/train/run.h"

namespace grove::testing_support {

/// A network's problem with its raw samples at hand, so that a test can work out by its own plain
/// loops what the library should find.
struct Problem {
  Graph graph;
  std::vector<Samples> shards;  ///< dense, by agent
  ShardTerms terms;
  Regularizer regularizer;

  std::size_t agents() const { return shards.size(); }
  Index dimension() const;  ///< with the intercept
  Instance instance() const;
  PreparedProblem prepared() const;  ///< with the reference solution
};

/// What a problem is drawn from: Gaussian features of unit scale, dealt out in file order.
struct ProblemOptions {
  std::size_t agents = 6;
  std::size_t samples = 120;
  std::size_t features = 5;
  std::string graph = "ring";
  ShardTerms terms = {.loss = LogisticLoss{}, .l2 = 0.1};
  double l1 = 0;
  Constraint constraint;
  std::uint64_t seed = 1;
};
Problem make_problem(const ProblemOptions& options);

/// A graph from `{i, j}` pairs.
Graph graph_of(std::size_t agents, const std::vector<std::pair<unsigned, unsigned>>& edges);

/// The `features` of agent i's row j as one number per coordinate, the intercept's 1 included.
Vector row_of(const Problem& problem, std::size_t agent, Index row);

// Plain loops, written from the formulas of the losses and sharing no code with the library.
double plain_slope(const Loss& loss, double margin, double target);
double plain_second_derivative(const Loss& loss, double margin, double target);
Vector plain_gradient(const Problem& problem, std::size_t agent, const Vector& x);
Matrix plain_hessian(const Problem& problem, std::size_t agent, const Vector& x);

/// How far -(1/n) sum grad f_i(x) is from the subdifferential of r at x, in the largest coordinate:
/// zero exactly at the optimum of the whole problem. Infinite outside the box.
double optimality_violation(const Problem& problem, const Vector& x);

}  // namespace grove::testing_support
