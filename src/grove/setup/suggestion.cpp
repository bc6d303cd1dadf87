#include "grove/setup/suggestion.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "grove/base/text.h"

namespace grove {
namespace {

struct Synonym {
  std::string_view word;     ///< in other programs, in papers, or in everyday speech
  std::string_view options;  ///< here
};

constexpr std::array synonyms{Synonym{"lambda", "l1,l2"},
                              Synonym{"regularization", "l1,l2"},
                              Synonym{"reg", "l1,l2"},
                              Synonym{"alpha", "l1,l2"},
                              Synonym{"lasso", "l1"},
                              Synonym{"ridge", "l2"},
                              Synonym{"weight-decay", "l2"},
                              Synonym{"gamma", "l1"},
                              Synonym{"mu", "penalty"},
                              Synonym{"rho", "penalty"},
                              Synonym{"beta", "penalty"},
                              Synonym{"eps", "prox,tolerance"},
                              Synonym{"epsilon", "prox,tolerance"},
                              Synonym{"tol", "tolerance"},
                              Synonym{"lr", "step"},
                              Synonym{"learning-rate", "step"},
                              Synonym{"stepsize", "step"},
                              Synonym{"step-size", "step"},
                              Synonym{"iterations", "rounds"},
                              Synonym{"iters", "rounds"},
                              Synonym{"max-iter", "rounds"},
                              Synonym{"max-rounds", "rounds"},
                              Synonym{"epochs", "rounds"},
                              Synonym{"local-steps", "work"},
                              Synonym{"local-epochs", "work"},
                              Synonym{"nodes", "agents"},
                              Synonym{"workers", "agents"},
                              Synonym{"clients", "agents"},
                              Synonym{"topology", "graph"},
                              Synonym{"network", "graph"},
                              Synonym{"algorithm", "method"},
                              Synonym{"optimizer", "method"},
                              Synonym{"solver", "method"},
                              Synonym{"batch-size", "batch-gradient,batch-hessian"},
                              Synonym{"batch", "batch-gradient"},
                              Synonym{"bias", "intercept"},
                              Synonym{"fit-intercept", "intercept"},
                              Synonym{"drop-rate", "loss-rate"},
                              Synonym{"objective", "loss"},
                              Synonym{"family", "loss"},
                              Synonym{"random-state", "seed"},
                              Synonym{"file", "data"},
                              Synonym{"input", "data"},
                              Synonym{"split", "partition"},
                              Synonym{"output", "out,record"},
                              Synonym{"save", "model,record"},
                              Synonym{"silent", "quiet"},
                              Synonym{"jobs", "threads"},
                              Synonym{"cores", "threads"},
                              Synonym{"figure", "plot"},
                              Synonym{"algorithms", "methods"},
                              Synonym{"repeats", "seeds"},
                              Synonym{"fit", "train"},
                              Synonym{"run", "train"},
                              Synonym{"test", "predict"},
                              Synonym{"score", "predict"},
                              Synonym{"benchmark", "compare"},
                              Synonym{"download", "data"},
                              Synonym{"draw", "plot"},
                              Synonym{"simulate", "train"}};

}  // namespace

std::vector<std::string> similar_names(std::string_view word, std::span<const std::string> known) {
  std::string spelled = lowercase(word);
  std::ranges::replace(spelled, '_', '-');
  std::vector<std::string> likely;
  if (std::ranges::find(known, spelled) != known.end()) return {spelled};
  for (const Synonym& synonym : synonyms)
    if (synonym.word == spelled)
      for (const std::string_view option : split(synonym.options, ','))
        if (std::ranges::find(known, option) != known.end()) likely.emplace_back(option);
  if (!likely.empty()) return likely;
  if (const auto near = closest(spelled, known)) return {*near};
  return {};
}

std::string suggestion(std::string_view word, std::span<const std::string> known,
                       std::string_view prefix) {
  std::string text;
  for (const std::string& name : similar_names(word, known))
    text += fmt::format("{}{}{}", text.empty() ? "; did you mean " : " or ", prefix, name);
  return text.empty() ? text : text + "?";
}

}  // namespace grove
