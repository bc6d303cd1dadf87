#include "grove/problem/restricted_model.h"

#include <algorithm>

namespace grove {

const Vector& RestrictedMinimizer::minimize(const RestrictedModel& model) {
  constexpr int most_parts = 50;
  constexpr Index fewest_new = 500;
  u_ = model.x;
  slope_ = model.gradient;
  std::vector<std::uint32_t> before;
  const std::vector<Index> no_places;
  const Matrix no_block;
  for (int part = 0; part < most_parts; ++part) {
    active_.find(u_, slope_, model.regularizer,
                 std::max<Index>(fewest_new, (u_.array() != 0).count()));
    // Coordinates that came back to zero are at rest there, and those in work are solved.
    if (active_.size() == 0 || (part > 0 && std::ranges::includes(before, active_.members())))
      break;
    before = active_.members();
    rows_.clear(active_.size());
    model.f.append_restricted(model.second_derivatives, active_.places(), 1, rows_);
    diagonal_ = rows_.ridge.array() + model.damping;
    active_.gather(u_, part_);
    active_.gather(slope_, part_slope_);
    const RestrictedHessian hessian(rows_, diagonal_, no_places, no_block);
    active_.scatter(grove::minimize({.center = part_,
                                     .gradient = part_slope_,
                                     .hessian = hessian,
                                     .regularizer = active_.regularizer(model.regularizer),
                                     .smoothness = model.smoothness,
                                     .tolerance = model.tolerance},
                                    quadratic_),
                    u_);
    step_ = u_ - model.x;
    model.f.weighted_hessian_times(model.second_derivatives, Batch::all(), step_, slope_, scratch_);
    slope_ += model.gradient + model.damping * step_;
  }
  return u_;
}

}  // namespace grove
