#include "grove/setup/shared_instance.h"

#include <algorithm>
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

  std::optional<double> fenchel_gap(const Vector& x, const Vector& step,
                                    Vector& correction) const override {
    std::vector<Vector> parts;  // the gap, then the correction
    for (const auto& objective : own_) {
      Vector own = Vector::Zero(dimension_);
      const auto gap = objective->fenchel_gap(x, step, own);
      Vector& part = parts.emplace_back(dimension_ + 1);
      part << gap.value_or(std::nan("")), own;
    }
    const Vector total = mean_of(parts, dimension_ + 1);
    if (std::isnan(total[0])) return std::nullopt;
    correction = total.tail(dimension_);
    return total[0];
  }

  bool penalizes() const override {
    const bool own =
        std::ranges::any_of(own_, [](const auto& objective) { return objective->penalizes(); });
    return cluster_.allreduce_max(own ? 1 : 0) > 0;
  }

  bool falls_along(const Vector& x) const override {
    const bool own =
        std::ranges::all_of(own_, [&](const auto& objective) { return objective->falls_along(x); });
    return cluster_.allreduce_max(own ? 0 : 1) == 0;
  }

  std::optional<ColumnMoments> column_moments() const override {
    std::vector<double> own;
    bool known = true;
    for (const auto& objective : own_) {
      const auto part = objective->column_moments();
      known = known && part;
      if (!known) break;
      own.insert(own.end(), {part->mass, part->sparse ? 1.0 : 0.0, part->shards});
      for (const Vector* numbers :
           {&part->mean, &part->variance, &part->medians, &part->log_deviation, &part->deviations,
            &part->log_size, &part->sizes})
        own.insert(own.end(), numbers->begin(), numbers->end());
    }
    if (cluster_.allreduce_max(known ? 0 : 1) > 0) return std::nullopt;
    const std::vector<double> all = cluster_.gather(own);
    const auto words = all.size() / static_cast<std::size_t>(agents_);
    const auto features = static_cast<Index>(words - 3) / 7;
    std::vector<ColumnMoments> parts;
    for (std::size_t at = 0; at < all.size(); at += words) {
      ColumnMoments& part = parts.emplace_back(
          ColumnMoments{.mass = all[at], .sparse = all[at + 1] > 0, .shards = all[at + 2]});
      const double* numbers = &all[at] + 3;
      for (Vector* to : {&part.mean, &part.variance, &part.medians, &part.log_deviation,
                         &part.deviations, &part.log_size, &part.sizes}) {
        *to = Eigen::Map<const Vector>(numbers, features);
        numbers += features;
      }
    }
    return merge(parts);
  }

  void metric(const ColumnScaling& scaling, Matrix& result) const override {
    std::vector<Vector> parts;
    for (const auto& objective : own_) {
      objective->metric(scaling, result);
      parts.emplace_back(result.reshaped());
    }
    result = mean_of(parts, dimension_ * dimension_).reshaped(dimension_, dimension_);
  }

  /// Of the samples in this process only, as evaluate_second_derivatives().
  void usual_second_derivatives(std::span<double> second_derivatives) const override {
    for (const auto& objective : own_) {
      const auto count = static_cast<std::size_t>(objective->second_derivative_count(Batch::all()));
      objective->usual_second_derivatives(second_derivatives.first(count));
      second_derivatives = second_derivatives.subspan(count);
    }
  }

  double largest_second_derivative() const override {
    double own = 0;
    for (const auto& objective : own_) own = std::max(own, objective->largest_second_derivative());
    return std::ranges::max(cluster_.gather({&own, 1}));
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
