#pragma once

#include <vector>

#include "grove/base/bytes.h"
#include "grove/local/bordered_cholesky.h"
#include "grove/local/conjugate_gradients.h"
#include "grove/local/local_model.h"
#include "grove/problem/quadratic_model.h"

namespace grove {

/// A stored M that changes little from one local model to the next. A Cholesky factor is kept
/// although M or the free set has changed since: with borders where only the free set has, else as
/// a preconditioner of conjugate gradients on the present M, so that answers are those of the
/// present M. It is made anew where that pays.
class ReusedCholesky final : public ModelHessian {
 public:
  bool known() const { return matrix_.size() > 0; }
  void set(const Matrix& matrix, const QuadraticTerm& coupling = {});  ///< M is their sum
  const Matrix& matrix() const { return matrix_; }

  void times(const Vector& direction, Vector& product) const override;
  void sweep(const Regularizer& regularizer, Vector& point, Vector& slope) const override;
  void solve(const std::vector<Index>& free_set, const Vector& right, double tolerance,
             Vector& p) const override;

  std::uint64_t factorizations() const { return factorizations_; }

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader, Index dimension);

 private:
  bool refinement_pays(Index free_set) const;
  bool refine(const std::vector<Index>& free_set, const Vector& right, double tolerance,
              Vector& p) const;

  void make_room();
  auto factor() const {
    const auto size = static_cast<Index>(base_.size());
    return factor_storage_.topLeftCorner(size, size);
  }

  Matrix matrix_;
  mutable Matrix factor_storage_;      ///< for the lower factor of some earlier M on base_
  mutable std::vector<Index> base_;    ///< ascending
  mutable bool factor_valid_ = false;  ///< it is the factor of the present M on base_
  mutable std::uint64_t factorizations_ = 0;
  mutable ConjugateScratch scratch_;
  mutable Vector inside_, outside_, right_inside_, packed_;  ///< buffers
  mutable std::vector<Index> changed_;  ///< coordinates that one of two free sets has
  mutable BorderedCholesky bordered_;
};

}  // namespace grove
