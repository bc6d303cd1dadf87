#include "grove/setup/penalty_spec.h"

#include "grove/base/text.h"

namespace grove {
namespace {

/// Up to here the whole matrix costs fewer vectors, (d+1)/4 of them, than it saves rounds.
constexpr Index largest_full_dimension = 150;
/// With l1 it saves enough rounds to be the faster way up to here, though not the one
/// with the fewest bytes.
constexpr Index largest_full_with_kinks = 1000;
constexpr Index automatic_rank = 20;

nlohmann::json text_of(const PenaltySpec& choice) {
  if (choice.is_auto()) return "auto";
  if (!choice.published_form()) return static_cast<double>(choice);
  switch (choice.published_form()->shape) {
    case LinkWeightShape::scalar:
      return "scalar";
    case LinkWeightShape::diagonal:
      return "diagonal";
    case LinkWeightShape::low_rank:
      return fmt::format("low-rank:{}", choice.published_form()->rank);
    case LinkWeightShape::sparse:
      return "sparse";
    case LinkWeightShape::full:
      break;
  }
  return "full";
}

Status set_choice(PenaltySpec& target, std::string_view given) {
  using enum LinkWeightShape;
  if (given == "auto") return target = PenaltySpec(), success();
  if (given == "scalar") return target = LinkWeightForm{scalar}, success();
  if (given == "diagonal") return target = LinkWeightForm{diagonal}, success();
  if (given == "sparse") return target = LinkWeightForm{sparse}, success();
  if (given == "full") return target = LinkWeightForm{full}, success();
  if (given.starts_with("low-rank:")) {
    const auto rank = parse_integer(given.substr(9));
    if (rank && *rank > 0) return target = LinkWeightForm{low_rank, *rank}, success();
  }
  if (const auto number = parse_double(given); number && Range::positive().contains(*number))
    return target = *number, success();
  return Error{"", fmt::format("'{}' is not possible; expected a number above 0, auto, scalar, "
                               "diagonal, low-rank:K with K above 0, full or sparse",
                               given)};
}

}  // namespace

Option penalty_option(const OptionText& text, PenaltySpec& target) {
  return {text.name,
          text.value,
          text.help,
          text.group,
          [&target](std::string_view given) { return set_choice(target, given); },
          [&target] { return text_of(target); }};
}

LinkWeightForm automatic_form(Index dimension, bool kinks) {
  if (dimension <= (kinks ? largest_full_with_kinks : largest_full_dimension))
    return {LinkWeightShape::full};
  return {LinkWeightShape::low_rank, automatic_rank};
}

}  // namespace grove
