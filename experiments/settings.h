#pragma once

#include <string>
#include <vector>

#include "grove/setup/config.h"

namespace grove::experiments {

/// What the user chose about the whole job.
struct Scale {
  std::string data = "synthetic:ijcnn-like,samples=4000";
  std::uint64_t samples = 4000;
  std::uint64_t seeds = 10;
  bool quick = false;  ///< a small form of everything, for a first look and for tests
};

/// Two seeds and few rounds of a small set: seconds.
Scale quick_scale();

/// One choice of the parameters that the figures share: eps = mu_theta = 2 mu_z.
struct Setting {
  std::string name;          ///< "literal" or "picture"
  std::string title;         ///< for people
  double penalty = 0;        ///< mu_z
  std::uint64_t rounds = 0;  ///< limit of figure 1, and of figures 2 and 3 at full participation
};

/// The paper's own numbers, and those with which its picture appears (math: section 8).
std::vector<Setting> settings(const Scale& scale);

/// The parts joined to a name that any file system takes: letters, digits and single dashes.
std::string file_name(const std::vector<std::string>& parts);

/// Both readings of the local steps.
std::vector<LocalModelKind> local_models();
std::string name_of(LocalModelKind model);

constexpr double goal = 1e-2;         ///< relative error of figures 2 and 3
constexpr std::uint64_t batch = 100;  ///< |b_g| = |b_H|
constexpr double l1_weight = 2e-6;    ///< gamma
std::vector<double> participations(const Scale& scale);

/// The problem of a seed with DRUID-VL and the setting's parameters; figures change the rest.
Config base_config(const Scale& scale, const Setting& setting, std::uint64_t seed);

}  // namespace grove::experiments
