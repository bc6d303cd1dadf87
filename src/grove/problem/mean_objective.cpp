#include <algorithm>
#include <cassert>
#include <utility>

#include <oneapi/tbb/enumerable_thread_specific.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include "grove/problem/objective.h"

namespace grove {
namespace {

class MeanObjective final : public Objective {
 public:
  MeanObjective(std::vector<const Objective*> parts, int threads)
      : parts_(std::move(parts)), arena_(threads > 0 ? threads : tbb::task_arena::automatic) {
    assert(!parts_.empty());
    for (const Objective* part : parts_) {
      assert(part->dimension() == dimension());
      firsts_.push_back(second_derivatives_);
      second_derivatives_ += part->second_derivative_count(Batch::all());
      samples_ += part->samples();
    }
  }

  Index dimension() const override { return parts_.front()->dimension(); }
  Index samples() const override { return samples_; }
  Index second_derivative_count(Batch) const override { return second_derivatives_; }

  double evaluate(const Vector& x, [[maybe_unused]] Batch batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    if (gradient) gradient->setZero(dimension());
    if (hessian) hessian->setZero(dimension(), dimension());
    double total = 0;
    const auto look = [&](std::size_t k, Part& part, ObjectiveScratch& own) {
      part.value = parts_[k]->evaluate(x, Batch::all(), gradient ? &part.vector : nullptr,
                                       hessian ? &part.matrix : nullptr, own);
    };
    for_each_part(hessian != nullptr, scratch, look, [&](const Part& part) {
      total += part.value;
      if (gradient) *gradient += part.vector;
      if (hessian) *hessian += part.matrix;
    });
    if (gradient) *gradient /= count();
    if (hessian) *hessian /= count();
    return total / count();
  }

  double evaluate_second_derivatives(const Vector& x, [[maybe_unused]] Batch batch,
                                     Vector* gradient, std::span<double> second_derivatives,
                                     ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    if (gradient) gradient->setZero(dimension());
    double total = 0;
    const auto look = [&](std::size_t k, Part& part, ObjectiveScratch& own) {
      part.value = parts_[k]->evaluate_second_derivatives(
          x, Batch::all(), gradient ? &part.vector : nullptr, of_part(k, second_derivatives), own);
    };
    for_each_part(false, scratch, look, [&](const Part& part) {
      total += part.value;
      if (gradient) *gradient += part.vector;
    });
    if (gradient) *gradient /= count();
    return total / count();
  }

  void weighted_hessian_times(std::span<const double> second_derivatives,
                              [[maybe_unused]] Batch batch, const Vector& direction, Vector& result,
                              ObjectiveScratch& scratch) const override {
    assert(batch.whole());
    result.setZero(dimension());
    const auto multiply = [&](std::size_t k, Part& part, ObjectiveScratch& own) {
      parts_[k]->weighted_hessian_times(of_part(k, second_derivatives), Batch::all(), direction,
                                        part.vector, own);
    };
    for_each_part(false, scratch, multiply, [&](const Part& part) { result += part.vector; });
    result /= count();
  }

  bool restricts() const override {
    return std::ranges::all_of(parts_, [](const Objective* part) { return part->restricts(); });
  }

  bool append_restricted(std::span<const double> second_derivatives, ColumnPlaces places,
                         double factor, RestrictedRows& result) const override {
    for (std::size_t k = 0; k < parts_.size(); ++k)
      if (!parts_[k]->append_restricted(of_part(k, second_derivatives), places, factor / count(),
                                        result))
        return false;
    return true;
  }

  bool hessian_diagonal(std::span<const double> second_derivatives, Vector& result) const override {
    result.setZero(dimension());
    Vector part;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (!parts_[k]->hessian_diagonal(of_part(k, second_derivatives), part)) return false;
      result += part;
    }
    result /= count();
    return true;
  }

  std::optional<double> fenchel_gap(const Vector& x, const Vector& step,
                                    Vector& correction) const override {
    std::vector<std::optional<double>> gaps(parts_.size());
    std::vector<Vector> corrections(parts_.size());
    in_parallel(0, parts_.size(),
                [&](std::size_t k) { gaps[k] = parts_[k]->fenchel_gap(x, step, corrections[k]); });
    double total = 0;
    correction.setZero(dimension());
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      if (!gaps[k]) return std::nullopt;
      total += *gaps[k];
      correction += corrections[k];
    }
    correction /= count();
    return total / count();
  }

  bool penalizes() const override {
    return std::ranges::any_of(parts_, [](const Objective* part) { return part->penalizes(); });
  }

  bool falls_along(const Vector& x) const override {
    return std::ranges::all_of(parts_, [&](const Objective* part) { return part->falls_along(x); });
  }

  std::optional<ColumnMoments> column_moments() const override {
    std::vector<std::optional<ColumnMoments>> moments(parts_.size());
    in_parallel(0, parts_.size(), [&](std::size_t k) { moments[k] = parts_[k]->column_moments(); });
    std::vector<ColumnMoments> all;
    for (auto& part : moments) {
      if (!part) return std::nullopt;
      all.push_back(std::move(*part));
    }
    return merge(all);
  }

  void metric(const ColumnScaling& scaling, Matrix& result) const override {
    result.setZero(dimension(), dimension());
    Matrix part;
    for (const Objective* objective : parts_) {
      objective->metric(scaling, part);
      result += part;
    }
    result /= count();
  }

  void usual_second_derivatives(std::span<double> second_derivatives) const override {
    for (std::size_t k = 0; k < parts_.size(); ++k)
      parts_[k]->usual_second_derivatives(of_part(k, second_derivatives));
  }

  double largest_second_derivative() const override {
    double largest = 0;
    for (const Objective* part : parts_)
      largest = std::max(largest, part->largest_second_derivative());
    return largest;
  }

  double smoothness() const override {
    // Parts remember theirs; here they find it side by side.
    in_parallel(0, parts_.size(), [this](std::size_t k) { parts_[k]->smoothness(); });
    double total = 0;
    for (const Objective* part : parts_) total += part->smoothness();
    return total / count();
  }

 private:
  /// What one part says.
  struct Part {
    double value = 0;
    Vector vector;
    Matrix matrix;
  };

  template <class Number>
  std::span<Number> of_part(std::size_t k, std::span<Number> all) const {
    return all.subspan(firsts_[k], parts_[k]->second_derivative_count(Batch::all()));
  }

  double count() const { return static_cast<double>(parts_.size()); }

  template <class Body>
  void in_parallel(std::size_t first, std::size_t last, const Body& body) const {
    arena_.execute([&] { tbb::parallel_for(first, last, body); });
  }

  /// Parts are looked at side by side, a block at a time, and added in their order: the same bits
  /// with any number of threads.
  template <class Look, class Add>
  void for_each_part(bool matrices, ObjectiveScratch& scratch, const Look& look,
                     const Add& add) const {
    const auto threads = static_cast<std::size_t>(arena_.max_concurrency());
    if (threads == 1 || parts_.size() == 1) {
      Part part{.vector = std::move(scratch.part_vector),
                .matrix = std::move(scratch.part_hessian)};
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        look(k, part, scratch);
        add(part);
      }
      scratch.part_vector = std::move(part.vector);
      scratch.part_hessian = std::move(part.matrix);
      return;
    }
    constexpr std::size_t vectors_a_thread = 16;  // small parts are not worth a thread each
    std::vector<Part> block(std::min(parts_.size(), threads * (matrices ? 1 : vectors_a_thread)));
    for (std::size_t first = 0; first < parts_.size(); first += block.size()) {
      const std::size_t last = std::min(parts_.size(), first + block.size());
      in_parallel(first, last,
                  [&](std::size_t k) { look(k, block[k - first], scratches_.local()); });
      for (std::size_t k = first; k < last; ++k) add(block[k - first]);
    }
  }

  std::vector<const Objective*> parts_;
  std::vector<Index> firsts_;  ///< by part: where its second derivatives begin
  Index samples_ = 0, second_derivatives_ = 0;
  mutable tbb::task_arena arena_;
  mutable tbb::enumerable_thread_specific<ObjectiveScratch> scratches_;
};

}  // namespace

std::unique_ptr<const Objective> make_mean_objective(std::vector<const Objective*> parts,
                                                     int threads) {
  return std::make_unique<MeanObjective>(std::move(parts), threads);
}

}  // namespace grove
