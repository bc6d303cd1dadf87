#pragma once

#include <cstdint>

#include "grove/coupling/links.h"

namespace grove {

/// Links for agents that run free of each other: one vector u_ij per link, whose every fixed point
/// is the optimum, from any u. So loss, delay, duplication and rollback heal by themselves.
class EdgeLinks final : public Links {
 public:
  EdgeLinks(std::vector<double> penalties, const Vector& start);

  double total_penalty() const override { return total_penalty_; }
  void add_pull(const Vector& x, Vector& pull) const override;
  void speak(const Vector& x) override;
  std::span<const double> payload_to(std::size_t slot, const Vector& x) const override;
  void forget_payload(std::size_t slot) override { spoken_[slot].resize(0); }
  void receive(std::size_t slot, const Message& message) override;
  void end_round(const Vector&, bool) override {}
  void connect(double penalty, const Vector& x) override;
  void disconnect(std::size_t slot) override;
  double disagreement(const Vector& x) const override;
  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  std::vector<double> penalties_;  ///< mu_ij
  double total_penalty_ = 0;
  Matrix u_;                           ///< column per slot: u_ij
  std::vector<Vector> spoken_;         ///< by slot: 2 mu x_i - u_ij as last said
  std::vector<std::uint64_t> latest_;  ///< sequence of the newest message heard, per slot
  std::vector<double> mismatch_;       ///< |message - u_ij| / mu_ij of that message
};

}  // namespace grove
