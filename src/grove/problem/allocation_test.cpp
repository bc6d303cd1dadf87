// A program of its own because it replaces malloc. Sanitizers do that too: nothing to see there.

#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "grove/problem/naive_problem.h"

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {
std::atomic<long> allocations{0};
}

extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}

extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}

namespace grove {
namespace {

TEST(ShardObjective, AllocatesNothingWhenItsScratchIsWarm) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t k = 0; k < 100; ++k) rows.push_back((k * 7) % 150);
  for (const Index features : {1, 22, 300})
    for (const bool sparse : {false, true}) {
      const auto problem = naive::random_problem(
          {.rows = 150, .features = features, .density = 0.5}, {.l2 = 0.1, .intercept = true});
      const auto objective = problem.objective(sparse);
      const Vector x = naive::random_point(features + 1, 1, 1);
      ObjectiveScratch scratch;
      Vector gradient, product;
      Matrix hessian;
      const auto pass = [&](Batch batch) {
        objective->evaluate(x, batch, &gradient, &hessian, scratch);
        objective->hessian_times(x, batch, x, product, scratch);
      };
      pass(Batch::all());
      const long before = allocations;
      pass(Batch::all());
      pass(Batch::of(rows));
      EXPECT_EQ(allocations - before, 0) << features << (sparse ? " sparse" : " dense");
    }
}

TEST(MeanObjective, AllocatesNothingWhenItsScratchIsWarm) {
  const auto problem = naive::random_problem({.rows = 50, .features = 10}, {});
  const auto first = problem.objective(false), second = problem.objective(true);
  const auto mean = make_mean_objective({first.get(), second.get()});
  const Vector x = naive::random_point(10, 1, 1);
  ObjectiveScratch scratch;
  Vector gradient;
  Matrix hessian;
  mean->evaluate(x, Batch::all(), &gradient, &hessian, scratch);
  const long before = allocations;
  mean->evaluate(x, Batch::all(), &gradient, &hessian, scratch);
  EXPECT_EQ(allocations - before, 0);
}

TEST(AllocationCounter, SeesWhatEigenAllocates) {
  const long before = allocations;
  const Vector x = Vector::Zero(1000);
  EXPECT_EQ(allocations - before, 1) << x.size();
}

TEST(AllocationCounter, SeesAlignedMemory) {
  const long before = allocations;
  AlignedNumbers numbers;
  numbers.fit(1000);
  EXPECT_EQ(allocations - before, 1);
}

}  // namespace
}  // namespace grove

#else

TEST(ShardObjective, AllocatesNothingWhenItsScratchIsWarm) {
  GTEST_SKIP() << "allocations are counted with glibc and without sanitizers only";
}

#endif
