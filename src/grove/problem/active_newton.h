#pragma once

#include <limits>
#include <span>
#include <vector>

#include "grove/problem/objective.h"
#include "grove/problem/quadratic_model.h"
#include "grove/problem/regularizer.h"
#include "grove/problem/restricted_hessian.h"

namespace grove {

/// (v - anchor)'Q (v - anchor)/2 in a model of many coordinates.
class ActiveTerm {
 public:
  virtual ~ActiveTerm() = default;
  /// v will differ from the anchor on these coordinates, too.
  virtual void prepare(const std::vector<std::uint32_t>& /*coordinates*/) {}
  /// Q is this diagonal,
  virtual double diagonal(Index k) const = 0;
  /// and a symmetric matrix on those of the chosen coordinates that are listed then.
  virtual void blocks(ColumnPlaces /*places*/, std::vector<Index>& block_places,
                      Matrix& block) const {
    block_places.clear();
    block.resize(0, 0);
  }
  virtual void add_product(const Vector& v, Vector& result) const = 0;
};

/// Q = diag(q).
class DiagonalTerm final : public ActiveTerm {
 public:
  explicit DiagonalTerm(const Vector& q) : q_(q) {}
  double diagonal(Index k) const override { return q_[k]; }
  void add_product(const Vector& v, Vector& result) const override { result += q_.cwiseProduct(v); }

 private:
  const Vector& q_;
};

/// f(v) + linear'(v - anchor) + (v - anchor)'Q(v - anchor)/2 + r(v), f being one that restricts().
struct ActiveModel {
  const Objective& f;
  const Regularizer& r;
  const Vector& anchor;
  const Vector& linear;
  ActiveTerm& term;
};

struct ActiveBudget {
  int steps = 1;
  bool stop_when_quadratic = false;  ///< after a step that decreased the model as predicted
  double decrease = 0;     ///< stop when a step predicts less than this share of the first decrease
  double accuracy = 1e-2;  ///< of a step: share of the residual that it leaves
};

struct ActiveWork {
  int evaluations = 0, steps = 0, damped = 0;
};

/// Proximal Newton steps on the coordinates that are not at rest at a kink or bound of r. A step
/// takes a few passes over the non-zeros, and the exact solution on the coordinates that are free.
class ActiveNewton {
 public:
  /// Moves the point, from a place where r is finite.
  ActiveWork minimize(const ActiveModel& model, const ActiveBudget& budget, Vector& point);

  // At the point where the last minimization ended:
  std::span<const double> second_derivatives() const { return here_.second_derivatives; }
  double value() const { return here_.value; }  ///< of f
  const Vector& gradient() const { return here_.gradient; }

 private:
  struct Evaluation {
    double value = 0;
    Vector gradient;
    std::vector<double> second_derivatives;
  };
  void evaluate(const Objective& f, const Vector& at, Evaluation& result);
  double propose(const ActiveModel& model, const ActiveBudget& budget, const Vector& point);
  double decrease_of_rest(const ActiveModel& model, const Vector& point, double length);

  Evaluation here_, next_;
  ActiveSet active_;
  RestrictedRows rows_;
  std::vector<Index> block_places_;
  Matrix block_;
  QuadraticScratch quadratic_;
  ObjectiveScratch scratch_;
  Vector smooth_;  ///< gradient of the model's smooth part at the point
  Vector displacement_, displacement_product_;  ///< from the anchor, and Q times it
  Vector step_, product_;                       ///< of the proposal: and Q times it
  Vector target_, trial_;                       ///< on all coordinates
  Vector center_, slope_, diagonal_;            ///< on the active ones
};

}  // namespace grove
