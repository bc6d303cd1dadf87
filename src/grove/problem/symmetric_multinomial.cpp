#include <cassert>
#include <cmath>

#include "grove/problem/multinomial.h"
#include "grove/problem/objective.h"

namespace grove {
namespace {

/// Calls visit(column, value) for the entries of a row in the caller's memory.
template <class Visit>
void visit_entries(const FeatureView& features, std::uint32_t row, const Visit& visit) {
  if (const auto* dense = std::get_if<DenseView>(&features)) {
    const double* values = dense->row(row);
    for (Index column = 0; column < dense->columns; ++column) visit(column, values[column]);
    return;
  }
  const auto& sparse = std::get<CsrView>(features);
  for (std::int32_t k = sparse.offsets[row]; k < sparse.offsets[row + 1]; ++k)
    visit(Index{sparse.indices[k]}, sparse.values[k]);
}

class SymmetricMultinomial final : public Objective {
 public:
  SymmetricMultinomial(const FeatureView& features, std::vector<std::uint32_t> rows, Vector targets,
                       Index classes, ShardTerms terms)
      : features_(features),
        rows_(std::move(rows)),
        targets_(std::move(targets)),
        classes_(classes),
        width_(std::visit([](const auto& view) { return view.columns; }, features)),
        terms_(std::move(terms)) {}

  Index dimension() const override { return penalized() + (terms_.intercept ? classes_ - 1 : 0); }
  Index samples() const override { return targets_.size(); }
  Index second_derivative_count(Batch batch) const override { return size(batch) * classes_; }

  double evaluate(const Vector& x, Batch batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch& scratch) const override {
    auto& probabilities = scratch.second_derivatives;
    probabilities.resize(static_cast<std::size_t>(second_derivative_count(batch)));
    const double value = evaluate_second_derivatives(x, batch, gradient, probabilities, scratch);
    if (hessian) fill_hessian(batch, probabilities, *hessian);
    return value;
  }

  /// The probabilities of all classes, row after row.
  double evaluate_second_derivatives(const Vector& x, Batch batch, Vector* gradient,
                                     std::span<double> probabilities,
                                     ObjectiveScratch&) const override {
    assert(x.size() == dimension());
    if (gradient) gradient->setZero(dimension());
    double total = 0;
    for (Index k = 0; k < size(batch); ++k) {
      const Index own = own_row(batch, k);
      Eigen::Map<Vector> p(probabilities.data() + k * classes_, classes_);
      margins(own, x, p);
      const auto target = static_cast<Index>(targets_[own]);
      const double most = p.maxCoeff(), of_target = p[target];
      p = (p.array() - most).exp();
      const double sum = p.sum();
      total += weight(own) * (most + std::log(sum) - of_target);
      p /= sum;
      if (!gradient) continue;
      Vector slopes = weight(own) * p;
      slopes[target] -= weight(own);
      add_row(own, slopes, *gradient);
    }
    const double scale = sample_scale(batch);
    const auto slopes = x.head(penalized());
    if (gradient) {
      *gradient *= scale;
      gradient->head(penalized()) += penalty() * slopes;
    }
    return scale * total + 0.5 * penalty() * slopes.squaredNorm();
  }

  void weighted_hessian_times(std::span<const double> probabilities, Batch batch,
                              const Vector& direction, Vector& result,
                              ObjectiveScratch&) const override {
    result.setZero(dimension());
    Vector along(classes_);
    for (Index k = 0; k < size(batch); ++k) {
      const Index own = own_row(batch, k);
      const Eigen::Map<const Vector> p(probabilities.data() + k * classes_, classes_);
      margins(own, direction, along);
      const double mean = p.dot(along);
      add_row(own, weight(own) * p.array() * (along.array() - mean), result);
    }
    result *= sample_scale(batch);
    result.head(penalized()) += penalty() * direction.head(penalized());
  }

  /// Böhning's bound on a row, (I - 11'/K)/2, and the trace of X'X in place of its largest
  /// eigenvalue.
  bool penalizes() const override { return terms_.l2 > 0; }
  double smoothness() const override {
    double trace = 0;
    for (Index own = 0; own < samples(); ++own) {
      double square = terms_.intercept ? 1 : 0;
      visit_entries(features_, rows_[static_cast<std::size_t>(own)],
                    [&](Index, double value) { square += value * value; });
      trace += weight(own) * square;
    }
    return 0.5 * sample_scale(Batch::all()) * trace + penalty();
  }

 private:
  Index penalized() const { return width_ * classes_; }
  Index size(Batch batch) const {
    return batch.whole() ? samples() : static_cast<Index>(batch.rows().size());
  }
  static Index own_row(Batch batch, Index k) {
    return batch.whole() ? k : static_cast<Index>(batch.rows()[static_cast<std::size_t>(k)]);
  }
  double weight(Index own) const { return terms_.weights.size() > 0 ? terms_.weights[own] : 1; }
  double sample_scale(Batch batch) const { return terms_.scale / static_cast<double>(size(batch)); }
  double penalty() const { return terms_.scale * terms_.l2; }

  template <class Result>
  void margins(Index own, const Vector& x, Result& result) const {
    result.setZero();
    visit_entries(features_, rows_[static_cast<std::size_t>(own)], [&](Index column, double value) {
      for (Index c = 0; c < classes_; ++c) result[c] += value * x[c * width_ + column];
    });
    if (terms_.intercept) result.tail(classes_ - 1) += x.tail(classes_ - 1);
  }

  void add_row(Index own, const Vector& slopes, Vector& sum) const {
    visit_entries(features_, rows_[static_cast<std::size_t>(own)], [&](Index column, double value) {
      for (Index c = 0; c < classes_; ++c) sum[c * width_ + column] += value * slopes[c];
    });
    if (terms_.intercept) sum.tail(classes_ - 1) += slopes.tail(classes_ - 1);
  }

  /// Adds factor * (row of class a) (row of class b)' to the Hessian.
  void add_block(Index own, Index a, Index b, double factor, Matrix& hessian) const {
    const std::uint32_t row = rows_[static_cast<std::size_t>(own)];
    const auto each = [&](Index block, const auto& visit) {
      visit_entries(features_, row,
                    [&](Index column, double value) { visit(block * width_ + column, value); });
      if (terms_.intercept && block > 0) visit(penalized() + block - 1, 1.0);
    };
    each(b, [&](Index j, double right) {
      if (right == 0) return;
      each(a, [&](Index i, double left) { hessian(i, j) += factor * left * right; });
    });
  }

  void fill_hessian(Batch batch, std::span<const double> probabilities, Matrix& hessian) const {
    hessian.setZero(dimension(), dimension());
    for (Index k = 0; k < size(batch); ++k) {
      const Index own = own_row(batch, k);
      const double* p = probabilities.data() + k * classes_;
      for (Index a = 0; a < classes_; ++a)
        for (Index b = 0; b < classes_; ++b)
          add_block(own, a, b, weight(own) * ((a == b ? p[a] : 0) - p[a] * p[b]), hessian);
    }
    hessian *= sample_scale(batch);
    hessian.diagonal().head(penalized()).array() += penalty();
  }

  FeatureView features_;
  std::vector<std::uint32_t> rows_;
  Vector targets_;
  Index classes_, width_;
  ShardTerms terms_;
};

}  // namespace

std::unique_ptr<const Objective> make_symmetric_multinomial_objective(
    const FeatureView& features, std::vector<std::uint32_t> rows, Vector targets, Index classes,
    const ShardTerms& terms) {
  return std::make_unique<SymmetricMultinomial>(features, std::move(rows), std::move(targets),
                                                classes, terms);
}

}  // namespace grove
