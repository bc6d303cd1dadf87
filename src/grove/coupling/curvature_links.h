#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Cholesky>

#include "grove/coupling/curvature.h"
#include "grove/coupling/links.h"

namespace grove {

/// Of the Douglas-Rachford iteration that links make (docs/methods/curvature_links.md): 1 is plain
/// ADMM, and up to 2 fixed points and convergence stay.
inline constexpr double relaxation = 1.7;

/// The curvatures at the ends of one agent's links: P_ij = (C_i + C_j)/2 for every neighbour whose
/// curvature is known. A link works only once both ends have told theirs.
class LinkWeights {
 public:
  LinkWeights(CurvatureForm form, Index dimension, std::size_t neighbours);

  void set_own(Curvature own);
  void set_theirs(std::size_t slot, Curvature theirs);
  void add_slot();
  void remove_slot(std::size_t slot);
  CurvatureForm form() const { return form_; }
  const Curvature& own() const { return own_; }
  bool works(std::size_t slot) const { return own_.known() && theirs_[slot].known(); }
  std::size_t working() const;  ///< links that work

  /// result += factor P_ij v, the same at both ends: of a stored P_ij, or of halves rounded apart.
  void add_product(std::size_t slot, double factor, const Vector& v, Vector& result) const;
  /// The same of two vectors at once, with factor 1.
  void add_products(std::size_t slot, const std::array<const Vector*, 2>& vs,
                    const std::array<Vector*, 2>& results) const;
  const Matrix& sum() const;  ///< of P_ij over the working links; its lower triangle
  /// Another one whenever the sum may be another.
  std::uint64_t version() const { return version_; }
  /// |P_ij^{-1} force|. Keeps a factor of P_ij, so that asking again is cheap.
  double displacement(std::size_t slot, const Vector& force) const;

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  void update(std::size_t slot);
  void add_weight(std::size_t slot, Matrix& matrix) const;

  CurvatureForm form_;
  Index dimension_;
  Curvature own_;
  std::vector<Curvature> theirs_;  ///< by slot
  std::vector<Curvature> means_;   ///< by slot: P_ij of working links, where the form has means
  std::uint64_t version_ = 1;
  mutable Matrix sum_;
  mutable bool sum_valid_ = false;
  mutable Vector own_part_, their_part_;
  mutable std::vector<std::optional<Eigen::LLT<Matrix>>> factors_;  ///< by slot; once asked for
};

/// Links weighed by the curvature of their ends (docs/methods/curvature_links.md). Exact like the
/// links of links.h, and through refreshes: see the two implementations for how the ends agree.
class CurvatureLinks {
 public:
  virtual ~CurvatureLinks() = default;

  virtual const LinkWeights& weights() const = 0;

  /// This agent, now at x, has a new curvature. Versions grow and are never used twice.
  virtual void publish(Curvature own, std::uint64_t version, const Vector& x) = 0;
  /// A neighbour knows a later curvature of this agent than the agent itself: it was rolled back
  /// and should publish again.
  virtual bool outrun() const = 0;

  /// Of the links at x, where the agent was at the end of the latest round.
  virtual void add_pull(const Vector& x, Vector& pull) const = 0;

  // For ResidualBalancing: two squared lengths in one metric of the links, summed over those that
  // work.
  virtual double movement(const Vector& step) = 0;  ///< of a step of this agent
  /// Between this agent, at the same x, and its neighbours. Nothing while there is no news from
  /// some of them since it was last asked for.
  virtual std::optional<double> news_of_tension(const Vector& x) = 0;

  /// Payloads begin with a word of the agent's own, which receive() is not given.
  virtual void speak(const Vector& x, double word) = 0;
  virtual std::span<const double> payload_to(std::size_t slot) const = 0;
  /// d-vectors in that payload: the one of the link, and those whose room a curvature takes.
  virtual std::size_t vectors_to(std::size_t slot) const = 0;
  /// True if the message told a new curvature.
  virtual bool receive(std::size_t slot, const Message& message, const Vector& x) = 0;
  virtual void end_round(const Vector& x, bool spoke) = 0;

  /// What was last spoken to that slot did not get out.
  virtual void not_sent(std::size_t slot) = 0;
  /// As of Links; a new link works once both ends have told their curvature.
  virtual void connect(const Vector& x) = 0;
  virtual void disconnect(std::size_t slot) = 0;
  virtual double disagreement(const Vector& x) const = 0;

  virtual void save(ByteWriter& writer) const = 0;
  virtual void load(ByteReader& reader) = 0;
};

std::unique_ptr<CurvatureLinks> make_curvature_links(LinkKind kind, CurvatureForm form,
                                                     Index dimension, std::size_t neighbours);

}  // namespace grove
