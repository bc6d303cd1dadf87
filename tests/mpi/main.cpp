#include "main.h"

namespace grove::testing_support {
namespace {
Cluster* running = nullptr;
}  // namespace

Cluster& the_cluster() { return *running; }

}  // namespace grove::testing_support

// Every process runs every test; the first one reports, and any failure anywhere is a failure.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  grove::mpi::Session session;
  grove::testing_support::running = &session.cluster();
  if (session.cluster().rank() != 0) {
    auto& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
  }
  const int failed = RUN_ALL_TESTS();
  return static_cast<int>(session.cluster().allreduce_max(failed));
}
