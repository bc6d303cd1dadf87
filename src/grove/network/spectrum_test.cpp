#include "grove/network/spectrum.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>
#include <Eigen/Eigenvalues>

#include "grove/network/topology.h"

namespace grove {
namespace {

using std::numbers::pi;

constexpr double relative = 1e-9;

/// 2 - 2 cos(angle), without cancellation.
double chord(double angle) { return 4 * std::pow(std::sin(angle / 2), 2); }

Graph graph(const std::string& description, std::size_t agents) {
  return *make_graph(description, agents, 1);
}

void expect_relative(double value, double expected) {
  EXPECT_NEAR(value, expected, relative * expected);
}

/// Sizes on both sides of the change from dense to sparse, and large ones.
class Spectra : public testing::TestWithParam<std::size_t> {
 protected:
  const std::size_t agents = GetParam();
  const double n = static_cast<double>(GetParam());
};

// L_s of a path has the eigenvalues 2 - 2 cos(pi k / n), k = 0 ... n-1. A path is bipartite, so L_u
// has the same. With e_0 e_0' added it is a chain held at one end: 2 - 2 cos(pi (2k-1) / (2n+1)).
TEST_P(Spectra, OfAPath) {
  const Graph path = graph("path", agents);
  const Spectrum spectrum = laplacian_spectrum(path);
  expect_relative(spectrum.lambda_2, chord(pi / n));
  expect_relative(spectrum.lambda_max, chord(pi * (n - 1) / n));
  expect_relative(unsigned_laplacian_max(path), chord(pi * (n - 1) / n));
  expect_relative(anchored_laplacian_min(path, AgentId{0}), chord(pi / (2 * n + 1)));
}

// Eigenvalues 2 - 2 cos(2 pi k / n); 2-regular, so L_u has 2 + 2 = 4.
TEST_P(Spectra, OfARing) {
  const Graph ring = graph("ring", agents);
  const Spectrum spectrum = laplacian_spectrum(ring);
  expect_relative(spectrum.lambda_2, chord(2 * pi / n));
  expect_relative(spectrum.lambda_max, chord(2 * pi * std::floor(n / 2) / n));
  expect_relative(unsigned_laplacian_max(ring), 4);
}

// Eigenvalues 0, 1 (n-2 times), n; bipartite. Anchored at the hub: the smaller root of
// t^2 - (n+1) t + 1, written without cancellation.
TEST_P(Spectra, OfAStar) {
  const Graph star = graph("star", agents);
  const Spectrum spectrum = laplacian_spectrum(star);
  expect_relative(spectrum.lambda_2, 1);
  expect_relative(spectrum.lambda_max, n);
  expect_relative(unsigned_laplacian_max(star), n);
  expect_relative(anchored_laplacian_min(star, AgentId{0}),
                  2 / (n + 1 + std::sqrt((n + 1) * (n + 1) - 4)));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Spectra, testing::Values(3, 10, 400, 401, 1001, 10000));

// Eigenvalues 0 and n (n-1 times); (n-1)-regular. Anchored: as for the star.
TEST(Spectrum, OfACompleteGraph) {
  for (const std::size_t agents : {2, 3, 50, 450}) {
    const auto n = static_cast<double>(agents);
    const Graph complete = graph("complete", agents);
    const Spectrum spectrum = laplacian_spectrum(complete);
    expect_relative(spectrum.lambda_2, n);
    expect_relative(spectrum.lambda_max, n);
    expect_relative(unsigned_laplacian_max(complete), 2 * (n - 1));
    expect_relative(anchored_laplacian_min(complete, AgentId{1}),
                    2 / (n + 1 + std::sqrt((n + 1) * (n + 1) - 4)));
  }
}

// A k x k grid is the product of two paths: sums of their eigenvalues.
TEST(Spectrum, OfASquareGrid) {
  for (const std::size_t side : {5, 20, 21, 100}) {
    const auto k = static_cast<double>(side);
    const Graph grid = graph("grid", side * side);
    const Spectrum spectrum = laplacian_spectrum(grid);
    expect_relative(spectrum.lambda_2, chord(pi / k));
    expect_relative(spectrum.lambda_max, 2 * chord(pi * (k - 1) / k));
    expect_relative(unsigned_laplacian_max(grid), 2 * chord(pi * (k - 1) / k));
  }
}

TEST(Spectrum, OfOneAgentIsZeroAndAnchoredItIsOne) {
  const Graph alone = graph("ring", 1);
  EXPECT_EQ(laplacian_spectrum(alone).lambda_max, 0);
  EXPECT_EQ(laplacian_spectrum(alone).lambda_2, 0);
  EXPECT_EQ(unsigned_laplacian_max(alone), 0);
  EXPECT_EQ(anchored_laplacian_min(alone, AgentId{0}), 1);
}

// Known answer of design section 7: a ring of ten with chords 0-5 and 2-7.
TEST(Spectrum, OfTheRingWithTwoChordsIsTheKnownAnswer) {
  const Graph ring = graph("ring", 10);
  std::vector<Edge> edges(ring.edges().begin(), ring.edges().end());
  edges.emplace_back(AgentId{0}, AgentId{5});
  edges.emplace_back(AgentId{2}, AgentId{7});
  const Spectrum spectrum = laplacian_spectrum(*Graph::from_edges(10, edges, "known"));
  EXPECT_NEAR(spectrum.lambda_max, 5.11490754, 5e-9);
  EXPECT_NEAR(spectrum.lambda_2, 0.69722436, 5e-9);
}

// No closed form here: a dense eigensolver on the whole matrix, above the dense limit.
TEST(Spectrum, OfLargeRandomGraphsAgreesWithADenseSolver) {
  for (const char* description : {"erdos-renyi:0.02", "geometric:0.1"}) {
    const Graph random = graph(description, 500);
    Matrix laplacian = Matrix::Zero(500, 500);
    for (const auto& [first, second] : random.edges()) {
      laplacian(first.value, first.value) += 1;
      laplacian(second.value, second.value) += 1;
      laplacian(first.value, second.value) = laplacian(second.value, first.value) = -1;
    }
    const Matrix unsigned_laplacian = laplacian.cwiseAbs();
    const auto eigenvalues = [](const Matrix& matrix) -> Vector {
      return matrix.selfadjointView<Eigen::Lower>().eigenvalues();
    };
    const Spectrum spectrum = laplacian_spectrum(random);
    expect_relative(spectrum.lambda_2, eigenvalues(laplacian)[1]);
    expect_relative(spectrum.lambda_max, eigenvalues(laplacian)[499]);
    expect_relative(unsigned_laplacian_max(random), eigenvalues(unsigned_laplacian)[499]);
    laplacian(7, 7) += 1;
    expect_relative(anchored_laplacian_min(random, AgentId{7}), eigenvalues(laplacian)[0]);
  }
}

// sigma+_min as Theorem 1 writes it: the smallest positive eigenvalue of the (edges +
// 1)-dimensional matrix [E_s; S'] [E_s' S].
TEST(Spectrum, AnchoredMinimumIsTheSmallestPositiveEigenvalueOfTheEdgeMatrix) {
  const Graph random = graph("erdos-renyi:0.3", 12);
  const auto edges = static_cast<Index>(random.edges().size());
  Matrix stacked = Matrix::Zero(edges + 1, 12);
  for (Index k = 0; k < edges; ++k) {
    stacked(k, random.edges()[static_cast<std::size_t>(k)].first.value) = 1;
    stacked(k, random.edges()[static_cast<std::size_t>(k)].second.value) = -1;
  }
  stacked(edges, 4) = 1;
  const Matrix gram = stacked * stacked.transpose();
  const Vector eigenvalues = gram.selfadjointView<Eigen::Lower>().eigenvalues();
  // Rank 12 (the graph is connected and anchored): all but the 12 largest are zero.
  const Index zeros = edges + 1 - 12;
  ASSERT_GT(zeros, 0);
  EXPECT_LT(eigenvalues[zeros - 1], 1e-12);
  expect_relative(anchored_laplacian_min(random, AgentId{4}), eigenvalues[zeros]);
}

}  // namespace
}  // namespace grove
