#include "grove/problem/loss.h"

#include "grove/base/text.h"

namespace grove {
namespace {

/// A loss without arguments.
template <class Form>
LossEntry plain(std::string name) {
  return {name, name, [name](std::string_view arguments) -> Result<Loss> {
            if (arguments.empty()) return Loss(Form{});
            return Error{"", name + " takes no number"};
          }};
}

Result<Loss> make_huber(std::string_view arguments) {
  if (arguments.empty()) return Loss(HuberLoss{});
  const auto delta = parse_double(arguments);
  if (delta && *delta > 0 && std::isfinite(*delta)) return Loss(HuberLoss{*delta});
  return Error{"", "expected huber or huber:DELTA with DELTA above 0"};
}

struct NameOf {
  std::string operator()(const LogisticLoss&) const { return "logistic"; }
  std::string operator()(const SquaredLoss&) const { return "squared"; }
  std::string operator()(const HuberLoss& huber) const { return "huber:" + exact(huber.delta); }
  std::string operator()(const CustomLoss& custom) const { return custom.name; }
};

}  // namespace

std::vector<LossEntry> built_in_losses() {
  return {plain<LogisticLoss>("logistic"),
          plain<SquaredLoss>("squared"),
          {"huber", "huber[:DELTA]", make_huber}};
}

std::string name_of(const Loss& loss) { return std::visit(NameOf{}, loss); }

}  // namespace grove
