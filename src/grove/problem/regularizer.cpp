#include "grove/problem/regularizer.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace grove {
namespace {

double soft_threshold(double v, double threshold) {
  if (v > threshold) return v - threshold;
  if (v < -threshold) return v + threshold;
  return 0.0;
}

double value_in_units(const Regularizer& r, const Vector& x) {
  double sum = 0;
  for (Index k = 0; k < r.regularized; ++k) {
    if (!(r.low_at(k) <= x[k] && x[k] <= r.high_at(k)))
      return std::numeric_limits<double>::infinity();
    sum += r.l1_at(k) * std::abs(x[k]);
  }
  return sum;
}

}  // namespace

bool Regularizer::trivial() const {
  return regularized == 0 || (!term && l1 == 0 && std::isinf(low) && std::isinf(high));
}

double Regularizer::value(const Vector& x) const {
  assert(regularized <= x.size());
  if (term) return term->value(x.head(regularized));
  const auto part = x.head(regularized);
  if (units.size() > 0) return value_in_units(*this, x);
  if (!((part.array() >= low) && (part.array() <= high)).all())
    return std::numeric_limits<double>::infinity();
  return l1 * part.lpNorm<1>();
}

double Regularizer::prox_at(Index coordinate, double step, double v) const {
  assert(separable());
  if (coordinate >= regularized) return v;
  return std::clamp(soft_threshold(v, step * l1_at(coordinate)), low_at(coordinate),
                    high_at(coordinate));
}

void Regularizer::prox(double step, const Vector& v, Vector& result) const {
  result.resize(v.size());
  if (term) {
    Vector part(regularized);
    term->prox(step, v.head(regularized), part);
    result = v;
    result.head(regularized) = part;
    return;
  }
  for (Index k = 0; k < v.size(); ++k) result[k] = prox_at(k, step, v[k]);
}

bool Regularizer::free_at(Index coordinate, double step, double v) const {
  assert(separable());
  if (coordinate >= regularized) return true;
  const double threshold = step * l1_at(coordinate);
  if (l1 > 0 && std::abs(v) <= threshold) return false;
  const double shifted = soft_threshold(v, threshold);
  return low_at(coordinate) < shifted && shifted < high_at(coordinate);
}

}  // namespace grove
