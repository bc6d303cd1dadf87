#include <cassert>
#include <utility>

#include <Spectra/SymEigsSolver.h>
#include <Eigen/Eigenvalues>

#include "grove/problem/dense_pass.h"
#include "grove/problem/objective.h"
#include "grove/problem/sparse_pass.h"

namespace grove {
namespace {

/// Up to this dimension the eigenvalues of W'W come from a dense solver, beyond from Lanczos.
constexpr Index dense_eigenvalues_limit = 500;

DenseRows with_constant_column(DenseRows rows) {
  rows.conservativeResize(Eigen::NoChange, rows.cols() + 1);
  rows.rightCols(1).setOnes();
  return rows;
}

SparseRows with_constant_column(const SparseRows& rows) {
  SparseRows extended(rows.rows(), rows.cols() + 1);
  extended.reserve(rows.nonZeros() + rows.rows());
  for (Index row = 0; row < rows.rows(); ++row) {
    extended.startVec(row);
    for (SparseRows::InnerIterator entry(rows, row); entry; ++entry)
      extended.insertBack(row, entry.col()) = entry.value();
    extended.insertBack(row, rows.cols()) = 1;
  }
  extended.finalize();
  return extended;
}

Features prepared(Features features, bool intercept) {
  if (auto* rows = std::get_if<SparseRows>(&features)) rows->makeCompressed();
  if (!intercept) return features;
  return std::visit([](auto& rows) -> Features { return with_constant_column(std::move(rows)); },
                    features);
}

void mirror_lower_triangle(Matrix& matrix) {
  for (Index column = 1; column < matrix.cols(); ++column)
    matrix.col(column).head(column) = matrix.row(column).head(column).transpose();
}

class ShardObjective final : public Objective {
 public:
  ShardObjective(Samples samples, const ShardTerms& terms)
      : features_(prepared(std::move(samples.features), terms.intercept)),
        targets_(std::move(samples.targets)),
        terms_(terms),
        dimension_(std::visit([](const auto& rows) { return Index{rows.cols()}; }, features_)),
        penalized_(dimension_ - (terms.intercept ? 1 : 0)) {
    assert(targets_.size() > 0);
  }

  Index dimension() const override { return dimension_; }
  Index samples() const override { return targets_.size(); }

  double evaluate(const Vector& x, Batch batch, Vector* gradient, Matrix* hessian,
                  ObjectiveScratch& scratch) const override {
    assert(x.size() == dimension_);
    if (gradient) gradient->setZero(dimension_);
    if (hessian) hessian->setZero(dimension_, dimension_);
    const double losses = std::visit(
        [&](const auto& loss, const auto& rows) {
          return add_losses(loss, rows, targets_, batch, x, gradient, hessian, scratch.block);
        },
        terms_.loss, features_);

    const double weight = sample_weight(batch);
    const auto penalized = x.head(penalized_);
    if (gradient) {
      *gradient *= weight;
      gradient->head(penalized_) += penalty() * penalized;
    }
    if (hessian) {
      mirror_lower_triangle(*hessian);
      *hessian *= weight;
      hessian->diagonal().head(penalized_).array() += penalty();
    }
    return weight * losses + 0.5 * penalty() * penalized.squaredNorm();
  }

  void hessian_times(const Vector& x, Batch batch, const Vector& direction, Vector& result,
                     ObjectiveScratch& scratch) const override {
    assert(x.size() == dimension_ && direction.size() == dimension_ && &result != &direction);
    result.setZero(dimension_);
    std::visit(
        [&](const auto& loss, const auto& rows) {
          add_curvature_times(loss, rows, targets_, batch, x, direction, result, scratch.block);
        },
        terms_.loss, features_);
    result *= sample_weight(batch);
    result.head(penalized_) += penalty() * direction.head(penalized_);
  }

  double smoothness() const override {
    const double bend =
        std::visit([](const auto& loss) { return loss.max_curvature; }, terms_.loss);
    return largest_eigenvalue(bend * sample_weight(Batch::all()));
  }

 private:
  double penalty() const { return terms_.scale * terms_.l2; }

  double sample_weight(Batch batch) const {
    const std::size_t size = batch.whole() ? targets_.size() : batch.rows().size();
    assert(size > 0);
    return terms_.scale / static_cast<double>(size);
  }

  /// Of weight W'W plus the penalty: the Hessian of the squared loss, anywhere.
  double largest_eigenvalue(double weight) const {
    return dimension_ <= dense_eigenvalues_limit ? dense_eigenvalue(weight)
                                                 : lanczos_eigenvalue(weight);
  }

  double dense_eigenvalue(double weight) const {
    Matrix gram = Matrix::Zero(dimension_, dimension_);
    std::vector<double> memory;
    const Vector zero = Vector::Zero(dimension_);
    std::visit(
        [&](const auto& rows) {
          add_losses(SquaredLoss{}, rows, targets_, Batch::all(), zero, nullptr, &gram, memory);
        },
        features_);
    gram *= weight;
    gram.diagonal().head(penalized_).array() += penalty();
    return Eigen::SelfAdjointEigenSolver<Matrix>(gram, Eigen::EigenvaluesOnly)
        .eigenvalues()
        .tail(1)[0];  // reads the lower triangle only; ascending
  }

  /// weight W'W plus the penalty, as Spectra wants an operator.
  class Gram {
   public:
    using Scalar = double;
    Gram(const ShardObjective& shard, double weight)
        : shard_(shard), weight_(weight), zero_(Vector::Zero(shard.dimension_)) {}

    Index rows() const { return shard_.dimension_; }
    Index cols() const { return shard_.dimension_; }
    void perform_op(const double* in, double* out) const {
      const Vector direction = Eigen::Map<const Vector>(in, rows());
      Vector product = Vector::Zero(rows());
      std::visit(
          [&](const auto& features) {
            add_curvature_times(SquaredLoss{}, features, shard_.targets_, Batch::all(), zero_,
                                direction, product, memory_);
          },
          shard_.features_);
      product *= weight_;
      product.head(shard_.penalized_) += shard_.penalty() * direction.head(shard_.penalized_);
      Eigen::Map<Vector>(out, rows()) = product;
    }

   private:
    const ShardObjective& shard_;
    double weight_;
    Vector zero_;
    mutable std::vector<double> memory_;
  };

  double lanczos_eigenvalue(double weight) const {
    Gram gram(*this, weight);
    Spectra::SymEigsSolver<Gram> solver(gram, 1, 40);
    solver.init();
    solver.compute(Spectra::SortRule::LargestAlge, 1000, 1e-13);
    if (solver.info() == Spectra::CompInfo::Successful) return solver.eigenvalues()[0];
    // The trace bounds the largest eigenvalue: still a valid constant, only a cautious one.
    const double squares =
        std::visit([](const auto& rows) { return double{rows.squaredNorm()}; }, features_);
    return weight * squares + penalty();
  }

  Features features_;
  Vector targets_;
  ShardTerms terms_;
  Index dimension_;
  Index penalized_;  ///< coordinates that l2 sees: all but the intercept
};

}  // namespace

std::unique_ptr<const Objective> make_shard_objective(Samples samples, const ShardTerms& terms) {
  return std::make_unique<ShardObjective>(std::move(samples), terms);
}

}  // namespace grove
