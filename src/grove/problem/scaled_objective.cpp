#include <cassert>
#include <mutex>

#include "grove/base/eigenvalues.h"
#include "grove/problem/objective.h"

namespace grove {
namespace {

class ScaledObjective final : public Objective {
 public:
  ScaledObjective(std::shared_ptr<const Objective> original,
                  std::shared_ptr<const ColumnScaling> scaling)
      : original_(std::move(original)), scaling_(std::move(scaling)) {
    assert(scaling_->blocks == 1 && scaling_->dimension() == original_->dimension());
  }

  Index dimension() const override { return original_->dimension(); }
  Index samples() const override { return original_->samples(); }

  double evaluate(const Vector& x, Batch batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch& scratch) const override {
    set_original(x, scratch.original_point);
    const double value =
        original_->evaluate(scratch.original_point, batch, gradient, hessian, scratch);
    if (gradient) scaling_->scale_gradient(*gradient);
    if (hessian) scaling_->scale_hessian(*hessian);
    return value;
  }

  Index second_derivative_count(Batch batch) const override {
    return original_->second_derivative_count(batch);
  }

  double evaluate_second_derivatives(const Vector& x, Batch batch, Vector* gradient,
                                     std::span<double> second_derivatives,
                                     ObjectiveScratch& scratch) const override {
    set_original(x, scratch.original_point);
    const double value = original_->evaluate_second_derivatives(
        scratch.original_point, batch, gradient, second_derivatives, scratch);
    if (gradient) scaling_->scale_gradient(*gradient);
    return value;
  }

  void weighted_hessian_times(std::span<const double> second_derivatives, Batch batch,
                              const Vector& direction, Vector& result,
                              ObjectiveScratch& scratch) const override {
    set_original(direction, scratch.original_direction);
    original_->weighted_hessian_times(second_derivatives, batch, scratch.original_direction, result,
                                      scratch);
    scaling_->scale_gradient(result);
  }

  Index sketch_hessian(const Vector& x, Index samples_to_take, Matrix& hessian,
                       ObjectiveScratch& scratch) const override {
    // Centering subtracts numbers that a sketch gives with different errors.
    if (scaling_->centers()) return Objective::sketch_hessian(x, samples_to_take, hessian, scratch);
    set_original(x, scratch.original_point);
    const Index taken =
        original_->sketch_hessian(scratch.original_point, samples_to_take, hessian, scratch);
    scaling_->scale_hessian(hessian);
    return taken;
  }

  bool majorizer(const Vector& x, Matrix& result, ObjectiveScratch& scratch) const override {
    set_original(x, scratch.original_point);
    if (!original_->majorizer(scratch.original_point, result, scratch)) return false;
    scaling_->scale_hessian(result);
    return true;
  }

  bool penalizes() const override { return original_->penalizes(); }

  std::optional<double> fenchel_gap(const Vector& x, const Vector& step,
                                    Vector& correction) const override {
    const auto gap =
        original_->fenchel_gap(scaling_->to_original(x), scaling_->to_original(step), correction);
    if (gap) scaling_->scale_gradient(correction);
    return gap;
  }

  void usual_second_derivatives(std::span<double> second_derivatives) const override {
    original_->usual_second_derivatives(second_derivatives);
  }
  double largest_second_derivative() const override {
    return original_->largest_second_derivative();
  }

  double smoothness() const override {
    std::call_once(smoothness_known_, [&] { smoothness_ = largest_eigenvalue(); });
    return smoothness_;
  }

 private:
  void set_original(const Vector& scaled, Vector& original) const {
    const Index features = scaling_->features();
    original = scaled;
    original.head(features).array() /= scaling_->scale.array();
    if (scaling_->intercept) original[features] -= scaling_->center.dot(original.head(features));
  }

  /// Of the Hessian if every loss had its usual second derivative.
  double largest_eigenvalue() const {
    std::vector<double> second_derivatives(
        static_cast<std::size_t>(second_derivative_count(Batch::all())));
    usual_second_derivatives(second_derivatives);
    ObjectiveScratch scratch;
    const auto times = [&](const Vector& in, Vector& out) {
      weighted_hessian_times(second_derivatives, Batch::all(), in, out, scratch);
    };
    if (const auto found =
            dimension() <= 16
                ? std::nullopt
                : extreme_eigenvalue(dimension(), times, SpectrumEnd::largest,
                                     {.vectors = 12, .restarts = 10, .accuracy = 1e-6}))
      return *found;
    // The trace bounds the largest eigenvalue.
    double trace = 0;
    Vector product;
    for (Index k = 0; k < dimension(); ++k) {
      times(Vector::Unit(dimension(), k), product);
      trace += product[k];
    }
    return trace;
  }

  std::shared_ptr<const Objective> original_;
  std::shared_ptr<const ColumnScaling> scaling_;
  mutable std::once_flag smoothness_known_;
  mutable double smoothness_ = 0;
};

}  // namespace

std::unique_ptr<const Objective> make_scaled_objective(
    std::shared_ptr<const Objective> original, std::shared_ptr<const ColumnScaling> scaling) {
  return std::make_unique<ScaledObjective>(std::move(original), std::move(scaling));
}

}  // namespace grove
