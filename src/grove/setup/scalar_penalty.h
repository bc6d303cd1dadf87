#pragma once

#include "grove/network/graph.h"
#include "grove/problem/objective.h"

namespace grove {

/// The mean of the Hessian's diagonal: exact up to 100 coefficients; beyond, an estimate from 100
/// products, whose error are the entries between coefficients that share one.
double mean_hessian_diagonal(const Objective& objective, const Vector& x);

/// What --penalty auto stands for where one number weights all links: a quarter of the mean
/// Hessian diagonal at the start, divided among the links of an agent. On ijcnn1 and on ijcnn-like
/// data that is within a factor of two of the best number (measured: 1e-3 to 3e-3; three times more
/// or less doubles the rounds). `mean` is that of the network: collective in a cluster.
double automatic_scalar_penalty(const Objective& mean, const Vector& start, const Graph& graph);

}  // namespace grove
