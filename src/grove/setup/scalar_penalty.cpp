#include "grove/setup/scalar_penalty.h"

#include <algorithm>
#include <bit>

namespace grove {
namespace {

constexpr Index most_products = 100;
constexpr double part_in_links = 0.25;  ///< of the mean Hessian diagonal, in all links of an agent

}  // namespace

double mean_hessian_diagonal(const Objective& objective, const Vector& x) {
  const Index dimension = objective.dimension(), products = std::min(dimension, most_products);
  ObjectiveScratch scratch;
  std::vector<double> second_derivatives(
      static_cast<std::size_t>(objective.second_derivative_count(Batch::all())));
  objective.evaluate_second_derivatives(x, Batch::all(), nullptr, second_derivatives, scratch);
  Vector probe(dimension), product;
  double trace = 0;
  for (Index first = 0; first < products; ++first) {
    probe.setZero();
    // Fixed signs that do not repeat, so that what coefficients share cancels on the whole.
    for (Index k = first, member = 0; k < dimension; k += products, ++member)
      probe[k] = std::popcount(static_cast<std::uint64_t>(member)) % 2 == 0 ? 1 : -1;
    objective.weighted_hessian_times(second_derivatives, Batch::all(), probe, product, scratch);
    trace += probe.dot(product);
  }
  return trace / static_cast<double>(dimension);
}

double automatic_scalar_penalty(const Objective& mean, const Vector& start, const Graph& graph) {
  double diagonal = mean_hessian_diagonal(mean, start);
  // Huber's loss may be linear at the start; the smoothness constant replaces the diagonal then.
  if (!(diagonal > 0)) diagonal = mean.smoothness() / static_cast<double>(mean.dimension());
  if (!(diagonal > 0)) diagonal = 1;
  const double degree =
      2 * static_cast<double>(graph.edges().size()) / static_cast<double>(graph.agents());
  return part_in_links * diagonal / std::max(1.0, degree);
}

}  // namespace grove
