#include "grove/theory/stability.h"

#include <algorithm>
#include <limits>

#include "grove/base/eigenvalues.h"

namespace grove {
namespace {

constexpr std::size_t largest_dense = 400;  // a dense eigenproblem of this size takes tens of ms

/// (mu/2) L_s + mu_theta e_q e_q'
Matrix coupling(const Graph& graph, const LinearizedSetting& setting) {
  const auto n = static_cast<Index>(graph.agents());
  Matrix result = Matrix::Zero(n, n);
  for (const auto& [a, b] : graph.edges()) {
    const Index i = a.value, j = b.value;
    result(i, i) += 0.5 * setting.penalty;
    result(j, j) += 0.5 * setting.penalty;
    result(i, j) -= 0.5 * setting.penalty;
    result(j, i) -= 0.5 * setting.penalty;
  }
  if (setting.holder) result(setting.holder->value, setting.holder->value) += setting.theta_penalty;
  return result;
}

double locally_needed(const Graph& graph, const LinearizedSetting& setting, AgentId agent) {
  return setting.penalty * static_cast<double>(graph.degree(agent)) +
         (setting.holder == agent ? setting.theta_penalty : 0.0);
}

}  // namespace

LinearizedStability linearized_stability(const Graph& graph, const LinearizedSetting& setting) {
  LinearizedStability result;
  for (std::uint32_t i = 0; i < graph.agents(); ++i) {
    const double needed = locally_needed(graph, setting, AgentId{i});
    result.needed_prox = std::max(result.needed_prox, needed);
    if (setting.prox[i] < needed) result.offending.push_back(AgentId{i});
  }
  result.guaranteed = result.offending.empty();
  if (graph.agents() > largest_dense) return result;

  const Matrix penalty = coupling(graph, setting);
  result.needed_prox = symmetric_eigenvalues(penalty).maxCoeff();
  const Matrix margin =
      Matrix(Eigen::Map<const Vector>(setting.prox.data(), penalty.rows()).asDiagonal()) - penalty;
  const double slack = symmetric_eigenvalues(margin).minCoeff();
  // An eps exactly on the bound is stable; its smallest eigenvalue is zero up to rounding.
  result.guaranteed = slack >= -1e-12 * result.needed_prox;
  if (result.guaranteed) result.offending.clear();
  return result;
}

}  // namespace grove
