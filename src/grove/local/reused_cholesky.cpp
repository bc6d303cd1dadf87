#include "grove/local/reused_cholesky.h"

#include <algorithm>
#include <iterator>

#include "grove/problem/symmetric.h"

namespace grove {
namespace {

/// On a free set of f coordinates a factorization takes f^3/3 multiplications, a step of conjugate
/// gradients f (d + f); the former run several times as fast, as they do not wait for memory: d/35
/// steps on the whole free set take as long as a factorization at d = 123, 300 and 784
/// (docs/decisions/kernels.md). Beyond this many a new factor is cheaper.
Index worthwhile_steps(Index free_set, Index dimension) {
  return free_set * free_set / (20 * (dimension + free_set));
}

}  // namespace

void ReusedCholesky::set(const Matrix& matrix, const QuadraticTerm& coupling) {
  coupling.add_to(matrix, matrix_);
  make_room();
  factor_valid_ = false;
}

void ReusedCholesky::make_room() {
  bordered_.make_room(matrix_.rows());
  const auto dimension = static_cast<std::size_t>(matrix_.rows());
  factor_storage_.resizeLike(matrix_);
  base_.reserve(dimension);
  changed_.reserve(2 * dimension);
  // Conjugate gradients may be called for much later, when a round should allocate nothing.
  for (Vector* buffer : {&scratch_.residual, &scratch_.preconditioned, &scratch_.direction,
                         &scratch_.product, &inside_, &outside_, &right_inside_})
    buffer->resize(matrix_.rows());
}

void ReusedCholesky::times(const Vector& direction, Vector& product) const {
  product.setZero(direction.size());
  if (4 * (direction.array() != 0).count() > direction.size()) {
    add_symmetric_product(matrix_, direction, product);
    return;
  }
  // A step on a small free set: most columns meet a zero.
  for (Index k = 0; k < direction.size(); ++k)
    if (direction[k] != 0) add_column(matrix_, k, direction[k], product);
}

void ReusedCholesky::sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const {
  sweep_coordinates(matrix_, regularizer, point, slope);
}

void ReusedCholesky::solve(const std::vector<Index>& free_set, const Vector& right,
                           double tolerance, Vector& p) const {
  changed_.clear();
  std::ranges::set_symmetric_difference(free_set, base_, std::back_inserter(changed_));
  const bool factored = factor_valid_ && changed_.empty();
  if (!factored && factor_valid_ && bordered_.solve({matrix_, factor(), base_}, changed_, right, p))
    return;
  if (!factored && !factor_valid_ && refinement_pays(std::ssize(free_set)) &&
      refine(free_set, right, tolerance, p))
    return;
  if (!factored) {
    base_ = free_set;
    factorize(matrix_, base_, factor());
    bordered_.forget();
    factor_valid_ = true;
    ++factorizations_;
  }
  solve_factored(factor(), base_, right, packed_, p);
}

/// Every coordinate that only one of the two free sets has costs about one step more.
bool ReusedCholesky::refinement_pays(Index free_set) const {
  return !base_.empty() && std::ssize(changed_) < worthwhile_steps(free_set, matrix_.rows());
}

bool ReusedCholesky::refine(const std::vector<Index>& free_set, const Vector& right,
                            double tolerance, Vector& p) const {
  inside_.setZero(right.size());
  for (const Index k : free_set) inside_[k] = 1;
  const auto times_on_free_set = [&](const Vector& direction, Vector& product) {
    times(direction, product);
    product.array() *= inside_.array();
  };
  // On the common coordinates a principal part of an inverse, elsewhere the diagonal: positive
  // definite.
  const auto precondition = [&](const Vector& residual, Vector& result) {
    solve_factored(factor(), base_, residual, packed_, result);
    result.array() *= inside_.array();
    outside_ = residual.cwiseQuotient(matrix_.diagonal());
    for (const Index k : base_) outside_[k] = 0;
    result += outside_;
  };
  right_inside_ = right.cwiseProduct(inside_);
  return conjugate_gradients(
      times_on_free_set, precondition, right_inside_,
      {.tolerance = tolerance, .steps = worthwhile_steps(std::ssize(free_set), matrix_.rows())},
      scratch_, p);
}

void ReusedCholesky::save(ByteWriter& writer) const {
  writer.put(known());
  if (known()) writer.put(std::span<const double>(matrix_.data(), matrix_.size()));
  Vector inside = Vector::Zero(matrix_.rows());
  for (const Index k : base_) inside[k] = 1;
  writer.put(inside);
  const Matrix known_factor = factor().triangularView<Eigen::Lower>();  // above it stands anything
  writer.put(std::span<const double>(known_factor.data(), known_factor.size()));
  writer.put(factor_valid_);
  writer.put(factorizations_);
}

void ReusedCholesky::load(ByteReader& reader, Index dimension) {
  bool is_known = false;
  reader.get(is_known);
  matrix_.resize(is_known ? dimension : 0, is_known ? dimension : 0);
  if (is_known) reader.get(std::span<double>(matrix_.data(), matrix_.size()));
  Vector inside = Vector::Zero(matrix_.rows());
  reader.get(inside);
  base_.clear();
  for (Index k = 0; k < inside.size(); ++k)
    if (inside[k] == 1) base_.push_back(k);
  make_room();
  Matrix known_factor = factor();
  reader.get(std::span<double>(known_factor.data(), known_factor.size()));
  factor() = known_factor;
  reader.get(factor_valid_);
  reader.get(factorizations_);
}

}  // namespace grove
