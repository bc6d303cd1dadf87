#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "grove/agent/message.h"
#include "grove/coupling/coupling.h"

// Both ends of one link, and rounds of them: shared by the tests of fixed and published weights.
namespace grove::coupling_test {

inline constexpr LinkWeightForm full{LinkWeightShape::full};

inline CouplingOptions with_penalty(LinkKind kind, double mu, double relaxation = 1) {
  return {.kind = kind, .weighting = FixedPenalty{mu}, .relaxation = relaxation};
}

inline CouplingOptions with_published_weights(LinkKind kind) {
  return {.kind = kind, .weighting = full, .relaxation = 1.7};
}

inline Vector gradient_of(const Coupling& coupling, const Vector& x) {
  Vector gradient = Vector::Zero(x.size());
  coupling.add_gradient(x, gradient);
  return gradient;
}

/// One agent with one neighbour, in one dimension unless it starts elsewhere.
struct End {
  explicit End(const CouplingOptions& options, const Vector& start = Vector::Zero(1))
      : coupling(make_coupling(options, start, 1)), x(start) {}

  void publish(double weight, std::uint64_t version) {
    coupling->publish(LinkWeight(full, Matrix::Constant(1, 1, weight)), version, x);
  }
  StoredMessage send() {
    coupling->prepare_messages(x);
    Message message{.sequence = ++sequence};
    coupling->fill_message(0, x, message);
    return StoredMessage(message);
  }
  void receive(const StoredMessage& message) { coupling->receive(0, message.view(), x); }
  bool sends_weight() { return !send().view().weight_update.empty(); }

  double gradient() const { return gradient_of(*coupling, x)[0]; }
  double weight() const {
    Vector product = Vector::Zero(1);
    coupling->weights().sum().add_product(Vector::Ones(1), product);
    return product[0];
  }
  bool established() const { return coupling->weights().established(0); }

  std::unique_ptr<Coupling> coupling;
  Vector x;
  std::uint64_t sequence = 0;
};

inline void play_round(End& i, bool i_active, End& j, bool j_active) {
  std::optional<StoredMessage> from_i, from_j;
  if (i_active) from_i = i.send();
  if (j_active) from_j = j.send();
  if (from_j) i.receive(*from_j);
  if (from_i) j.receive(*from_i);
  i.coupling->end_round(i.x, i_active);
  j.coupling->end_round(j.x, j_active);
}

inline void exchange(End& i, End& j) { play_round(i, true, j, true); }
/// A round in which j is inactive.
inline void activate_only(End& i, End& j) { play_round(i, true, j, false); }

}  // namespace grove::coupling_test
