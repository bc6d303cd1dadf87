#include "grove/theory/lyapunov.h"

#include <Eigen/QR>

namespace grove {
namespace {

Matrix signed_laplacian(const Graph& graph) {
  const auto n = static_cast<Index>(graph.agents());
  Matrix result = Matrix::Zero(n, n);
  for (const auto& [a, b] : graph.edges()) {
    result(a.value, a.value) += 1;
    result(b.value, b.value) += 1;
    result(a.value, b.value) -= 1;
    result(b.value, a.value) -= 1;
  }
  return result;
}

double either(const std::vector<double>& participation, const Edge& edge) {
  return 1 - (1 - participation[edge.first.value]) * (1 - participation[edge.second.value]);
}

}  // namespace

NetworkState start_state(const Graph& graph, const Vector& start, bool regularized) {
  NetworkState state;
  state.x.assign(graph.agents(), start);
  state.z.assign(graph.edges().size(), start);
  state.alpha.assign(graph.edges().size(), Vector::Zero(start.size()));
  if (regularized) {
    state.theta = start;
    state.lambda = Vector::Zero(start.size());
  }
  return state;
}

void follow_round(const Graph& graph, const LyapunovWeights& weights, std::vector<Vector> x,
                  const Vector* theta, const std::vector<bool>& active, NetworkState& state) {
  state.x = std::move(x);
  const auto edges = graph.edges();
  for (std::size_t k = 0; k < edges.size(); ++k) {
    const auto [i, j] = edges[k];
    const Vector from_i = (active[i.value] ? 0.5 : 0.0) * (state.x[i.value] - state.z[k]);
    const Vector from_j = (active[j.value] ? 0.5 : 0.0) * (state.x[j.value] - state.z[k]);
    state.alpha[k] += weights.penalty * (from_i - from_j);
    state.z[k] += from_i + from_j;
  }
  if (theta != nullptr && active[weights.holder.value]) {
    state.theta = *theta;
    *state.lambda += weights.theta_penalty * (state.x[weights.holder.value] - *theta);
  }
}

NetworkState optimal_state(const Graph& graph, const Vector& x, std::span<const Vector> gradients,
                           std::optional<AgentId> holder) {
  NetworkState state = start_state(graph, x, holder.has_value());
  const auto n = static_cast<Index>(graph.agents());
  Matrix forces(n, x.size());  // one agent per row: -grad f - S lambda*
  for (Index i = 0; i < n; ++i) forces.row(i) = -gradients[i].transpose();
  if (holder) {
    state.lambda = forces.colwise().sum().transpose();
    forces.row(holder->value) -= state.lambda->transpose();
  }
  // alpha = E_s u with L_s u = forces: the alpha of least norm, which lies in the range of E_s.
  const Matrix potentials = signed_laplacian(graph).completeOrthogonalDecomposition().solve(forces);
  const auto edges = graph.edges();
  for (std::size_t k = 0; k < edges.size(); ++k)
    state.alpha[k] =
        (potentials.row(edges[k].first.value) - potentials.row(edges[k].second.value)).transpose();
  return state;
}

double lyapunov(const Graph& graph, const LyapunovWeights& weights, const NetworkState& state,
                const NetworkState& optimum) {
  double total = 0;
  for (std::size_t i = 0; i < state.x.size(); ++i)
    total += weights.prox[i] / weights.participation[i] * (state.x[i] - optimum.x[i]).squaredNorm();
  const auto edges = graph.edges();
  for (std::size_t k = 0; k < edges.size(); ++k) {
    total += (2 * weights.penalty * (state.z[k] - optimum.z[k]).squaredNorm() +
              2 / weights.penalty * (state.alpha[k] - optimum.alpha[k]).squaredNorm()) /
             either(weights.participation, edges[k]);
  }
  if (state.theta)
    total += (weights.theta_penalty * (*state.theta - *optimum.theta).squaredNorm() +
              (*state.lambda - *optimum.lambda).squaredNorm() / weights.theta_penalty) /
             weights.participation[weights.holder.value];
  return total;
}

}  // namespace grove
