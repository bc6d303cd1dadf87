#pragma once

#include "grove/coupling/curvature_links.h"

namespace grove {

/// For lock-step rounds. A message is x_i, followed by C_i when it is new. Nothing is lost in a
/// round, so both ends switch to a new curvature at the end of the round in which it was told, and
/// the duals, opposite at the two ends, stay as they are: no versions are needed.
///
/// A link pulls each end towards its middle z_ij. An end that has worked takes the middle along,
/// and the duals press it back by as much: Douglas-Rachford splitting, over-relaxed, of which any
/// ends may take their part in a round.
class CurvatureBroadcastLinks final : public CurvatureLinks {
 public:
  CurvatureBroadcastLinks(CurvatureForm form, Index dimension, std::size_t neighbours);

  const LinkWeights& weights() const override { return weights_; }
  void publish(Curvature own, std::uint64_t version, const Vector& x) override;
  bool outrun() const override { return false; }
  void add_pull(const Vector& x, Vector& pull) const override;
  double movement(const Vector& step) override;
  std::optional<double> news_of_tension(const Vector& x) override;
  void speak(const Vector& x, double word) override;
  std::span<const double> payload_to(std::size_t slot) const override;
  std::size_t vectors_to(std::size_t slot) const override;
  bool receive(std::size_t slot, const Message& message, const Vector& x) override;
  void end_round(const Vector& x, bool spoke) override;
  void not_sent(std::size_t) override {}
  void connect(const Vector& x) override;
  void disconnect(std::size_t slot) override;
  double disagreement(const Vector& x) const override;
  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  void bend_both(Index slot, const Vector& x);
  void bend(Index slot, const Eigen::Ref<const Vector>& end, Matrix& bent);
  void move_middle(Index slot, const Vector& x, bool spoke);

  LinkWeights weights_;
  Curvature next_own_;                  ///< published in this round
  std::vector<Curvature> next_theirs_;  ///< by slot: heard in this round
  Matrix heard_;                        ///< column per slot: x_j as last heard
  Matrix dual_;                         ///< column per slot: dual_ij
  Matrix middle_;                       ///< column per slot: z_ij
  Matrix bent_;                         ///< column per slot: P_ij (x_i - z_ij)
  Matrix their_bent_;                   ///< column per slot: P_ij (x_j - z_ij)
  std::vector<char> heard_now_;         ///< whether the neighbour spoke in this round
  std::vector<double> spoken_;
  // Buffers: x - z_ij of the two ends, and what P_ij makes of it.
  Vector apart_, product_, their_apart_, their_product_;
};

}  // namespace grove
