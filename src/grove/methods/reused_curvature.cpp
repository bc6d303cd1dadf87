#include "grove/methods/reused_curvature.h"

#include <algorithm>
#include <iterator>

namespace grove {
namespace {

/// A factorization takes d^3/3 multiplications, a step of conjugate gradients 2 d^2; the former run
/// about twice as fast. Beyond this many steps a new factor is cheaper.
Index worthwhile_steps(Index dimension) { return dimension / 12; }

}  // namespace

void ReusedCurvature::set(Matrix matrix) {
  matrix_ = std::move(matrix);
  factor_fits_ = false;
}

void ReusedCurvature::times(const Vector& direction, Vector& product) const {
  product.noalias() = matrix_ * direction;
}

void ReusedCurvature::sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const {
  sweep_coordinates(matrix_, regularizer, point, slope);
}

void ReusedCurvature::solve(const std::vector<Index>& face, const Vector& right, double tolerance,
                            Vector& p) const {
  const bool factored = factor_fits_ && face == face_;
  if (!factored && worth_refining(face) && refine(face, right, tolerance, p)) return;
  if (!factored) {
    factorize(matrix_, face, factor_);
    face_ = face;
    factor_fits_ = true;
    ++factorizations_;
  }
  solve_factored(factor_, face_, right, p);
}

/// Every coordinate that only one of the two faces has costs about one step more.
bool ReusedCurvature::worth_refining(const std::vector<Index>& face) const {
  if (factor_.size() == 0) return false;
  std::vector<Index> apart;
  std::ranges::set_symmetric_difference(face, face_, std::back_inserter(apart));
  return static_cast<Index>(apart.size()) < worthwhile_steps(matrix_.rows());
}

bool ReusedCurvature::refine(const std::vector<Index>& face, const Vector& right, double tolerance,
                             Vector& p) const {
  Vector inside = Vector::Zero(right.size());
  for (const Index k : face) inside[k] = 1;
  const auto times_on_face = [&](const Vector& direction, Vector& product) {
    times(direction, product);
    product.array() *= inside.array();
  };
  // On the common coordinates a principal part of an inverse, elsewhere the diagonal: positive
  // definite.
  const auto precondition = [&](const Vector& residual, Vector& result) {
    solve_factored(factor_, face_, residual, result);
    result.array() *= inside.array();
    Vector outside = residual.cwiseQuotient(matrix_.diagonal());
    for (const Index k : face_) outside[k] = 0;
    result += outside;
  };
  return conjugate_gradients(times_on_face, precondition, right.cwiseProduct(inside),
                             {.tolerance = tolerance, .steps = worthwhile_steps(matrix_.rows())},
                             scratch_, p);
}

void ReusedCurvature::save(ByteWriter& writer) const {
  writer.put(known());
  if (known()) writer.put(std::span<const double>(matrix_.data(), matrix_.size()));
  Vector inside = Vector::Zero(matrix_.rows());
  for (const Index k : face_) inside[k] = 1;
  writer.put(inside);
  writer.put(std::span<const double>(factor_.data(), factor_.size()));
  writer.put(factor_fits_);
  writer.put(factorizations_);
}

void ReusedCurvature::load(ByteReader& reader, Index dimension) {
  bool is_known = false;
  reader.get(is_known);
  matrix_.resize(is_known ? dimension : 0, is_known ? dimension : 0);
  if (is_known) reader.get(std::span<double>(matrix_.data(), matrix_.size()));
  Vector inside = Vector::Zero(matrix_.rows());
  reader.get(inside);
  face_.clear();
  for (Index k = 0; k < inside.size(); ++k)
    if (inside[k] == 1) face_.push_back(k);
  const auto size = static_cast<Index>(face_.size());
  factor_.resize(size, size);
  reader.get(std::span<double>(factor_.data(), factor_.size()));
  reader.get(factor_fits_);
  reader.get(factorizations_);
}

}  // namespace grove
