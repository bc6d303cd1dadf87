// What a published weight reveals of the Hessian of its agent.
#include "grove/coupling/weight_publisher.h"

#include <gtest/gtest.h>

namespace grove {
namespace {

constexpr LinkWeightForm full{LinkWeightShape::full};

/// The Hessian is given; the rest of the objective is not used.
class NoObjective final : public Objective {
 public:
  Index dimension() const override { return 2; }
  Index samples() const override { return 1; }
  double evaluate(const Vector&, Batch, Vector*, Matrix*, ObjectiveScratch&) const override {
    return 0;
  }
  double evaluate_second_derivatives(const Vector&, Batch, Vector*, std::span<double>,
                                     ObjectiveScratch&) const override {
    return 0;
  }
  void weighted_hessian_times(std::span<const double>, Batch, const Vector&, Vector&,
                              ObjectiveScratch&) const override {}
  double smoothness() const override { return 1; }
};

Matrix symmetric(double a, double b, double off) { return Matrix{{a, off}, {off, b}}; }

/// The numbers a, off, b of the weight that an agent publishes second, with these neighbours.
std::vector<float> published(PublishedHessian own, const Matrix& hessian,
                             const std::vector<Matrix>& neighbours) {
  const NoObjective objective;
  const Regularizer none;
  const Vector x = Vector::Ones(2);
  WeightTable weights(full, 2, neighbours.size());
  const LinkMetric identity(nullptr);
  const WeightInputs inputs{.hessian = hessian,
                            .hessians_computed = 1,
                            .x = x,
                            .regularizer = none,
                            .objective = objective,
                            .weights = weights,
                            .metric = identity,
                            .neighbours = neighbours.size(),
                            .network_depth = 2};
  WeightPublisher publisher(full, false, own);
  weights.set_own(publisher.next(inputs));
  for (std::size_t slot = 0; slot < neighbours.size(); ++slot)
    weights.set_neighbour(slot, LinkWeight(full, neighbours[slot]));
  publisher.received_weight();
  Matrix candidate, buffer;
  EXPECT_TRUE(publisher.due(inputs, 5, candidate, buffer));
  const LinkWeight weight = publisher.next(inputs);
  return {weight.numbers().begin(), weight.numbers().end()};
}

const Matrix one = symmetric(4, 1, 1.5), other = symmetric(4, 1, -0.5);  // of one diagonal
const Matrix neighbour = symmetric(100, 25, 25), second = symmetric(9, 16, 0);

// Two Hessians of one diagonal give one weight: the only neighbour learns the diagonal.
TEST(WeightPublisher, TellsASingleNeighbourOnlyTheDiagonal) {
  EXPECT_EQ(published(PublishedHessian::blended, one, {neighbour}),
            published(PublishedHessian::blended, other, {neighbour}));
  EXPECT_NE(published(PublishedHessian::full, one, {neighbour}),
            published(PublishedHessian::full, other, {neighbour}));
  EXPECT_NE(published(PublishedHessian::blended, one, {neighbour, second}),
            published(PublishedHessian::blended, other, {neighbour, second}));
  EXPECT_EQ(published(PublishedHessian::diagonal, one, {neighbour, second}),
            published(PublishedHessian::diagonal, other, {neighbour, second}));
}

// The scale is 2 and both halves count alike. The correlation of the neighbour is 25 / 50 = 0.5;
// with the diagonal 4, 1 it gives 0.5 * 2 * 1 = 1 off the diagonal. The ridge adds 1e-3 of it.
TEST(WeightPublisher, UsesTheCorrelationsOfItsNeighbours) {
  const auto numbers = published(PublishedHessian::blended, one, {neighbour});
  ASSERT_EQ(numbers.size(), 3u);
  EXPECT_NEAR(numbers[0], 0.5 * 100 + 4 * 1.001, 1e-4);
  EXPECT_NEAR(numbers[1], 0.5 * 25 + 1, 1e-4);
  EXPECT_NEAR(numbers[2], 0.5 * 25 + 1 * 1.001, 1e-4);
}

}  // namespace
}  // namespace grove
