#pragma once

#include "grove/coupling/coupling.h"

namespace grove {

/// Coupling for lock-step rounds: one broadcast of x_i serves all neighbours, as in the paper. A
/// message is x_i, and the agent's link weight when it is new.
///
/// Both ends of a link compute z_ij and the dual variable from the same numbers, so that z_ij stays
/// equal and the duals stay opposite, bit for bit. No message is lost within a round; therefore
/// both ends switch to a new weight at the end of the round in which it was sent, with z_ij and
/// duals unchanged, and need no versions.
class BroadcastCoupling final : public Coupling {
 public:
  BroadcastCoupling(const CouplingOptions& options, const Vector& start, std::size_t neighbours);

  const WeightTable& weights() const override { return weights_; }
  void publish(LinkWeight own, std::uint64_t version, const Vector& x) override;
  bool rolled_back() const override { return false; }
  void add_gradient(const Vector& x, Vector& gradient) const override;
  double squared_step(const Vector& step) override;
  std::optional<double> squared_residual(const Vector& x) override;
  void prepare_messages(const Vector&) override {}
  void fill_message(std::size_t slot, const Vector& x, Message& message) const override;
  void not_sent(std::size_t) override {}
  bool receive(std::size_t slot, const Message& message, const Vector& x) override;
  void end_round(const Vector& x, bool active) override;
  void add_link(const Vector& x) override;
  void remove_link(std::size_t slot) override;
  double disagreement(const Vector& x) const override;
  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  void update_link(Index slot, const Vector& x, bool active);
  void update_fixed_link(Index slot, const Vector& x, bool active);
  void compute_residual(Index slot, const Eigen::Ref<const Vector>& end, Matrix& residual);
  void compute_both_residuals(Index slot, const Vector& x);

  WeightTable weights_;
  double share_;                             ///< relaxation/2
  LinkWeight next_own_;                      ///< published in this round
  std::vector<LinkWeight> next_neighbours_;  ///< by slot: received in this round
  std::vector<char> received_;               ///< by slot: whether the neighbour was active
  // One column per slot:
  Matrix neighbour_x_;  ///< x_j as last received
  Matrix dual_;         ///< dual_ij = -dual_ji
  Matrix z_;            ///< z_ij = z_ji
  // The weighted residuals are kept for published weights only, where computing them is expensive.
  Matrix residual_;            ///< P_ij (x_i - z_ij)
  Matrix neighbour_residual_;  ///< P_ij (x_j - z_ij)
  // Buffers.
  Vector difference_, product_, neighbour_difference_, neighbour_product_;
};

}  // namespace grove
