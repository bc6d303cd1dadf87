// What a peer sends while it is in a long local step.
#include <future>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "grove/peer/peer_loop.h"
#include "grove/peer/test_endpoints.h"
#include "grove/peer/test_folder.h"

namespace grove::peer {
namespace {

/// A quadratic of two coefficients, whose evaluation does not end before it may.
class Slow final : public Objective {
 public:
  Index dimension() const override { return test_dimension; }
  Index samples() const override { return 1; }
  double evaluate(const Vector& x, Batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch&) const override {
    wait();
    if (gradient != nullptr) *gradient = x;
    if (hessian != nullptr) *hessian = Matrix::Identity(test_dimension, test_dimension);
    return x.squaredNorm() / 2;
  }
  double evaluate_second_derivatives(const Vector& x, Batch batch, Vector* gradient,
                                     std::span<double> second_derivatives,
                                     ObjectiveScratch& scratch) const override {
    std::ranges::fill(second_derivatives, 1);
    return evaluate(x, batch, gradient, nullptr, scratch);
  }
  void weighted_hessian_times(std::span<const double>, Batch, const Vector& direction,
                              Vector& result, ObjectiveScratch&) const override {
    result = direction;
  }
  double smoothness() const override { return 1; }

  void finish() { may_finish_.set_value(); }
  bool is_evaluated() const { return begun_; }

 private:
  void wait() const {
    begun_ = true;
    finished_.wait();
  }

  mutable std::atomic<bool> begun_ = false;
  std::promise<void> may_finish_;
  std::shared_future<void> finished_ = may_finish_.get_future().share();
};

TEST(LongStep, DelaysNoHeartbeats) {
  TestFolder folder;
  Endpoint b("b");
  b.link_table.add_link("a");
  const auto objective = std::make_shared<Slow>();
  PeerConfig config;
  config.network = "test";
  config.name = config.holder = "a";
  config.members = 2;
  config.listen = "127.0.0.1:0";
  config.neighbours = {{"b", b.address()}};
  config.heartbeat_seconds = 0.02;
  config.state = (folder.path() / "state").string();
  config.disclosure.mode = "off";
  const PeerProblem problem{.objective = objective,
                            .regularizer = {.regularized = test_dimension},
                            .method = DruidOptions{},
                            .features = test_dimension,
                            .rows = 1,
                            .schema = {{"problem", "test"}}};
  const TlsIdentity identity = identity_of("a");
  std::atomic<bool> stop = false;
  const auto log = std::make_shared<TestLog>();
  const PeerHooks hooks{.log = logger_to(log), .interrupted = [&] { return stop.load(); }};
  PeerLoop loop(config, problem,
                {.identity = identity,
                 .signer = std::make_shared<Signer>(identity, "test", "a"),
                 .audit = nullptr},
                hooks);
  std::thread running([&] { (void)loop.run(); });
  EXPECT_TRUE(eventually([&] { return objective->is_evaluated(); })) << log->text();
  std::set<std::uint64_t> heartbeats;
  EXPECT_TRUE(eventually([&] {
    for (const v1::Heartbeat& one : b.link_table.take_heartbeats())
      for (const v1::SignedMember& entry : one.members())
        if (const auto member = parse_member(entry); member && member->name() == "a")
          heartbeats.insert(member->heartbeats());
    return heartbeats.size() >= 10;
  })) << log->text();
  stop = true;
  objective->finish();
  running.join();
}

}  // namespace
}  // namespace grove::peer
