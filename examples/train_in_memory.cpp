// Trains a ridge regression on data in memory, over a ring of four agents.
#include <cmath>
#include <cstdio>
#include <vector>

#include <grove/grove.h>

int main() {
  // Two hundred samples of three features, row after row. Grove reads them where they are.
  std::vector<double> features, targets;
  for (int i = 0; i < 200; ++i) {
    const double a = std::sin(i), b = std::cos(3.0 * i), c = std::sin(0.1 * i * i);
    features.insert(features.end(), {a, b, c});
    targets.push_back(1 + 2 * a - b + 0.5 * c);
  }
  const grove::DenseView view{.values = features.data(), .rows = 200, .columns = 3};
  const auto problem = grove::Problem::from_samples(view, targets);
  if (!problem) return std::fprintf(stderr, "%s\n", problem.error().text().c_str()), 2;

  grove::Options options;
  options.loss = grove::SquaredLoss{};
  options.l2 = 1e-6;
  options.intercept = true;
  options.agents = 4;
  options.graph = "ring";
  const auto record = grove::run(*problem, options);
  if (!record) return std::fprintf(stderr, "%s\n", record.error().text().c_str()), 2;

  std::printf("%s\n", record->outcome.detail.c_str());
  for (const double coefficient : record->solution) std::printf("%.4f\n", coefficient);
  // The targets are 1 + 2a - b + c/2.
  const double expected[] = {2, -1, 0.5, 1};
  for (int k = 0; k < 4; ++k)
    if (std::abs(record->solution[k] - expected[k]) > 1e-3) return 1;
  return record->outcome.status == grove::RunStatus::converged ? 0 : 1;
}
