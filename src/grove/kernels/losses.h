#pragma once

#include <cmath>

#include "grove/kernels/pack.h"

namespace grove::kernels {

template <class Set>
struct PackedLoss {
  Pack<Set> value, slope, second_derivative;
};

/// c[0] + c[1] x + c[2] x^2 + ..., even and odd powers apart: two chains half as long, because the
/// processor waits for the chain and not for the arithmetic.
template <class Set, int Count>
[[gnu::always_inline]] inline Pack<Set> polynomial(const double (&c)[Count], Pack<Set> x) {
  static_assert(Count % 2 == 0);
  const Pack<Set> square = x * x;
  Pack<Set> even = splat<Set>(c[Count - 2]), odd = splat<Set>(c[Count - 1]);
  for (int k = Count - 4; k >= 0; k -= 2) {
    even = even * square + c[k];
    odd = odd * square + c[k + 1];
  }
  return odd * x + even;
}

/// 2^k for integers -1022 <= k <= 1023.
template <class Set>
[[gnu::always_inline]] inline Pack<Set> power_of_two(Pack<Set> k) {
  using Bits = typename Set::Bits;
  constexpr double shifter = 0x1.8p52;  // pushes an integer into the low bits of the mantissa
  return reinterpret_cast<Pack<Set>>((reinterpret_cast<Bits>(k + shifter) + 1023) << 52);
}

/// e^x for x <= 700, to one unit in the last place, into the denormals: x = k log 2 + r with
/// |r| <= (log 2)/2, and e^r = 1 + r + r^2 Q(r), Q from a Chebyshev fit (error 1.3e-17).
template <class Set>
[[gnu::always_inline]] inline Pack<Set> exp_up_to_700(Pack<Set> x) {
  constexpr double per_log2 = 0x1.71547652b82fep+0;
  constexpr double log2_high = 0x1.62e42feep-1;  // k times it is exact
  constexpr double log2_low = 0x1.a39ef35793c76p-33;
  constexpr double shifter = 0x1.8p52;  // adding and taking it away rounds to an integer
  constexpr double q[] = {0x1.0000000000001p-1,  0x1.5555555555556p-3,  0x1.5555555553d63p-5,
                          0x1.11111111109b3p-7,  0x1.6c16c1788bd90p-10, 0x1.a01a01a7c41d5p-13,
                          0x1.a019b90d2ae7ap-16, 0x1.71de0dae63bb3p-19, 0x1.289185613a3d6p-22,
                          0x1.af38a9b0ec855p-26};
  x = x < -750 ? splat<Set>(-750) : x;  // e^-750 is 0; keeps k in range
  const Pack<Set> k = (x * per_log2 + shifter) - shifter;
  const Pack<Set> r = (x - k * log2_high) - k * log2_low;
  const Pack<Set> power = (r * r * polynomial<Set>(q, r) + r) + 1;
  // 2^k in two factors: a denormal result is rounded once, by the last multiplication.
  const Pack<Set> half = (k * 0.5 + shifter) - shifter;
  return power * power_of_two<Set>(half) * power_of_two<Set>(k - half);
}

/// log(1 + u) for 0 <= u <= 1: with t = 2u / (2 + u) it is 2 artanh(t/2) = t + t^3 R(t^2), R from a
/// Chebyshev fit (error 5e-18). For tiny u, t is u.
template <class Set>
[[gnu::always_inline]] inline Pack<Set> log_one_plus(Pack<Set> u) {
  constexpr double coefficients[] = {
      0x1.5555555555555p-4,  0x1.999999999a3ddp-7,  0x1.24924923d4483p-9,  0x1.c71c7271467b3p-12,
      0x1.745cf0b03ada4p-14, 0x1.3b18b2a6e1b59p-16, 0x1.10ac74b2e93fep-18, 0x1.eb9074a16ed6ap-21,
      0x1.6879fd8722f84p-23, 0x1.4b0a9e911b05cp-24};
  const Pack<Set> t = (u + u) / (u + 2);
  const Pack<Set> square = t * t;
  return t * square * polynomial<Set>(coefficients, square) + t;
}

/// log(1 + e^m) - y m, y in {0, 1}: a function of the margin's size on the wrong side,
/// z = (1 - 2y) m.
template <class Set>
struct LogisticAt {
  [[gnu::always_inline]] PackedLoss<Set> operator()(Pack<Set> margin, Pack<Set> target) const {
    const Pack<Set> sign = 1 - 2 * target;
    const Pack<Set> z = sign * margin;
    const Pack<Set> decay = exp_up_to_700<Set>(z < 0 ? z : -z);  // in [0, 1]
    const Pack<Set> sum = 1 + decay;
    const Pack<Set> lost = (1 - sum) + decay;  // what rounding took from the sum, exactly
    const Pack<Set> inverse = 1 / sum;
    const Pack<Set> likelier = inverse - inverse * inverse * lost;  // chance of the favoured class
    return {(z > 0 ? z : splat<Set>(0)) + log_one_plus<Set>(decay),
            sign * (z >= 0 ? likelier : decay * likelier),
            decay / (sum * sum + (sum + sum) * lost)};
  }
};

template <class Set>
struct SquaredAt {
  [[gnu::always_inline]] PackedLoss<Set> operator()(Pack<Set> margin, Pack<Set> target) const {
    const Pack<Set> residual = margin - target;
    return {0.5 * residual * residual, residual, splat<Set>(1)};
  }
};

template <class Set>
struct HuberAt {
  double delta;
  [[gnu::always_inline]] PackedLoss<Set> operator()(Pack<Set> margin, Pack<Set> target) const {
    const Pack<Set> residual = margin - target;
    const Pack<Set> size = residual < 0 ? -residual : residual;
    const Pack<Set> threshold = splat<Set>(delta);
    const auto inside = size <= threshold;
    return {inside ? 0.5 * residual * residual : threshold * (size - 0.5 * threshold),
            inside ? residual : (residual < 0 ? -threshold : threshold),
            inside ? splat<Set>(1) : splat<Set>(0)};
  }
};

/// Above this margin exponential losses go on along their tangent, so that sums, products and
/// squares of numbers stay finite: e^200 is 7e86. No optimum of a data set lies there.
inline constexpr double exponent_limit = 200;

/// e^m up to the limit, its tangent beyond; the second derivative stays that of the limit.
template <class Set>
struct CappedExponential {
  Pack<Set> value, slope;
  [[gnu::always_inline]] explicit CappedExponential(Pack<Set> m) {
    const Pack<Set> limit = splat<Set>(exponent_limit);
    const Pack<Set> beyond = m > limit ? m - limit : splat<Set>(0);
    slope = exp_up_to_700<Set>(m > limit ? limit : m);
    value = slope * (1 + beyond);
  }
};

/// e^m - y m
template <class Set>
struct PoissonAt {
  [[gnu::always_inline]] PackedLoss<Set> operator()(Pack<Set> margin, Pack<Set> target) const {
    const CappedExponential<Set> mean(margin);
    return {mean.value - target * margin, mean.slope - target, mean.slope};
  }
};

/// y e^-m + m
template <class Set>
struct GammaAt {
  [[gnu::always_inline]] PackedLoss<Set> operator()(Pack<Set> margin, Pack<Set> target) const {
    const CappedExponential<Set> inverse(-margin);
    return {target * inverse.value + margin, 1 - target * inverse.slope, target * inverse.slope};
  }
};

/// (y + theta) log(e^m + theta) - y m
template <class Set>
struct NegativeBinomialAt {
  double theta, log_theta;
  [[gnu::always_inline]] PackedLoss<Set> operator()(Pack<Set> margin, Pack<Set> target) const {
    const Pack<Set> z = margin - log_theta;
    const Pack<Set> decay = exp_up_to_700<Set>(z < 0 ? z : -z);
    const Pack<Set> inverse = 1 / (1 + decay);
    const Pack<Set> size = target + theta;
    const Pack<Set> share = z >= 0 ? inverse : decay * inverse;  // e^m / (e^m + theta)
    const Pack<Set> log_sum = (z > 0 ? z : splat<Set>(0)) + log_one_plus<Set>(decay) + log_theta;
    return {size * log_sum - target * margin, size * share - target,
            size * decay * inverse * inverse};
  }
};

/// max(0, 1 - s m)^2 with s = 2y - 1
template <class Set>
struct SquaredHingeAt {
  [[gnu::always_inline]] PackedLoss<Set> operator()(Pack<Set> margin, Pack<Set> target) const {
    const Pack<Set> sign = 2 * target - 1;
    const Pack<Set> lack = 1 - sign * margin;
    const Pack<Set> hinge = lack > 0 ? lack : splat<Set>(0);
    return {hinge * hinge, -2 * sign * hinge, lack > 0 ? splat<Set>(2) : splat<Set>(0)};
  }
};

/// A loss times the weight of its sample.
template <class Set>
[[gnu::always_inline]] inline PackedLoss<Set> weighted(PackedLoss<Set> loss, Pack<Set> weight) {
  return {loss.value * weight, loss.slope * weight, loss.second_derivative * weight};
}

/// Applies loss_at(margin, target) pack by pack; returns the sum of the values.
template <class Set, bool Weighted, class LossAt>
double each_pack_of(const LossBlock& block, LossAt loss_at) {
  constexpr Index lanes = Set::lanes;
  Pack<Set> total{};
  Index k = 0;
  for (; k + lanes <= block.count; k += lanes) {
    PackedLoss<Set> loss = loss_at(load<Set>(block.margins + k), load<Set>(block.targets + k));
    if constexpr (Weighted) loss = weighted<Set>(loss, load<Set>(block.weights + k));
    total += loss.value;
    store<Set>(block.slopes + k, loss.slope);
    store<Set>(block.second_derivatives + k, loss.second_derivative);
  }
  double sum = sum_of_lanes<Set>(total);
  Pack<Set> margin{}, target{}, weight{};
  for (Index lane = 0; k + lane < block.count; ++lane) {
    margin[lane] = block.margins[k + lane];
    target[lane] = block.targets[k + lane];
    if constexpr (Weighted) weight[lane] = block.weights[k + lane];
  }
  PackedLoss<Set> rest = loss_at(margin, target);
  if constexpr (Weighted) rest = weighted<Set>(rest, weight);
  for (Index lane = 0; k + lane < block.count; ++lane) {
    sum += rest.value[lane];
    block.slopes[k + lane] = rest.slope[lane];
    block.second_derivatives[k + lane] = rest.second_derivative[lane];
  }
  return sum;
}

template <class Set, class LossAt>
double each_pack(const LossBlock& block, LossAt loss_at) {
  return block.weights ? each_pack_of<Set, true>(block, loss_at)
                       : each_pack_of<Set, false>(block, loss_at);
}

template <class Set>
double logistic(const LossBlock& block) {
  return each_pack<Set>(block, LogisticAt<Set>{});
}

template <class Set>
double squared(const LossBlock& block) {
  return each_pack<Set>(block, SquaredAt<Set>{});
}

template <class Set>
double huber(double delta, const LossBlock& block) {
  return each_pack<Set>(block, HuberAt<Set>{delta});
}

template <class Set>
double poisson(const LossBlock& block) {
  return each_pack<Set>(block, PoissonAt<Set>{});
}

template <class Set>
double gamma(const LossBlock& block) {
  return each_pack<Set>(block, GammaAt<Set>{});
}

template <class Set>
double negative_binomial(double theta, const LossBlock& block) {
  return each_pack<Set>(block, NegativeBinomialAt<Set>{theta, std::log(theta)});
}

template <class Set>
double squared_hinge(const LossBlock& block) {
  return each_pack<Set>(block, SquaredHingeAt<Set>{});
}

}  // namespace grove::kernels
