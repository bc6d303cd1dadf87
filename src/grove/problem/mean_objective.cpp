#include <cassert>
#include <utility>

#include "grove/problem/objective.h"

namespace grove {
namespace {

class MeanObjective final : public Objective {
 public:
  explicit MeanObjective(std::vector<const Objective*> parts) : parts_(std::move(parts)) {
    assert(!parts_.empty());
    for ([[maybe_unused]] const Objective* part : parts_) assert(part->dimension() == dimension());
  }

  Index dimension() const override { return parts_.front()->dimension(); }

  Index samples() const override {
    Index total = 0;
    for (const Objective* part : parts_) total += part->samples();
    return total;
  }

  double evaluate(const Vector& x, [[maybe_unused]] Batch batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    if (gradient) gradient->setZero(dimension());
    if (hessian) hessian->setZero(dimension(), dimension());
    double total = 0;
    for (const Objective* part : parts_) {
      total += part->evaluate(x, Batch::all(), gradient ? &scratch.part_vector : nullptr,
                              hessian ? &scratch.part_hessian : nullptr, scratch);
      if (gradient) *gradient += scratch.part_vector;
      if (hessian) *hessian += scratch.part_hessian;
    }
    if (gradient) *gradient /= count();
    if (hessian) *hessian /= count();
    return total / count();
  }

  double evaluate_curvatures(const Vector& x, [[maybe_unused]] Batch batch, Vector* gradient,
                             std::span<double> curvatures,
                             ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    if (gradient) gradient->setZero(dimension());
    double total = 0;
    for (const Objective* part : parts_) {
      total += part->evaluate_curvatures(x, Batch::all(), gradient ? &scratch.part_vector : nullptr,
                                         curvatures.first(part->samples()), scratch);
      curvatures = curvatures.subspan(part->samples());
      if (gradient) *gradient += scratch.part_vector;
    }
    if (gradient) *gradient /= count();
    return total / count();
  }

  void weighted_hessian_times(std::span<const double> curvatures, [[maybe_unused]] Batch batch,
                              const Vector& direction, Vector& result,
                              ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    result.setZero(dimension());
    for (const Objective* part : parts_) {
      part->weighted_hessian_times(curvatures.first(part->samples()), Batch::all(), direction,
                                   scratch.part_vector, scratch);
      curvatures = curvatures.subspan(part->samples());
      result += scratch.part_vector;
    }
    result /= count();
  }

  double smoothness() const override {
    double total = 0;
    for (const Objective* part : parts_) total += part->smoothness();
    return total / count();
  }

 private:
  double count() const { return static_cast<double>(parts_.size()); }

  std::vector<const Objective*> parts_;
};

}  // namespace

std::unique_ptr<const Objective> make_mean_objective(std::vector<const Objective*> parts) {
  return std::make_unique<MeanObjective>(std::move(parts));
}

}  // namespace grove
