#include "grove/train/fit_options.h"

#include <algorithm>
#include <array>

namespace grove {
namespace {

Option family_option(Family& target) {
  return {"family",
          "gaussian | binomial | poisson | gamma | negative-binomial:THETA | multinomial | cox | "
          "huber[:DELTA] | squared-hinge",
          "distribution of the response (gaussian)",
          "Model",
          [&target](std::string_view given) -> Status {
            const auto family = Family::parse(given);
            if (!family) return family.error();
            target = *family;
            return success();
          },
          [&target]() -> nlohmann::json { return target.name(); }};
}

void add_model_options(FitOptions& fit, std::vector<Option>& options) {
  const std::string model = "Model";
  options.push_back(
      text_option({"formula", "FORMULA", "RESPONSE ~ TERMS, as in R", model}, fit.formula));
  options.push_back(family_option(fit.family));
  options.push_back(
      text_option({"weights", "COLUMN", "weights of rows (1)", model}, fit.roles.weights));
  options.push_back(text_option({"offset", "COLUMN", "added to the linear predictor (none)", model},
                                fit.roles.offset));
  options.push_back(text_option(
      {"class-weight", "balanced | a,b,...", "weights of the classes, in their order (1)", model},
      fit.class_weight));
  options.push_back(choice_option<Ties>({"ties", "", "events at one time, of cox (efron)", model},
                                        fit.ties,
                                        {{"efron", Ties::efron}, {"breslow", Ties::breslow}}));
  options.push_back(switch_option({"standardize", "",
                                   "penalties act on standardized columns; coefficients are "
                                   "reported in the units of the tables",
                                   model},
                                  fit.standardize));
  options.push_back(
      switch_option({"robust", "", "sandwich standard errors (HC0)", model}, fit.robust));
  options.push_back(number_option({"confidence", "C", "level of the intervals (0.95)", model},
                                  fit.confidence,
                                  Range{.low = 0, .high = 1, .low_open = true, .high_open = true}));
}

void add_table_options(FitOptions& fit, std::vector<Option>& options) {
  const std::string table = "Tables";
  options.push_back(choice_option<MissingPolicy>(
      {"missing", "", "what happens to rows with missing cells (drop)", table}, fit.roles.missing,
      {{"drop", MissingPolicy::drop},
       {"refuse", MissingPolicy::refuse},
       {"mean", MissingPolicy::mean},
       {"indicator", MissingPolicy::indicator}}));
  options.push_back(
      list_option({"columns", "a,b", "columns that . stands for (all)", table}, fit.columns, ','));
  options.push_back(
      list_option({"ignore", "a,b", "columns that . does not stand for", table}, fit.ignore, ','));
}

/// Options of a run that tables, the formula or the family decide.
constexpr std::array decided_by_fit{"data",      "shards",    "label-column", "loss",
                                    "weighting", "intercept", "samples"};

}  // namespace

Config default_fit_config() {
  Config config;
  config.method = Method::automatic;
  config.no_reference = true;
  config.weighting = Weighting::sample;
  return config;
}

std::vector<Option> options_of(FitOptions& fit) {
  std::vector<Option> options;
  add_model_options(fit, options);
  add_table_options(fit, options);
  return options;
}

std::vector<Option> options_of(FitOptions& fit, Config& config, const Registry& registry) {
  std::vector<Option> options = options_of(fit);
  for (Option& option : options_of(config, registry))
    if (std::ranges::find(decided_by_fit, option.name) == decided_by_fit.end())
      options.push_back(std::move(option));
  return options;
}

}  // namespace grove
