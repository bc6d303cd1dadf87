#include "grove/theory/tuned_prox.h"

#include <cassert>
#include <cmath>

namespace grove {
namespace {

double margin(const TunedProxRule& rule, double work) {
  return 1 - (1 + rule.zeta) * std::pow(rule.contraction, work);
}

}  // namespace

bool valid(const TunedProxRule& rule) {
  return rule.contraction > 0 && rule.contraction < 1 && rule.zeta >= 0 && rule.mean_work >= 1 &&
         margin(rule, 1) > 0;
}

double tuned_prox(const TunedProxRule& rule, double base, int work) {
  assert(valid(rule) && work >= 1);
  return base * std::pow(rule.contraction, work - rule.mean_work) * margin(rule, rule.mean_work) /
         margin(rule, work);
}

}  // namespace grove
