#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "grove/agent/gradient_limit.h"
#include "grove/agent/message.h"
#include "grove/coupling/sparse_weight.h"
#include "grove/problem/restricted_rows.h"

namespace grove {

/// The links of an agent with sparse weights: EdgeCoupling for problems of many coordinates. Links
/// keep numbers of the touched coordinates only, those that were not zero at one end, or belong to
/// the support of a weight; all others are zero. Vectors of this interface have all coordinates,
/// but only touched ones are read and written.
///
/// A new C_i is sent with a vector that was computed with the old one. Both ends change to it when
/// the round ends, so that no vector of a lock-step round is lost; free-running agents change when
/// they next work, and drop vectors of other weights than theirs.
class SparseLinks {
 public:
  SparseLinks(Index dimension, double relaxation, std::size_t neighbours);

  const std::vector<std::uint32_t>& touched() const { return touched_; }
  void touch(const std::vector<std::uint32_t>& ascending);

  std::size_t established() const;
  bool established(std::size_t slot) const { return own_.known() && links_[slot].weight.known(); }
  const SparseWeight& own() const { return own_; }
  const SparseWeight& neighbour(std::size_t slot) const { return links_[slot].weight; }
  std::size_t neighbours() const { return links_.size(); }

  /// Versions grow and are never used twice.
  void publish(SparseWeight own, std::uint64_t version);
  /// Changes to the weight that was published.
  void settle(const Vector& x);
  bool rolled_back() const;

  // Of the sum of P_ij over the established links:
  double sum_coded(Index k) const;  ///< its diagonal, but for the blocks
  void add_sum_product(const Vector& v, Vector& result) const;
  /// On the chosen coordinates: block_places are those that a block has, ascending, and `block`
  /// what the blocks have there, both triangles.
  void sum_blocks(ColumnPlaces places, std::vector<Index>& block_places, Matrix& block) const;
  void add_gradient(const Vector& x, Vector& gradient) const;

  // As those of Coupling; they see the touched coordinates of the step.
  double squared_step(const Vector& step);
  std::optional<double> squared_residual();

  void prepare_messages(const Vector& x);
  void fill_message(std::size_t slot, Message& message) const;
  void release_message(std::size_t slot);
  void not_sent(std::size_t slot);
  bool receive(std::size_t slot, const Message& message, const Vector& x);
  void limit_gradients(const GradientLimit& limit) { limit_ = limit; }
  std::uint64_t gradients_limited() const { return gradients_limited_; }
  void add_link();
  void remove_link(std::size_t slot);
  double disagreement() const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  /// Numbers of touched coordinates are in their order.
  struct Link {
    SparseWeight weight;  ///< C_j
    Vector u;
    Vector mismatch;  ///< the newest message minus u_ij before it moved
    std::vector<std::uint32_t> indices;
    std::vector<double> values;  ///< of 2 P_ij x_i - u_ij, where it is not zero
    std::uint64_t latest = 0;    ///< sequence of the newest message that was received
    std::uint64_t unread = 0;    ///< messages used since squared_residual was last called
    bool same_weights = false;   ///< the newest message was computed with the present P_ij
    bool has_vector = false;     ///< of the outgoing message
    WeightPair outgoing;         ///< weights of the outgoing vector
    WeightId neighbour;          ///< C_j as known here
    WeightId confirmed;          ///< C_i as the neighbour knows it
    bool send_weight = false;
    std::uint32_t wait = 0;      ///< messages until C_i is sent (again)
    std::uint32_t interval = 1;  ///< doubles with every repetition
  };

  const WeightId& newest() const { return next_.known() ? next_id_ : own_id_; }
  const SparseWeight& newest_weight() const { return next_.known() ? next_ : own_; }
  void touch_support(const SparseWeight& weight);
  void add_weight_product(const SparseWeight& weight, double factor, const Vector& v,
                          Vector& result) const;
  void add_link_product(std::size_t slot, double factor, const Vector& v, Vector& result) const;
  Vector gathered(const Vector& whole) const;
  void shift(std::size_t slot, double factor, const Vector& x);
  void adopt(std::size_t slot, const Message& message, const Vector& x);
  void take_vector(std::size_t slot, const Message& message, const Vector& x);
  void limit_gradient(std::size_t slot, const Vector& x);
  Vector sum_diagonal() const;  ///< of touched coordinates

  Index dimension_;
  double share_;                        ///< relaxation/2
  std::vector<std::uint32_t> touched_;  ///< ascending
  std::vector<std::int32_t> places_;    ///< of all coordinates among the touched, or -1
  SparseWeight own_, next_;             ///< C_i, and the one that follows it
  WeightId own_id_, next_id_;
  std::vector<Link> links_;
  GradientLimit limit_;
  std::uint64_t gradients_limited_ = 0;
};

}  // namespace grove
