#pragma once

#include "grove/coupling/links.h"
#include "grove/coupling/staleness_damping.h"

namespace grove {

/// Links for lock-step rounds: one broadcast of x_i serves all neighbours, as in the paper.
/// Each end keeps the other's last iterate x_j and its own dual, with dual_ij = -dual_ji always:
/// both ends move their dual whenever either of them was active; by how much, where agents work at
/// unequal rates, says StalenessDamping (docs/deviations.md).
class BroadcastLinks final : public Links {
 public:
  BroadcastLinks(LinkOptions options, const Vector& start);

  double total_penalty() const override { return total_penalty_; }
  void add_pull(const Vector& x, Vector& pull) const override;
  void speak(const Vector&) override {}
  std::span<const double> payload_to(std::size_t slot, const Vector& x) const override;
  void receive(std::size_t slot, const Message& message) override;
  void end_round(const Vector& x, bool spoke) override;
  void connect(double penalty, const Vector& x) override;
  void disconnect(std::size_t slot) override;
  double disagreement(const Vector& x) const override;
  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  std::vector<double> penalties_;  ///< mu_ij
  double total_penalty_ = 0;
  Matrix heard_;                 ///< column per slot: x_j as last heard
  Matrix dual_;                  ///< column per slot: dual_ij
  std::vector<char> heard_now_;  ///< whether the neighbour spoke in this round
  bool unequal_rates_;
  std::vector<StalenessDamping> lone_work_;  ///< by slot
};

}  // namespace grove
