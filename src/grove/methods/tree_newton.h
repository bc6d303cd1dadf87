#pragma once

#include <optional>
#include <vector>

#include "grove/agent/dynamic_agent.h"
#include "grove/methods/answered_points.h"
#include "grove/methods/newton_answers.h"
#include "grove/sums/tree_sums.h"

namespace grove {

/// When the root asks for Hessians.
enum class HessianWaves {
  automatic,  ///< by the dimension, and whether r makes coefficients zero
  eager,      ///< with every wave
  lazy,       ///< when steps gain too little; between, the root corrects the old one (BFGS)
  support     ///< with every wave, on the coordinates that matter
};

struct TreeNewtonOptions {
  double tolerance = 1e-9;      ///< of the last Newton step, relative to the coefficients
  double gap_tolerance = 1e-6;  ///< of the certified gap, relative to the objective
  HessianWaves hessians = HessianWaves::automatic;
  bool intro = true;  ///< the first wave asks for the agents' own minimizers
  /// A start where the objective is larger than at zero is given up for zero.
  bool falls_back_to_zero = false;
  /// Hessians travel in double precision from the start, not only where single is too coarse.
  bool double_hessians = false;
  LinkStateOptions links = {};
  std::optional<MaskOptions> masks = {};  ///< nobody sees an agent's own numbers
};

/// Largest dimension that is eager, and largest that is lazy where r has an l1 term.
inline constexpr Index largest_eager = 64, largest_lazy = 300;

/// One agent of tree-newton: damped proximal Newton steps on sum f_i + n r, with sums over a
/// spanning tree and a line search on exact values (docs/reference/tree-newton.md). The step is
/// that of Lee, Sun and Saunders, Proximal Newton-type methods, SIAM J. Optim. 24 (2014).
class TreeNewtonAgent final : public DynamicAgent {
 public:
  TreeNewtonAgent(const TreeNewtonOptions& options, AgentContext context);

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
  /// Zero where the answer is certified, and infinite before: only the sums know.
  double disagreement() const override;
  double last_step() const override { return question_.step.norm(); }
  void set_regularizer_holder(bool, const Regularizer&, std::size_t) override {}
  const Vector& estimate() const override { return question_.base; }
  const AnswerCertificate* certificate() const override;
  std::span<const AgentId> counted_members() const override;
  std::span<const std::uint32_t> counted_data() const override { return sums_.plan().data; }
  const Cost& cost() const override { return cost_; }
  std::span<const AgentEvent> events() const override { return events_; }
  void save(ByteWriter& writer) const override;
  Status load(ByteReader& reader) override;

  /// The answer is certified, for the members that are present, and nobody is missing.
  bool finished() const;
  const NewtonQuestion& question() const { return question_; }
  const TreeSums& sums() const { return sums_; }

 private:
  /// Where the root takes a trial step from.
  struct Base {
    WaveId wave;           ///< of the trial
    double value = 0;      ///< sum f_i + n r
    double predicted = 0;  ///< change of the model with one Newton step
    double decrement = 0;
    std::uint8_t stretch = 1;  ///< Newton steps that were taken at once
    Vector gradient;
    Matrix hessian;
    bool fresh_hessian = false;    ///< of this point, not of an earlier one
    bool precise_hessian = false;  ///< not spoilt by single precision
    bool majorized = false;        ///< the Hessian is a majorizer, where the objective has one
    bool from_intro = false;       ///< the gradient is that of the agents' models
  };
  struct Step {
    Vector direction;
    double decrement = 0;
    double relative = 0;
    double predicted = 0;
  };

  void answer(Workspace& workspace);
  Vector moved(const Vector& point) const;
  void restart(const Vector& point, bool majorizer = false);
  void begin(NewtonQuestion question);
  void begin_trial(const Vector& step, bool wants_hessian, Base base);
  void decide(const NewtonTotals& totals);
  bool accepts_trial(const NewtonTotals& totals);
  void decide_intro(const NewtonTotals& totals);
  void step_from(const NewtonTotals& totals);
  std::uint8_t stretch_of(const Step& step) const;
  bool is_worse_than_zero(const NewtonTotals& totals, double value);
  Matrix hessian_at(const NewtonTotals& totals) const;
  bool is_precise(const NewtonTotals& totals);
  Step newton_step(const Matrix& hessian, const Vector& gradient);
  bool ends_with(const Step& step, const NewtonTotals& totals);
  std::vector<std::uint32_t> support_of(const Step& step, const NewtonTotals& totals,
                                        const Matrix& hessian) const;
  Vector point() const;
  double penalty_at(const Vector& point) const;
  void note(AgentEvent::Kind kind, double value);
  void save_base(ByteWriter& writer) const;
  void load_base(ByteReader& reader);

  AgentContext context_;
  TreeNewtonOptions options_;
  NewtonAnswers answers_;
  TreeSums sums_;
  NewtonQuestion question_;  ///< of the present wave
  std::optional<Base> base_;
  Regularizer total_regularizer_;  ///< n r, as of the latest decision
  bool double_hessians_ = false;   ///< from now on
  bool judged_start_ = false;      ///< by the root, where it may fall back to zero
  std::uint8_t coarseness_ = 0;    ///< of masked answers, from now on
  /// After a refused Newton step so many steps use majorizers: from the second time twice as many.
  std::uint8_t majorized_run_ = 1;
  std::uint8_t majorized_left_ = 0;
  AnsweredPoints answered_;  ///< with masks
  WaveId decided_;           ///< the root waits for missing members after this wave
  std::uint64_t tree_ = 0;   ///< of the latest wave that this agent began
  Round round_ = 0;
  std::uint64_t sequence_ = 0;
  std::vector<AgentEvent> events_;
  Cost cost_;
};

}  // namespace grove
