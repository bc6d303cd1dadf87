#pragma once

#include "grove/coupling/curvature_links.h"
#include "grove/coupling/curvature_message.h"

namespace grove {

/// For agents that run free of each other. At a fixed point the two ends satisfy
/// P^(i) x_i = P^(j) x_j, so x_i = x_j needs the same P at both: a message says with which
/// (C_i, C_j) it was made, and one made with another pair than the receiver's is dropped like a
/// lost one. A new C_i changes u_ij by the change of P_ij x_i, so that the pull does not jump. It
/// is repeated, ever more rarely, until a message of the neighbour shows that it has arrived.
///
/// A message is a CurvatureMessage.
class CurvatureEdgeLinks final : public CurvatureLinks {
 public:
  CurvatureEdgeLinks(CurvatureForm form, Index dimension, std::size_t neighbours);

  const LinkWeights& weights() const override { return weights_; }
  void publish(Curvature own, std::uint64_t version, const Vector& x) override;
  bool outrun() const override;
  void add_pull(const Vector& x, Vector& pull) const override;
  double movement(const Vector& step) override;
  std::optional<double> news_of_tension(const Vector& x) override;
  void speak(const Vector& x, double word) override;
  std::span<const double> payload_to(std::size_t slot) const override;
  std::size_t vectors_to(std::size_t slot) const override;
  bool receive(std::size_t slot, const Message& message, const Vector& x) override;
  void end_round(const Vector&, bool) override {}
  void not_sent(std::size_t slot) override;
  void connect(const Vector& x) override;
  void disconnect(std::size_t slot) override;
  /// Infinite while some link does not work, or its ends do not yet use the same P.
  double disagreement(const Vector& x) const override;
  void save(ByteWriter& writer) const override;
  void load(ByteReader& reader) override;

 private:
  using Version = CurvatureMessage::Version;
  static constexpr Version none = CurvatureMessage::none;
  /// Which curvature: versions tell the newer one, digests one from another of the same version.
  struct Identity {
    Version version = none;
    std::uint64_t digest = 0;
    bool operator==(const Identity&) const = default;
  };
  struct Link {
    Identity theirs;             ///< of C_j, as known here
    Identity confirmed;          ///< of C_i, as the neighbour last said to know it
    std::uint64_t latest = 0;    ///< sequence of the newest message used
    std::uint32_t wait = 0;      ///< messages until C_i is sent (again)
    std::uint32_t patience = 1;  ///< doubles with every repetition
    std::uint64_t news = 0;      ///< messages used since the tension was last asked for
  };

  void adopt(std::size_t slot, Identity identity, Curvature curvature, const Vector& x);
  void tell_soon(Link& link) const;
  void shift(std::size_t slot, double factor, const Vector& x);

  LinkWeights weights_;
  Identity own_;     ///< of C_i
  Matrix u_;         ///< column per slot: u_ij
  Matrix mismatch_;  ///< column per slot: the newest message less u_ij, before it moved there
  std::vector<char> agreed_;  ///< by slot: that message was made with the present P
  std::vector<Link> links_;
  std::vector<std::vector<double>> spoken_;  ///< by slot
  Vector said_, force_;                      ///< buffers
};

}  // namespace grove
