#include "experiments/settings.h"

#include <cctype>

namespace grove::experiments {

Scale quick_scale() {
  return {.data = "synthetic:ijcnn-like,samples=1500", .samples = 1500, .seeds = 2, .quick = true};
}

std::vector<Setting> settings(const Scale& scale) {
  return {{.name = "literal",
           .title = "paper's parameters, mu_z = 5e-5",
           .penalty = 5e-5,
           .rounds = scale.quick ? 10u : 100u},
          {.name = "picture",
           .title = "larger penalty, mu_z = 3e-3",
           .penalty = 3e-3,
           .rounds = scale.quick ? 60u : 250u}};
}

std::string file_name(const std::vector<std::string>& parts) {
  std::string name;
  for (const std::string& part : parts) {
    if (!name.empty() && name.back() != '-') name += '-';
    for (const char c : part)
      if (std::isalnum(static_cast<unsigned char>(c)) || c == '.')
        name += c;
      else if (!name.empty() && name.back() != '-')
        name += '-';
  }
  return name;
}

std::vector<LocalModelKind> local_models() {
  return {LocalModelKind::linearized, LocalModelKind::augmented};
}

std::string name_of(LocalModelKind model) {
  return model == LocalModelKind::linearized ? "linearized" : "augmented";
}

std::vector<double> participations(const Scale& scale) {
  if (scale.quick) return {0.5, 1.0};
  return {0.2, 0.4, 0.6, 0.8, 1.0};
}

Config base_config(const Scale& scale, const Setting& setting, std::uint64_t seed) {
  Config config;
  config.data = scale.data;
  config.samples = scale.samples;
  config.seed = seed;
  config.graph = "erdos-renyi:0.2";
  config.l1 = l1_weight;
  config.penalty = setting.penalty;
  config.theta_penalty = 2 * setting.penalty;
  config.prox = 2 * setting.penalty;
  config.sampling = SamplingKind::minibatch;
  config.batch_gradient = config.batch_hessian = batch;
  config.rounds = setting.rounds;
  config.tolerance = 0;
  config.threads = 1;
  return config;
}

}  // namespace grove::experiments
