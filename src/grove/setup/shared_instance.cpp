#include "grove/setup/shared_instance.h"

#include <cassert>
#include <cmath>

namespace grove {
namespace {

/// The objective of an agent that lives in another process.
class RemoteObjective final : public Objective {
 public:
  RemoteObjective(Index dimension, Index samples, double smoothness)
      : dimension_(dimension), samples_(samples), smoothness_(smoothness) {}

  Index dimension() const override { return dimension_; }
  Index samples() const override { return samples_; }
  double smoothness() const override { return smoothness_; }

  double evaluate(const Vector&, Batch, Vector*, Matrix*, ObjectiveScratch&) const override {
    assert(!"the data of a distant agent never leave its process");
    return std::nan("");
  }
  double evaluate_second_derivatives(const Vector&, Batch, Vector*, std::span<double>,
                                     ObjectiveScratch&) const override {
    assert(!"the data of a distant agent never leave its process");
    return std::nan("");
  }
  void weighted_hessian_times(std::span<const double>, Batch, const Vector&, Vector&,
                              ObjectiveScratch&) const override {
    assert(!"the data of a distant agent never leave its process");
  }

 private:
  Index dimension_, samples_;
  double smoothness_;
};

/// (1/n) sum_i f_i over all processes: each evaluates its own parts at the same time, then the
/// results are added in agent order.
class SharedMean final : public Objective {
 public:
  SharedMean(Cluster& cluster, std::vector<std::shared_ptr<const Objective>> own, Index dimension,
             Index samples, double agents, double smoothness)
      : cluster_(cluster),
        own_(std::move(own)),
        dimension_(dimension),
        samples_(samples),
        agents_(agents),
        smoothness_(smoothness) {}

  Index dimension() const override { return dimension_; }
  Index samples() const override { return samples_; }
  double smoothness() const override { return smoothness_; }

  double evaluate(const Vector& x, [[maybe_unused]] Batch batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    std::vector<Vector> parts;
    for (const auto& objective : own_) {
      Vector& part = parts.emplace_back(words(gradient, hessian));
      part[0] = objective->evaluate(x, Batch::all(), gradient ? &scratch.part_vector : nullptr,
                                    hessian ? &scratch.part_hessian : nullptr, scratch);
      if (gradient) part.segment(1, dimension_) = scratch.part_vector;
      if (hessian) part.tail(dimension_ * dimension_) = scratch.part_hessian.reshaped();
    }
    const Vector total = mean_of(parts, words(gradient, hessian));
    if (gradient) *gradient = total.segment(1, dimension_);
    if (hessian) *hessian = total.tail(dimension_ * dimension_).reshaped(dimension_, dimension_);
    return total[0];
  }

  Index second_derivative_count(Batch) const override {
    Index count = 0;
    for (const auto& objective : own_) count += objective->second_derivative_count(Batch::all());
    return count;
  }

  /// Of the samples in this process only, in agent order: the others' stay with them.
  double evaluate_second_derivatives(const Vector& x, [[maybe_unused]] Batch batch,
                                     Vector* gradient, std::span<double> second_derivatives,
                                     ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    std::vector<Vector> parts;
    for (const auto& objective : own_) {
      Vector& part = parts.emplace_back(words(gradient, false));
      part[0] = objective->evaluate_second_derivatives(
          x, Batch::all(), gradient ? &scratch.part_vector : nullptr,
          second_derivatives.first(objective->second_derivative_count(Batch::all())), scratch);
      second_derivatives =
          second_derivatives.subspan(objective->second_derivative_count(Batch::all()));
      if (gradient) part.tail(dimension_) = scratch.part_vector;
    }
    const Vector total = mean_of(parts, words(gradient, false));
    if (gradient) *gradient = total.tail(dimension_);
    return total[0];
  }

  void weighted_hessian_times(std::span<const double> second_derivatives,
                              [[maybe_unused]] Batch batch, const Vector& direction, Vector& result,
                              ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    std::vector<Vector> parts;
    for (const auto& objective : own_) {
      objective->weighted_hessian_times(
          second_derivatives.first(objective->second_derivative_count(Batch::all())), Batch::all(),
          direction, scratch.part_vector, scratch);
      second_derivatives =
          second_derivatives.subspan(objective->second_derivative_count(Batch::all()));
      parts.push_back(scratch.part_vector);
    }
    result = mean_of(parts, dimension_);
  }

 private:
  Index words(bool gradient, bool hessian) const {
    return 1 + (gradient ? dimension_ : 0) + (hessian ? dimension_ * dimension_ : 0);
  }

  Vector mean_of(const std::vector<Vector>& parts, Index size) const {
    Vector total(size);
    cluster_.ordered_sum({total.data(), static_cast<std::size_t>(size)}, [&] {
      for (const Vector& part : parts) total += part;
    });
    return total / agents_;
  }

  Cluster& cluster_;
  std::vector<std::shared_ptr<const Objective>> own_;
  Index dimension_, samples_;
  double agents_;
  double smoothness_;
};

}  // namespace

void share(Instance& instance, Cluster& cluster) {
  std::vector<double> own_facts;
  std::vector<std::shared_ptr<const Objective>> own;
  const AgentRange here = instance.own_agents();
  for (std::uint32_t i = here.first; i < here.last; ++i) {
    own.push_back(instance.objectives[i]);
    own_facts.push_back(static_cast<double>(own.back()->samples()));  // exact below 2^53
    own_facts.push_back(own.back()->smoothness());
  }
  const Index dimension = own.front()->dimension();
  const std::vector<double> facts = cluster.gather(own_facts);
  Index samples = 0;
  double smoothness = 0;
  for (std::uint32_t i = 0; i < instance.agents(); ++i) {
    const auto count = static_cast<Index>(facts[std::size_t{2} * i]);
    samples += count;
    smoothness += facts[std::size_t{2} * i + 1];
    if (!here.contains(AgentId{i}))
      instance.objectives[i] =
          std::make_shared<RemoteObjective>(dimension, count, facts[std::size_t{2} * i + 1]);
  }
  const auto agents = static_cast<double>(instance.agents());
  instance.mean = std::make_unique<SharedMean>(cluster, std::move(own), dimension, samples, agents,
                                               smoothness / agents);
}

}  // namespace grove
