#pragma once

#include "grove/setup/registry.h"

/// A method, a loss, a regularizer, a topology and a metric as somebody outside the library writes
/// them: no file of Grove knows of them.
namespace toys {

/// EXTRA (Shi, Ling, Wu, Yin 2015): x_{k+2} = (I + W) x_{k+1} - (I + W)/2 x_k - a (g_{k+1} - g_k),
/// with x_1 = W x_0 - a g_0. Registered as `toy-extra`.
extern const grove::MethodEntry extra;

/// The built-in registry with `toy-extra`; the loss `log-cosh[:SCALE]`, SCALE^2 log cosh((m - y) /
/// SCALE); the regularizer `group-lasso:W:SIZE`, W sum_g |x_g| over groups of SIZE consecutive
/// coefficients; the topology `wheel`, a ring whose agents all know agent 0; and the metric
/// `squared_norm` of the solution.
grove::Registry registry();

}  // namespace toys
