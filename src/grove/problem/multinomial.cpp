#include "grove/problem/multinomial.h"

#include <cassert>
#include <cmath>
#include <mutex>

#include "grove/base/eigenvalues.h"

namespace grove {
namespace {

/// Coefficients as a matrix: a row per feature and one for the intercept, a column per class but
/// the first.
Matrix as_matrix(const Vector& x, Index features, Index others, bool intercept) {
  Matrix result(features + (intercept ? 1 : 0), others);
  result.topRows(features) = Eigen::Map<const Matrix>(x.data(), features, others);
  if (intercept) result.row(features) = x.tail(others).transpose();
  return result;
}

void from_matrix(const Matrix& matrix, Index features, Vector& x) {
  x.resize(matrix.size());
  Eigen::Map<Matrix>(x.data(), features, matrix.cols()) = matrix.topRows(features);
  if (matrix.rows() > features) x.tail(matrix.cols()) = matrix.row(features).transpose();
}

DenseRows with_ones(const DenseRows& features) {
  DenseRows result(features.rows(), features.cols() + 1);
  result << features, Vector::Ones(features.rows());
  return result;
}

class MultinomialObjective final : public Objective {
 public:
  MultinomialObjective(const Design& design, Index classes, const SiteTerms& terms)
      : rows_(terms.intercept ? with_ones(std::get<DenseRows>(design.samples.features))
                              : std::get<DenseRows>(design.samples.features)),
        targets_(design.samples.targets),
        weights_(design.weights),
        features_(design.samples.dimension()),
        others_(classes - 1),
        terms_(terms) {}

  Index dimension() const override { return rows_.cols() * others_; }
  Index samples() const override { return rows_.rows(); }

  double evaluate(const Vector& x, Batch batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch& scratch) const override {
    auto& probabilities = scratch.second_derivatives;
    probabilities.resize(static_cast<std::size_t>(second_derivative_count(batch)));
    const double value = evaluate_second_derivatives(x, batch, gradient, probabilities, scratch);
    if (hessian) fill_hessian(batch, probabilities, *hessian);
    return value;
  }

  Index second_derivative_count(Batch batch) const override { return size(batch) * others_; }

  /// The probabilities of all classes but the first, row after row.
  double evaluate_second_derivatives(const Vector& x, Batch batch, Vector* gradient,
                                     std::span<double> probabilities,
                                     ObjectiveScratch&) const override {
    assert(x.size() == dimension());
    const Matrix coefficients = as_matrix(x, features_, others_, terms_.intercept);
    Matrix sum = Matrix::Zero(coefficients.rows(), coefficients.cols());
    double total = 0;
    for (Index k = 0; k < size(batch); ++k) {
      const Index row = row_of(batch, k);
      Eigen::Map<Vector> p(probabilities.data() + k * others_, others_);
      p.noalias() = coefficients.transpose() * rows_.row(row).transpose();
      const auto target = static_cast<Index>(targets_[row]);
      const double own = target > 0 ? p[target - 1] : 0;
      const double most = std::max(0.0, p.maxCoeff());
      p = (p.array() - most).exp();
      const double sum_of_classes = std::exp(-most) + p.sum();
      total += weight(row) * (most + std::log(sum_of_classes) - own);
      p /= sum_of_classes;
      if (!gradient) continue;
      for (Index c = 0; c < others_; ++c)
        sum.col(c) +=
            (weight(row) * (p[c] - (c + 1 == target ? 1 : 0))) * rows_.row(row).transpose();
    }
    const auto penalized = x.head(features_ * others_);
    if (gradient) {
      from_matrix(sum * sample_scale(batch), features_, *gradient);
      gradient->head(penalized.size()) += penalty() * penalized;
    }
    return sample_scale(batch) * total + 0.5 * penalty() * penalized.squaredNorm();
  }

  void weighted_hessian_times(std::span<const double> probabilities, Batch batch,
                              const Vector& direction, Vector& result,
                              ObjectiveScratch&) const override {
    const Matrix along = as_matrix(direction, features_, others_, terms_.intercept);
    Matrix sum = Matrix::Zero(along.rows(), along.cols());
    Vector slopes(others_);
    for (Index k = 0; k < size(batch); ++k) {
      const Index row = row_of(batch, k);
      const Eigen::Map<const Vector> p(probabilities.data() + k * others_, others_);
      slopes.noalias() = along.transpose() * rows_.row(row).transpose();
      const double mean = p.dot(slopes);
      slopes = weight(row) * p.array() * (slopes.array() - mean);
      sum.noalias() += rows_.row(row).transpose() * slopes.transpose();
    }
    from_matrix(sum * sample_scale(batch), features_, result);
    result.head(features_ * others_) += penalty() * direction.head(features_ * others_);
  }

  /// Böhning's bound: the Hessian of one row by eta is at most (I - 11'/K)/2.
  bool penalizes() const override { return terms_.l2 > 0; }
  double smoothness() const override {
    std::call_once(smoothness_known_, [&] {
      Matrix gram = Matrix::Zero(rows_.cols(), rows_.cols());
      for (Index row = 0; row < samples(); ++row)
        gram.selfadjointView<Eigen::Lower>().rankUpdate(rows_.row(row).transpose(), weight(row));
      gram = gram.selfadjointView<Eigen::Lower>();
      smoothness_ =
          0.5 * sample_scale(Batch::all()) * symmetric_eigenvalues(gram).tail(1)[0] + penalty();
    });
    return smoothness_;
  }

 private:
  Index size(Batch batch) const {
    return batch.whole() ? samples() : static_cast<Index>(batch.rows().size());
  }
  static Index row_of(Batch batch, Index k) {
    return batch.whole() ? k : static_cast<Index>(batch.rows()[static_cast<std::size_t>(k)]);
  }
  double weight(Index row) const { return weights_.size() > 0 ? weights_[row] : 1; }
  double sample_scale(Batch batch) const { return terms_.scale / static_cast<double>(size(batch)); }
  double penalty() const { return terms_.scale * terms_.l2; }

  /// The coordinate of feature `row` (the last: the intercept) of class `column` + 1.
  Index position(Index row, Index column) const {
    return row < features_ ? column * features_ + row : features_ * others_ + column;
  }

  void fill_hessian(Batch batch, std::span<const double> probabilities, Matrix& hessian) const {
    hessian.setZero(dimension(), dimension());
    const Index width = rows_.cols();
    Matrix block(width, width);
    for (Index a = 0; a < others_; ++a)
      for (Index b = 0; b <= a; ++b) {
        block.setZero();
        for (Index k = 0; k < size(batch); ++k) {
          const Index row = row_of(batch, k);
          const double pa = probabilities[static_cast<std::size_t>(k * others_ + a)];
          const double pb = probabilities[static_cast<std::size_t>(k * others_ + b)];
          block.selfadjointView<Eigen::Lower>().rankUpdate(
              rows_.row(row).transpose(), weight(row) * ((a == b ? pa : 0) - pa * pb));
        }
        for (Index i = 0; i < width; ++i)
          for (Index j = 0; j < width; ++j) {
            const double entry = sample_scale(batch) * block(std::max(i, j), std::min(i, j));
            hessian(position(i, a), position(j, b)) = entry;
            hessian(position(j, b), position(i, a)) = entry;
          }
      }
    hessian.diagonal().head(features_ * others_).array() += penalty();
  }

  DenseRows rows_;  ///< with ones at the end where there is an intercept
  Vector targets_, weights_;
  Index features_, others_;
  SiteTerms terms_;
  mutable std::once_flag smoothness_known_;
  mutable double smoothness_ = 0;
};

}  // namespace

std::unique_ptr<const Objective> make_multinomial_objective(const Design& design, Index classes,
                                                            const SiteTerms& terms) {
  return std::make_unique<MultinomialObjective>(design, classes, terms);
}

Matrix class_probabilities(const DenseRows& features, Index classes, bool intercept,
                           const Vector& x) {
  const Index others = classes - 1;
  const Matrix coefficients = as_matrix(x, features.cols(), others, intercept);
  Matrix result(features.rows(), classes);
  for (Index row = 0; row < features.rows(); ++row) {
    Vector eta = Vector::Zero(classes);
    eta.tail(others) =
        coefficients.topRows(features.cols()).transpose() * features.row(row).transpose();
    if (intercept) eta.tail(others) += coefficients.row(features.cols()).transpose();
    eta = (eta.array() - eta.maxCoeff()).exp();
    result.row(row) = (eta / eta.sum()).transpose();
  }
  return result;
}

}  // namespace grove
