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

}  // namespace

bool Regularizer::trivial() const {
  return regularized == 0 || (!term && l1 == 0 && std::isinf(low) && std::isinf(high));
}

double Regularizer::value(const Vector& x) const {
  assert(regularized <= x.size());
  if (term) return term->value(x.head(regularized));
  const auto part = x.head(regularized);
  if (!((part.array() >= low) && (part.array() <= high)).all())
    return std::numeric_limits<double>::infinity();
  return l1 * part.lpNorm<1>();
}

double Regularizer::prox_at(Index coordinate, double step, double v) const {
  assert(separable());
  if (coordinate >= regularized) return v;
  return std::clamp(soft_threshold(v, step * l1), low, high);
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
  if (l1 > 0 && std::abs(v) <= step * l1) return false;
  const double shifted = soft_threshold(v, step * l1);
  return low < shifted && shifted < high;
}

}  // namespace grove
