#pragma once

#include <string>
#include <variant>

#include "grove/coupling/link_weight.h"
#include "grove/setup/option.h"

namespace grove {

/// The weight of the links: a number for all of them, a form that agents publish from their
/// Hessians, or whichever suits the method and the data.
class PenaltySpec {
 public:
  PenaltySpec() = default;  ///< auto
  PenaltySpec(double number) : choice_(number) {}
  PenaltySpec(LinkWeightForm form) : choice_(form) {}

  bool is_auto() const { return std::holds_alternative<Auto>(choice_); }
  const LinkWeightForm* published_form() const { return std::get_if<LinkWeightForm>(&choice_); }
  /// The number, where it is one; auto is settled by set_up_method.
  operator double() const { return std::get<double>(choice_); }

 private:
  struct Auto {};
  std::variant<Auto, double, LinkWeightForm> choice_;
};

/// auto | MU | scalar | diagonal | low-rank:K | full | sparse
Option penalty_option(const OptionText& text, PenaltySpec& target);

/// What auto means where agents can publish weights, by what was measured
/// (docs/measurements/link-weights.md): the form that costs the fewest bytes until convergence, or,
/// where l1 has kinks, the least time.
LinkWeightForm automatic_form(Index dimension, bool kinks);

}  // namespace grove
