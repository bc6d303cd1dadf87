// Agents with objectives of their own: each wants to be near its point, in its own metric.
#include <cstdio>
#include <memory>
#include <vector>

#include <grove/grove.h>

namespace {

/// f_i(x) = (x - p)' A (x - p) / 2 with a diagonal A.
class NearPoint final : public grove::SmoothObjective {
 public:
  NearPoint(grove::Vector point, grove::Vector weights)
      : point_(std::move(point)), weights_(std::move(weights)) {}

  grove::Index dimension() const override { return point_.size(); }
  double smoothness() const override { return weights_.maxCoeff(); }
  double value(const grove::Vector& x, grove::Vector* gradient,
               grove::Matrix* hessian) const override {
    const grove::Vector pull = weights_.cwiseProduct(x - point_);
    if (gradient) *gradient = pull;
    if (hessian) *hessian = weights_.asDiagonal();
    return 0.5 * pull.dot(x - point_);
  }

 private:
  grove::Vector point_, weights_;
};

}  // namespace

int main() {
  std::vector<std::shared_ptr<const grove::Objective>> objectives;
  grove::Vector weighted = grove::Vector::Zero(2), total = grove::Vector::Zero(2);
  for (int i = 0; i < 5; ++i) {
    const grove::Vector point{{1.0 * i, 2.0 - i}}, weights{{1.0 + i, 1.0}};
    objectives.push_back(std::make_shared<NearPoint>(point, weights));
    weighted += weights.cwiseProduct(point);
    total += weights;
  }
  const auto problem = grove::Problem::from_objectives(std::move(objectives));
  if (!problem) return std::fprintf(stderr, "%s\n", problem.error().text().c_str()), 2;

  grove::Options options;
  options.graph = "path";
  options.tolerance = 1e-18;
  const auto record = grove::run(*problem, options);
  if (!record) return std::fprintf(stderr, "%s\n", record.error().text().c_str()), 2;

  const grove::Vector expected = weighted.cwiseQuotient(total);  // the weighted mean of the points
  std::printf("%s: %.6f %.6f, expected %.6f %.6f\n", record->outcome.detail.c_str(),
              record->solution[0], record->solution[1], expected[0], expected[1]);
  return (record->solution - expected).norm() < 1e-6 ? 0 : 1;
}
