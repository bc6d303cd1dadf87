#include "grove/train/no_minimizer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "grove/problem/reference.h"

namespace grove {
namespace {

/// The features with the largest numbers, at most three.
std::string names_of_largest(const Instance& instance, const Vector& numbers) {
  constexpr std::size_t most = 3;
  constexpr double least_share = 0.01;  // of the largest
  std::vector<Index> order(static_cast<std::size_t>(instance.features));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](Index k) { return std::abs(numbers[k]); });
  order.resize(std::min(order.size(), most));
  std::string names;
  for (const Index k : order) {
    if (std::abs(numbers[k]) < least_share * std::abs(numbers[order.front()])) break;
    if (!names.empty()) names += ", ";
    names += instance.columns ? instance.columns->features[static_cast<std::size_t>(k)]
                              : fmt::format("feature {}", k + 1);
  }
  return names;
}

/// Whether penalties grow along every direction.
bool grows_everywhere(const Instance& instance) {
  const Regularizer& r = instance.regularizer;
  if (r.regularized < instance.dimension()) return false;
  if (instance.mean->penalizes()) return true;
  for (Index k = 0; k < r.regularized; ++k)
    if (!(r.l1_at(k) > 0)) return false;
  return true;
}

}  // namespace

bool falls_for_ever(const Instance& instance) {
  constexpr Index most = 2000;  // coefficients: the solver factorizes Hessians
  if (instance.dimension() > most || grows_everywhere(instance)) return false;
  const auto optimum =
      solve_reference(*instance.scaled(instance.mean), instance.scaled_regularizer());
  return !optimum && optimum.error().where == no_minimizer_field;
}

std::string separated_text(const Instance& instance, const Vector& solution, Round round) {
  return fmt::format(
      "stopped after {} rounds: there is no minimizer, because the model separates the classes; "
      "coefficients would grow for ever, most along {}; add --l2 or --l1",
      round, names_of_largest(instance, instance.to_scaled(solution)));
}

std::string infimum_text(const Instance& instance, const Vector& step, double tolerance,
                         Round round) {
  return fmt::format(
      "certified to be within {:g} of the infimum after {} rounds: there is no minimizer, and "
      "coefficients would grow for ever, most along {}; add --l2 or --l1",
      tolerance, round, names_of_largest(instance, step));
}

}  // namespace grove
