#include <cstdio>

#include <grove/train/run.h>

// Trains a ridge regression over a ring of four agents and checks that the agents agree with the
// centralized optimum.
int main() {
  grove::Config config;
  config.data = "synthetic:gaussian,samples=200,features=5";
  config.agents = 4;
  config.graph = "ring";
  config.loss = grove::SquaredLoss{};
  config.l2 = 0.1;
  config.penalty = 0.1;

  const auto record = grove::run(config);
  if (!record) {
    std::fprintf(stderr, "%s\n", record.error().text().c_str());
    return 2;
  }
  const double error = record->trace.back().relative_error.value_or(1);
  std::printf("%llu rounds, relative error %.1e\n",
              static_cast<unsigned long long>(record->outcome.rounds), error);
  return record->outcome.status == grove::RunStatus::converged && error < 1e-6 ? 0 : 1;
}
