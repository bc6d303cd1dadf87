#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "grove/agent/message.h"
#include "grove/base/bytes.h"
#include "grove/base/types.h"

namespace grove {

enum class LinkKind { broadcast, edge };

struct LinkOptions {
  LinkKind kind = LinkKind::broadcast;
  std::vector<double> penalties;  ///< mu_ij > 0, one per neighbour in slot order
  bool unequal_rates = false;     ///< of broadcast links: some agents work more often than others
};

/// All links of one agent: the exact coupling of x_i to its neighbours' copies (docs/methods).
class Links {
 public:
  virtual ~Links() = default;

  virtual double total_penalty() const = 0;  ///< sum_j mu_ij: curvature the links add at x_i

  /// pull += sum_j pull(link_ij, x): gradient of the coupling at x.
  virtual void add_pull(const Vector& x, Vector& pull) const = 0;

  /// Prepares what the neighbours are told after a step to x.
  virtual void speak(const Vector& x) = 0;
  virtual std::span<const double> payload_to(std::size_t slot, const Vector& x) const = 0;
  /// It has been copied and is not asked for again before the next speak().
  virtual void forget_payload(std::size_t /*slot*/) {}

  virtual void receive(std::size_t slot, const Message& message) = 0;

  /// `spoke`: whether this agent was active in the round that ends.
  virtual void end_round(const Vector& x, bool spoke) = 0;

  /// One more neighbour, in a new last slot: a link that does not pull yet.
  virtual void connect(double penalty, const Vector& x) = 0;
  /// The neighbour is gone for good; the slots after it move down by one.
  virtual void disconnect(std::size_t slot) = 0;

  /// How far the latest messages were from what the links expected, in units of x: the largest
  /// over the links. Zero at both ends of a link means that the two agree.
  virtual double disagreement(const Vector& x) const = 0;

  virtual void save(ByteWriter& writer) const = 0;
  virtual void load(ByteReader& reader) = 0;
};

std::unique_ptr<Links> make_links(LinkOptions options, const Vector& start);

}  // namespace grove
