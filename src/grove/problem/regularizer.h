#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "grove/base/result.h"
#include "grove/base/types.h"

namespace grove {

/// l1 |u| + indicator(low <= u <= high), of every coordinate.
struct SeparableForm {
  double l1 = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

/// A convex regularizer of the user's own. It sees the coefficients without the intercept. It is
/// called from several threads at once.
class RegularizerTerm {
 public:
  virtual ~RegularizerTerm() = default;

  virtual double value(const Vector& x) const = 0;

  /// result = argmin_u r(u) + |u - v|^2 / (2 step). `result` has the size of v and does not share
  /// its memory.
  virtual void prox(double step, const Vector& v, Vector& result) const = 0;

  /// Where r is separable in this way, agents can apply their share of r in their local models. Any
  /// other r is applied by one agent, to its copy theta of the coefficients.
  virtual std::optional<SeparableForm> separable() const { return std::nullopt; }
};

/// One row of the registry of regularizers.
struct RegularizerEntry {
  std::string name;  ///< as --regularizer takes it, before the colon
  std::string form;  ///< with its arguments, as help shows it: "group-lasso:W:SIZE"
  /// From the text after the colon, empty without one. The error's `where` is left to the caller.
  std::function<Result<std::shared_ptr<const RegularizerTerm>>(std::string_view arguments)> make;
};

/// r(x): over the regularized coordinates the sum of l1 |x_k| + indicator(low <= x_k <= high), or a
/// term of the user's own. The first is separable, so that its prox is soft-thresholding followed
/// by clamping.
struct Regularizer {
  double l1 = 0;
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  Index regularized = 0;  ///< number of leading coordinates that r sees; an intercept comes after
  /// Of coordinates u_k = units_k x_k, where x_k are those that l1 and the bounds are meant for.
  /// Empty: all 1. Of a separable r only.
  Vector units = {};
  /// In place of l1 and the bounds, where it is set.
  std::shared_ptr<const RegularizerTerm> term = nullptr;

  bool trivial() const;
  bool separable() const { return term == nullptr; }
  /// The terms of one of the regularized coordinates, in its units.
  double l1_at(Index k) const { return units.size() == 0 ? l1 : l1 / units[k]; }
  double low_at(Index k) const { return units.size() == 0 ? low : low * units[k]; }
  double high_at(Index k) const { return units.size() == 0 ? high : high * units[k]; }
  double value(const Vector& x) const;  ///< infinite outside the box

  /// argmin_u r(u) + |u - v|^2 / (2 step), one coordinate (of a separable r) or all.
  double prox_at(Index coordinate, double step, double v) const;
  void prox(double step, const Vector& v, Vector& result) const;

  /// True where prox is locally a shift (r is smooth there), false where it is locally constant.
  /// The generalized derivative that semismooth Newton methods need.
  bool free_at(Index coordinate, double step, double v) const;
};

}  // namespace grove
