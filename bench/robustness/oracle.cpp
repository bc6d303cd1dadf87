#include "robustness/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace oracle {
namespace {

using Real = long double;
using Reals = std::vector<Real>;

struct Derivatives {
  Real value, first, second;
};

/// `majorize`: the second derivative of Huber's loss is replaced by that of the quadratic above it
/// that touches it at the margin, so that a step with these weights never increases the objective.
Derivatives loss_at(const Task& task, Real margin, Real target, bool majorize = false) {
  if (task.loss == LossKind::logistic) {
    const Real decay = std::exp(-std::abs(margin));
    const Real p = margin >= 0 ? 1 / (1 + decay) : decay / (1 + decay);
    const Real q = margin >= 0 ? decay / (1 + decay) : 1 / (1 + decay);
    return {(1 - target) * std::max(margin, Real(0)) + target * std::max(-margin, Real(0)) +
                std::log1p(decay),
            (1 - target) * p - target * q, p * q};
  }
  const Real residual = margin - target;
  const Real delta = task.delta;
  if (task.loss == LossKind::huber && std::abs(residual) > delta)
    return {delta * (std::abs(residual) - delta / 2), std::copysign(delta, residual),
            majorize ? delta / std::abs(residual) : 0};
  return {residual * residual / 2, residual, 1};
}

/// Variables v >= 0 or within bounds: x_k = v_k (+ v_{k+d} mirrored where l1 splits signs), in
/// units of the columns' spread; the intercept absorbs the centers.
class Solver {
 public:
  explicit Solver(const Task& task)
      : task_(task), d_(task.columns), center_(d_, 0), scale_(d_, 1), split_(task.l1 > 0) {
    for (std::size_t k = 0; k < d_; ++k) {
      Real sum = 0, mass = 0;
      for (std::size_t j = 0; j < task.rows; ++j)
        sum += task.weights[j] * entry(j, k), mass += task.weights[j];
      if (task.intercept) center_[k] = sum / mass;
      Real squares = 0;
      for (std::size_t j = 0; j < task.rows; ++j) {
        const Real away = entry(j, k) - center_[k];
        squares += task.weights[j] * away * away;
      }
      scale_[k] = std::sqrt(squares / mass);
      if (!(scale_[k] > 1e-15L * std::abs(center_[k]))) {
        scale_[k] = center_[k] != 0 ? std::abs(center_[k]) : 1;
        center_[k] = 0;
      }
    }
    features_.resize(task.rows * d_);
    for (std::size_t j = 0; j < task.rows; ++j)
      for (std::size_t k = 0; k < d_; ++k)
        features_[j * d_ + k] = (entry(j, k) - center_[k]) / scale_[k];
    const Real low = task.low, high = task.high;
    for (std::size_t k = 0; k < d_; ++k) {
      low_.push_back(split_ ? std::max(Real(0), low) * scale_[k] : low * scale_[k]);
      high_.push_back(split_ ? std::max(Real(0), high) * scale_[k] : high * scale_[k]);
    }
    for (std::size_t k = 0; split_ && k < d_; ++k) {
      low_.push_back(std::max(Real(0), -high) * scale_[k]);
      high_.push_back(std::max(Real(0), -low) * scale_[k]);
    }
    if (task.intercept) {
      low_.push_back(-std::numeric_limits<Real>::infinity());
      high_.push_back(std::numeric_limits<Real>::infinity());
    }
    size_ = low_.size();
  }

  Optimum run() {
    Reals v(size_, 0);
    bool bounded = false;
    for (std::size_t k = 0; k < size_; ++k) {
      const bool below = std::isfinite(low_[k]), above = std::isfinite(high_[k]);
      bounded = bounded || below || above;
      if (below && above && low_[k] == high_[k])
        fixed_.push_back(k), v[k] = low_[k];
      else if (below && above)
        v[k] = (low_[k] + high_[k]) / 2;
      else if (below)
        v[k] = low_[k] + 1;
      else if (above)
        v[k] = high_[k] - 1;
    }
    if (!bounded) return minimize(v, 1e-17L);
    const Real zero = static_cast<Real>(objective(task_, std::vector<double>(d_ + 1, 0.0)));
    for (std::size_t k = 0; split_ && k < 2 * d_; ++k)  // l1 alone is below the value at zero
      v[k] = std::min(v[k], low_[k] + zero * scale_[k % d_] / task_.l1);
    evaluate(v, false);
    barrier_ = std::max(std::abs(value_), Real(1e-30L)) / static_cast<Real>(size_);
    for (;; barrier_ /= 4) {
      minimize(v, 1e-3L * barrier_);
      const Real weight = barrier_;
      barrier_ = 0;
      evaluate(v, false);
      const Real left = 4 * weight * static_cast<Real>(size_);
      if (left <= 1e-12L * std::abs(value_) || left < 1e-18L * zero) return {value_, left};
      barrier_ = weight;
    }
  }

 private:
  /// Damped Newton with backtracking; ends when a step promises less than `enough`, or a share of
  /// the value near rounding.
  Optimum minimize(Reals& v, Real enough) {
    Real damping = 1e-17L;
    Optimum result;
    int small = 0;
    for (int iteration = 0; iteration < 2000; ++iteration) {
      majorize_ = iteration % 3 == 2;
      evaluate(v, true);
      const Real before = value_;
      const Reals step = solve(damping);
      Real slope = 0, longest = std::numeric_limits<Real>::infinity();
      for (std::size_t k = 0; k < size_; ++k) {
        slope += gradient_[k] * step[k];
        if (step[k] == 0) continue;
        const Real room = step[k] > 0 ? high_[k] - v[k] : low_[k] - v[k];
        longest = std::min(longest, 0.99L * room / step[k]);
      }
      result = {before, -slope};
      small = -slope > std::max(enough, 1e-17L * std::abs(before)) ? 0 : small + 1;
      if (small > (barrier_ > 0 ? 1 : 6)) break;
      Real best = 0, best_value = before;
      Real length = std::min(Real(1), longest);
      for (int k = 0; k < 60; ++k, length /= 2) {
        const Real now = value_at(v, step, length);
        if (now < best_value)
          best_value = now, best = length;
        else if (best > 0)
          break;
      }
      if (!(best > 0)) {
        if (damping > 1e9L || small > 0) break;
        damping *= 100;
        continue;
      }
      if (best == 1) {
        damping = std::max(damping / 100, Real(1e-17L));
        // A bounded second derivative may vanish: longer steps may pay.
        for (Real longer = 2; longer < std::min(longest, Real(1e9L)); longer *= 2) {
          const Real now = value_at(v, step, longer);
          if (!(now < best_value)) break;
          best_value = now, best = longer;
        }
      } else if (best < 0.1L && best < longest / 4) {
        damping = std::min(damping * 10, Real(1));
      }
      for (std::size_t k = 0; k < size_; ++k) v[k] += best * step[k];
    }
    return result;
  }

  Real entry(std::size_t row, std::size_t column) const { return task_.values[row * d_ + column]; }
  Real value_at(const Reals& v, const Reals& step, Real length) {
    Reals trial(size_);
    for (std::size_t k = 0; k < size_; ++k) trial[k] = v[k] + length * step[k];
    evaluate(trial, false);
    return value_;
  }

  /// The barrier of the bounds of v_k: value and derivatives.
  Derivatives barrier_at(const Reals& v, std::size_t k) const {
    Derivatives sum{0, 0, 0};
    if (low_[k] == high_[k]) return sum;
    if (std::isfinite(low_[k])) {
      const Real room = v[k] - low_[k];
      sum.value -= barrier_ * std::log(room);
      sum.first -= barrier_ / room;
      sum.second += barrier_ / room / room;
    }
    if (std::isfinite(high_[k])) {
      const Real room = high_[k] - v[k];
      sum.value -= barrier_ * std::log(room);
      sum.first += barrier_ / room;
      sum.second += barrier_ / room / room;
    }
    return sum;
  }

  void evaluate(const Reals& v, bool derivatives) {
    const std::size_t p = d_ + (task_.intercept ? 1 : 0);
    Reals u(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(d_));
    for (std::size_t k = 0; split_ && k < d_; ++k) u[k] -= v[d_ + k];
    if (task_.intercept) u.push_back(v.back());
    Reals g(p, 0), h(derivatives ? p * p : 0, 0);
    Real total = 0;
    Reals row(p, 1);
    for (std::size_t j = 0; j < task_.rows; ++j) {
      Real margin = 0;
      for (std::size_t k = 0; k < d_; ++k) row[k] = features_[j * d_ + k];
      for (std::size_t k = 0; k < p; ++k) margin += row[k] * u[k];
      const Derivatives at = loss_at(task_, margin, task_.targets[j], majorize_);
      const Real weight = task_.weights[j];
      total += weight * at.value;
      if (!derivatives) continue;
      for (std::size_t k = 0; k < p; ++k) {
        g[k] += weight * at.first * row[k];
        const Real part = weight * at.second * row[k];
        if (part == 0) continue;
        for (std::size_t m = 0; m <= k; ++m) h[k * p + m] += part * row[m];
      }
    }
    for (std::size_t k = 0; k < d_; ++k) {
      const Real x = u[k] / scale_[k];
      total += task_.l2 / 2 * x * x;
      if (!derivatives) continue;
      g[k] += task_.l2 * x / scale_[k];
      h[k * p + k] += task_.l2 / scale_[k] / scale_[k];
    }
    if (split_)
      for (std::size_t k = 0; k < 2 * d_; ++k) total += task_.l1 * v[k] / scale_[k % d_];
    if (barrier_ > 0)
      for (std::size_t k = 0; k < size_; ++k) total += barrier_at(v, k).value;
    value_ = total;
    if (!derivatives) return;
    gradient_.assign(size_, 0);
    hessian_.assign(size_ * size_, 0);
    const auto source = [&](std::size_t k) {
      return task_.intercept && k + 1 == size_ ? p - 1 : k % d_;
    };
    const auto sign = [&](std::size_t k) { return split_ && k >= d_ && k < 2 * d_ ? -1 : 1; };
    for (std::size_t k = 0; k < size_; ++k) {
      const std::size_t a = source(k);
      gradient_[k] = sign(k) * g[a];
      if (split_ && k < 2 * d_) gradient_[k] += task_.l1 / scale_[a];
      for (std::size_t m = 0; m < size_; ++m) {
        const std::size_t b = source(m);
        hessian_[k * size_ + m] = sign(k) * sign(m) * h[std::max(a, b) * p + std::min(a, b)];
      }
      if (barrier_ > 0) {
        const Derivatives at = barrier_at(v, k);
        gradient_[k] += at.first;
        hessian_[k * size_ + k] += at.second;
      }
    }
  }

  /// The Newton step by Cholesky, with damping relative to the diagonal.
  Reals solve(Real damping) const {
    std::vector<std::size_t> free;
    for (std::size_t k = 0; k < size_; ++k)
      if (std::ranges::find(fixed_, k) == fixed_.end()) free.push_back(k);
    const std::size_t n = free.size();
    Real largest = 0;
    for (const std::size_t k : free) largest = std::max(largest, hessian_[k * size_ + k]);
    if (!(largest > 0)) largest = 1;
    Reals step(size_, 0);
    for (Real ridge = damping;; ridge *= 100) {
      Reals l(n * n);
      bool done = true;
      for (std::size_t i = 0; i < n && done; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
          Real sum = hessian_[free[i] * size_ + free[j]];
          if (i == j) sum += ridge * std::max(sum, 1e-6L * largest);
          for (std::size_t k = 0; k < j; ++k) sum -= l[i * n + k] * l[j * n + k];
          if (i == j) {
            if (!(sum > 0)) {
              done = false;
              break;
            }
            l[i * n + i] = std::sqrt(sum);
          } else {
            l[i * n + j] = sum / l[j * n + j];
          }
        }
      if (!done) continue;
      Reals z(n);
      for (std::size_t i = 0; i < n; ++i) {
        Real sum = -gradient_[free[i]];
        for (std::size_t k = 0; k < i; ++k) sum -= l[i * n + k] * z[k];
        z[i] = sum / l[i * n + i];
      }
      for (std::size_t i = n; i-- > 0;) {
        Real sum = z[i];
        for (std::size_t k = i + 1; k < n; ++k) sum -= l[k * n + i] * z[k];
        z[i] = sum / l[i * n + i];
      }
      for (std::size_t i = 0; i < n; ++i) step[free[i]] = z[i];
      return step;
    }
  }

  const Task& task_;
  std::size_t d_, size_ = 0;
  Reals center_, scale_, features_, low_, high_;
  bool split_;
  bool majorize_ = false;
  Real barrier_ = 0;                ///< weight of the logarithmic barrier of the bounds
  std::vector<std::size_t> fixed_;  ///< variables whose bounds coincide
  Real value_ = 0;
  Reals gradient_, hessian_;
};

}  // namespace

long double objective(const Task& task, const std::vector<double>& x) {
  Real total = 0;
  for (std::size_t j = 0; j < task.rows; ++j) {
    Real margin = task.intercept ? Real(x[task.columns]) : 0;
    for (std::size_t k = 0; k < task.columns; ++k)
      margin += Real(task.values[j * task.columns + k]) * x[k];
    total += task.weights[j] * loss_at(task, margin, task.targets[j]).value;
  }
  for (std::size_t k = 0; k < task.columns; ++k) {
    const Real rounding = 1e-12L * std::abs(Real(x[k]));
    if (x[k] < task.low - rounding || x[k] > task.high + rounding)
      return std::numeric_limits<Real>::infinity();
    total += task.l2 / 2 * Real(x[k]) * x[k] + task.l1 * std::abs(Real(x[k]));
  }
  return total;
}

Optimum solve(const Task& task) { return Solver(task).run(); }

}  // namespace oracle
