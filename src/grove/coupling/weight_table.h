#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <Eigen/Cholesky>

#include "grove/base/bytes.h"
#include "grove/coupling/link_weight.h"
#include "grove/coupling/quadratic_term.h"

namespace grove {

/// The weights P_ij of one agent's links. Either P_ij = mu I with a fixed number, or
/// P_ij = (C_i + C_j)/2 with the weights that the two agents have published. In the second case a
/// link is established once both weights are known.
class WeightTable {
 public:
  WeightTable(const LinkWeighting& weighting, Index dimension, std::size_t neighbours);

  std::optional<double> fixed() const { return fixed_; }  ///< mu; none if agents publish weights
  LinkWeightForm form() const { return form_; }           ///< of published weights

  void set_own(LinkWeight own);
  void set_neighbour(std::size_t slot, LinkWeight weight);
  void add_link();
  void remove_link(std::size_t slot);
  const LinkWeight& own() const { return own_; }
  bool established(std::size_t slot) const {
    return fixed_ || (own_.known() && neighbours_[slot].known());
  }
  std::size_t established() const;  ///< number of established links

  /// result += factor P_ij v, bit-equal at both ends of the link.
  void add_product(std::size_t slot, double factor, const Vector& v, Vector& result) const;
  /// The same for two vectors at once, with factor 1.
  void add_products(std::size_t slot, const std::array<const Vector*, 2>& vs,
                    const std::array<Vector*, 2>& results) const;

  /// Sum of P_ij over the established links. Valid until a weight changes.
  QuadraticTerm sum() const;
  const Vector& sum_diagonal() const;  ///< the same, its diagonal; of published weights only

  /// |P_ij^{-1} v|. A factor of P_ij is kept for later calls.
  double inverse_norm(std::size_t slot, const Vector& v) const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  void update(std::size_t slot);
  void invalidate_sum();
  void add_weight(std::size_t slot, Matrix& matrix) const;
  void compute_sum() const;
  bool is_diagonal() const;

  std::optional<double> fixed_;
  LinkWeightForm form_;
  Index dimension_;
  LinkWeight own_;                      ///< C_i
  std::vector<LinkWeight> neighbours_;  ///< by slot: C_j
  std::vector<LinkWeight> means_;       ///< by slot: P_ij, where the form has means
  std::uint64_t version_ = 1;           ///< changes whenever the sum may change

  mutable bool sum_valid_ = false;
  mutable Matrix sum_;           ///< lower triangle; of the forms that are not diagonal
  mutable Vector sum_diagonal_;  ///< of every published form
  mutable Vector own_part_, neighbour_part_;
  mutable std::vector<std::optional<Eigen::LLT<Matrix>>> factors_;  ///< by slot
};

}  // namespace grove
