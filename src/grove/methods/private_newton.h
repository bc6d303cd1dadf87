#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "grove/agent/dynamic_agent.h"
#include "grove/sums/privacy.h"
#include "grove/sums/tree_sums.h"

namespace grove {

/// Of all members alike. Deviations are of numbers in units of the longest row that is possible:
/// gradients over it, curvature over its square.
struct PrivateNewtonOptions {
  int steps = 50;  ///< gradients that a member gives, at most
  double row_bound = 1;
  double gradient_deviation = 0;   ///< of the noise in a total
  double curvature_deviation = 0;  ///< of the noise in an element of the total
  double gradient_cost = 0;        ///< square of mu that an answer costs; curvature: in addition
  double curvature_cost = 0;
  std::size_t fewest_members = 0;  ///< among fewer nobody answers
  NormalNoise noise;
  /// Counts the square of mu of an answer that is about to leave, for good; false: it must not.
  std::function<bool(double mu_squared)> spend = {};
  MaskOptions masks;
  LinkStateOptions links = {};
};

/// The options that keep the promise. A row has the weight `row_weight` in f_k, its loss has slopes
/// of at most 1 and second derivatives of at most `curvature`, and `row_bound` is at least its
/// length.
PrivateNewtonOptions private_newton_options(const PrivacyLoss& promise, int steps,
                                            double row_weight, double row_bound, double curvature);

/// One agent of tree-newton with differential privacy: proximal Newton steps on sum f_k + n r with
/// a fixed majorizer of the Hessian, from masked sums with noise (docs/reference/privacy.md).
///
/// Members add their shares of the noise, so that the total has the noise that the promise needs
/// even for a member that knows its own share. A member answers one question about curvature and
/// `steps` about gradients, whatever happens to the tree; then it refuses. All that the root knows
/// is in its question, so that any member may go on as the root.
class PrivateNewtonAgent final : public DynamicAgent {
 public:
  PrivateNewtonAgent(const PrivateNewtonOptions& options, AgentContext context);

  void activate(const Activation& activation, Workspace& workspace) override;
  Message message_to(std::size_t slot) const override;
  void not_sent(std::size_t slot) override { sums_.not_sent(slot); }
  void receive(std::size_t slot, const Message& message) override;
  void end_round() override {}
  bool wants_activation(bool) const override { return sums_.has_work(); }
  void add_neighbour(const Neighbour& neighbour) override;
  void drop_neighbour(std::size_t slot) override;
  void set_live(std::size_t slot, bool live) override { sums_.set_live(slot, live); }
  void start_new_epoch() override { sums_.start_new_epoch(); }
  double disagreement() const override;
  double last_step() const override { return finished() ? 0 : disagreement(); }
  void set_regularizer_holder(bool, const Regularizer&, std::size_t) override {}
  const Vector& estimate() const override { return state_.point; }
  std::span<const AgentId> counted_members() const override;
  std::span<const std::uint32_t> counted_data() const override { return sums_.plan().data; }
  const Cost& cost() const override { return cost_; }
  std::span<const AgentEvent> events() const override { return events_; }
  void save(ByteWriter& writer) const override;
  Status load(ByteReader& reader) override;

  /// All members that are present have the answer, and nobody is missing.
  bool finished() const;
  int gradients_given() const { return gradients_given_; }

 private:
  enum class Asked : std::uint8_t { curvature, gradient, nothing };
  /// All that is known of the problem. Everybody may know it.
  struct State {
    Asked asked = Asked::curvature;
    int step = 0;  ///< gradients so far
    Vector point;
    /// Of the sum of f_k near recent points: a linear term, averaged over so many gradients.
    Vector slope;
    int averaged = 0;
    Matrix curvature;  ///< a majorizer; none before the first answer
  };

  static Question encode(const State& state);
  std::optional<State> decode(const Question& question) const;
  void begin(State state);
  void answer(Workspace& workspace);
  bool may_answer() const;
  bool is_complete() const;
  void decide();
  Matrix majorizer_of(const std::vector<double>& elements) const;
  void end(State state);
  double noise_share() const;
  double noise_excess() const;

  AgentContext context_;
  PrivateNewtonOptions options_;
  TreeSums sums_;
  State state_;  ///< of the present wave
  int gradients_given_ = 0;
  bool curvature_given_ = false;
  std::uint64_t sequence_ = 0;
  Round round_ = 0;
  std::vector<AgentEvent> events_;
  Cost cost_;
};

}  // namespace grove
