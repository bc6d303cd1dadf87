#include "grove/setup/loss_option.h"

#include "grove/base/text.h"

namespace grove {

Option loss_option(Loss& target) {
  return {"loss",
          "logistic | squared | huber[:DELTA]",
          "loss of one sample (logistic)",
          "Problem",
          [&target](std::string_view given) -> Status {
            if (given == "logistic") return target = LogisticLoss{}, success();
            if (given == "squared") return target = SquaredLoss{}, success();
            if (given == "huber") return target = HuberLoss{}, success();
            if (given.starts_with("huber:")) {
              const auto delta = parse_double(given.substr(6));
              if (delta && Range::positive().contains(*delta))
                return target = HuberLoss{*delta}, success();
            }
            return Error{"", fmt::format("'{}' is unknown; expected logistic, squared, huber or "
                                         "huber:DELTA with DELTA above 0",
                                         given)};
          },
          [&target]() -> nlohmann::json {
            if (std::holds_alternative<LogisticLoss>(target)) return "logistic";
            if (std::holds_alternative<SquaredLoss>(target)) return "squared";
            return "huber:" + exact(std::get<HuberLoss>(target).delta);
          }};
}

}  // namespace grove
