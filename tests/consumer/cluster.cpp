#include <cstdio>

#include <grove/grove.h>
#include <grove/mpi.h>

// The same training with and without MPI, here a job of one process: same solution, bit for bit.
int main() {
  grove::mpi::Session session;
  grove::Config config;
  config.data = "synthetic:gaussian,samples=200,features=5";
  config.agents = 4;
  config.agents_given = true;  // not one agent per process
  config.graph = "ring";
  config.loss = grove::SquaredLoss{};
  config.l2 = 0.1;
  config.penalty = 0.1;
  const auto alone = grove::run(config);
  config.runtime = grove::RuntimeKind::mpi;
  const auto together = grove::run(config, {}, &session.cluster());
  for (const auto* record : {&alone, &together})
    if (!*record) return std::fprintf(stderr, "%s\n", record->error().text().c_str()), 2;
  return alone->solution == together->solution ? 0 : 1;
}
