#pragma once

#include <cstdint>

#include "grove/coupling/coupling.h"

namespace grove {

/// Coupling for agents that run asynchronously. Each end of a link keeps the one vector
/// u_ij = P_ij z_ij - dual_ij. A message is 2 P_ij x_i - u_ij, and receiving it moves the other
/// end's u by relaxation/2 of the way towards it. Every fixed point is the optimum, from any u:
/// lost, late and repeated messages and rollbacks need no repair.
///
/// Published weights. At a fixed point P^(i) x_i = P^(j) x_j, so that x_i = x_j requires the same
/// P_ij at both ends. A message therefore names the pair (C_i, C_j) it was computed with, and a
/// message with another pair than the receiver's is dropped. A new C_i changes u_ij by the change
/// of P_ij x_i, so that the gradient of the coupling does not jump. C_i is sent again, at growing
/// intervals, until a message of the neighbour shows that it has arrived.
class EdgeCoupling final : public Coupling {
 public:
  EdgeCoupling(const CouplingOptions& options, const Vector& start, std::size_t neighbours);

  const WeightTable& weights() const override { return weights_; }
  void publish(LinkWeight own, std::uint64_t version, const Vector& x) override;
  bool rolled_back() const override;
  void add_gradient(const Vector& x, Vector& gradient) const override;
  double squared_step(const Vector& step) override;
  std::optional<double> squared_residual(const Vector& x) override;
  void prepare_messages(const Vector& x) override;
  void fill_message(std::size_t slot, const Vector& x, Message& message) const override;
  void release_message(std::size_t slot) override { links_[slot].outgoing.resize(0); }
  void not_sent(std::size_t slot) override;
  bool receive(std::size_t slot, const Message& message, const Vector& x) override;
  void limit_gradients(const GradientLimit& limit) override { limit_ = limit; }
  std::uint64_t gradients_limited() const override { return gradients_limited_; }
  void end_round(const Vector&, bool) override {}
  void add_link(const Vector& x) override;
  void remove_link(std::size_t slot) override;
  double disagreement(const Vector& x) const override;
  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  struct Link {
    Vector u;
    Vector outgoing;           ///< 2 P_ij x_i - u_ij of the latest activation
    std::uint64_t latest = 0;  ///< sequence of the newest message that was received
    std::uint64_t unread = 0;  ///< messages used since squared_residual was last called
    double mismatch_norm = 0;  ///< of a fixed weight: |message - u_ij| / mu of the newest message

    // The rest is for published weights only.
    Vector mismatch;              ///< the newest message minus u_ij before it moved
    bool same_weights = false;    ///< the newest message was computed with the present P_ij
    WeightId outgoing_neighbour;  ///< C_j that `outgoing` was computed with
    WeightId neighbour;           ///< C_j as known here
    WeightId confirmed;           ///< C_i as the neighbour knows it
    bool send_weight = false;     ///< the next message contains C_i
    std::uint32_t wait = 0;       ///< messages until C_i is sent (again)
    std::uint32_t interval = 1;   ///< doubles with every repetition
  };

  Link make_link(const Vector& x) const;
  bool receive_fixed(std::size_t slot, const Message& message, const Vector& x);
  void limit_gradient(std::size_t slot, const Vector& x);
  bool adopt_weight(std::size_t slot, const Message& message, const Vector& x);
  void schedule_weight(Link& link) const;
  void shift(std::size_t slot, double factor, const Vector& x);

  WeightTable weights_;
  double share_;  ///< relaxation/2
  WeightId own_;  ///< C_i
  std::vector<Link> links_;
  GradientLimit limit_;
  std::uint64_t gradients_limited_ = 0;
  Vector force_;  ///< buffer
};

}  // namespace grove
