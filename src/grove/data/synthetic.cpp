#include "grove/data/synthetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/random.h"
#include "grove/base/text.h"
#include "grove/data/lines.h"
#include "grove/data/readers.h"

namespace grove {
namespace {

constexpr std::string_view prefix = "synthetic:";

/// A `key=value` a set understands, with its default and its range.
struct Parameter {
  std::string name;
  double value;
  double least;
  double most;
  bool whole;  ///< whether only whole numbers make sense
};

/// Which stream of a row or of the set a random number belongs to.
enum Stream : std::uint64_t { row_stream = 0, model_stream = 1 };

KeyedRandom random_of(std::uint64_t seed, Stream stream, std::uint64_t row) {
  return KeyedRandom(
      RandomKey{.seed = seed, .purpose = Purpose::synthetic, .agent = stream, .round = row});
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// -1 or 1 with the odds of a logistic model.
double draw_class(double logit, KeyedRandom& random) {
  return random.uniform() < logistic(logit) ? 1 : -1;
}

/// Adds one row, drawn with the row's own generator.
using RowMaker = std::function<void(KeyedRandom&, RowBlock&)>;

std::vector<RowBlock> make_rows(std::size_t samples, std::uint64_t seed, const RowMaker& make_row) {
  constexpr std::size_t rows_per_block = 4096;
  std::vector<RowBlock> blocks;
  for (std::size_t row = 0; row < samples; ++row) {
    if (row % rows_per_block == 0) blocks.emplace_back();
    KeyedRandom random = random_of(seed, row_stream, row);
    make_row(random, blocks.back());
  }
  return blocks;
}

/// A continuous column of the ijcnn-like set. Means, deviations and loadings on one common factor
/// are those of ijcnn1 (columns 11 to 22), rounded; `effect` is the change of the logit per
/// standard deviation.
struct ContinuousColumn {
  double mean;
  double deviation;
  double loading;
  double effect;
};
constexpr std::array<ContinuousColumn, 12> continuous_columns{{{-0.08, 0.37, 0.80, 0.6},
                                                               {0.32, 0.16, 0.20, -0.3},
                                                               {0.00, 0.11, 0.20, 0.2},
                                                               {0.00, 0.10, -0.10, 0.0},
                                                               {-0.04, 0.10, -0.40, -0.2},
                                                               {0.00, 0.10, 0.00, 0.2},
                                                               {0.15, 0.19, 0.80, -1.6},
                                                               {-0.09, 0.15, -0.75, -0.8},
                                                               {-0.10, 0.12, -0.50, -1.4},
                                                               {0.05, 0.13, 0.25, 0.6},
                                                               {0.12, 0.16, 0.60, 0.3},
                                                               {-0.08, 0.12, -0.50, 0.0}}};
/// What each of ten equally likely categories, one column each, adds to the logit.
constexpr std::array<double, 10> category_effects{-0.8, -0.4, 0.0, 0.3,  0.6,
                                                  0.8,  0.4,  0.0, -0.3, -0.6};
/// Makes about one label in ten positive.
constexpr double rare_positive_logit = -3.4;

/// Resembles ijcnn1 in shape, density, scale and share of positives. Labels are drawn, not
/// thresholded, so that no model separates them.
void make_ijcnn_like_row(KeyedRandom& random, RowBlock& rows) {
  const auto category = static_cast<std::size_t>(random.below(category_effects.size()));
  double logit = rare_positive_logit + category_effects[category];
  rows.add(static_cast<std::int32_t>(category), 1);
  const double common = random.normal();
  auto column = static_cast<std::int32_t>(category_effects.size());
  for (const ContinuousColumn& shape : continuous_columns) {
    const double own = std::sqrt(1 - shape.loading * shape.loading) * random.normal();
    const double standard = shape.loading * common + own;
    logit += shape.effect * standard;
    rows.add(column++, std::clamp(shape.mean + shape.deviation * standard, -1.0, 1.0));
  }
  rows.end_row(draw_class(logit, random));
}

std::vector<RowBlock> make_ijcnn_like(const std::vector<Parameter>& parameters, TargetKind,
                                      std::uint64_t seed) {
  return make_rows(static_cast<std::size_t>(parameters[0].value), seed, make_ijcnn_like_row);
}

/// Independent normal features with given column scales, present with probability `density`.
struct GaussianModel {
  std::vector<double> scales;
  std::vector<double> weights;  ///< scaled so that the signal w'x has deviation 1
  double density;
  TargetKind kind;

  struct Shape {
    std::size_t features;
    double condition;
    double density;
    double scale;  ///< of the widest column
  };
  GaussianModel(const Shape& shape, TargetKind target, std::uint64_t seed)
      : density(shape.density), kind(target) {
    const auto& [features, condition, present, scale] = shape;
    KeyedRandom random = random_of(seed, model_stream, 0);
    double signal_variance = 0;
    for (std::size_t k = 0; k < features; ++k) {
      const double share =
          features > 1 ? static_cast<double>(k) / static_cast<double>(features - 1) : 0;
      scales.push_back(scale * std::pow(condition, -share / 2));
      weights.push_back(random.normal());
      signal_variance += present * std::pow(scales[k] * weights[k], 2);
    }
    for (double& weight : weights) weight /= std::sqrt(signal_variance);
  }

  /// How many absent columns come before the next present one: geometric, so that the work is
  /// proportional to what is present.
  std::size_t gap(KeyedRandom& random) const {
    if (density >= 1) return 0;
    const double drawn = std::floor(std::log1p(-random.uniform()) / std::log1p(-density));
    return static_cast<std::size_t>(std::min(drawn, static_cast<double>(scales.size())));
  }

  void make_row(KeyedRandom& random, RowBlock& rows) const {
    constexpr double logit_deviation = 2;
    constexpr double noise_deviation = 0.1;
    double signal = 0;
    for (std::size_t k = gap(random); k < scales.size(); k += 1 + gap(random)) {
      const double value = scales[k] * random.normal();
      signal += weights[k] * value;
      rows.add(static_cast<std::int32_t>(k), value);
    }
    rows.dimension = static_cast<std::int32_t>(scales.size());
    rows.end_row(kind == TargetKind::number ? signal + noise_deviation * random.normal()
                                            : draw_class(logit_deviation * signal, random));
  }
};

std::vector<RowBlock> make_gaussian(const std::vector<Parameter>& parameters, TargetKind kind,
                                    std::uint64_t seed) {
  const GaussianModel model({.features = static_cast<std::size_t>(parameters[1].value),
                             .condition = parameters[2].value,
                             .density = parameters[3].value,
                             .scale = parameters[4].value},
                            kind, seed);
  return make_rows(static_cast<std::size_t>(parameters[0].value), seed,
                   [&](KeyedRandom& random, RowBlock& rows) { model.make_row(random, rows); });
}

struct SyntheticSet {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<RowBlock> (*make)(const std::vector<Parameter>&, TargetKind, std::uint64_t seed);
};

std::vector<SyntheticSet> known_sets() {
  const Parameter samples{"samples", 2000, 1, 1e8, true};
  Parameter more_samples = samples;
  more_samples.value = 4000;
  return {{"ijcnn-like", {more_samples}, make_ijcnn_like},
          {"gaussian",
           {samples,
            {"features", 20, 1, 1e7, true},
            {"condition", 1, 1, 1e16, false},
            {"density", 1, 1e-6, 1, false},
            {"scale", 1, 1e-12, 1e12, false}},
           make_gaussian}};
}

/// The entry called `name`, or an error that helps to find it.
template <class Entry>
Result<Entry*> find_named(std::vector<Entry>& entries, std::string_view name,
                          const std::string& source, std::string_view what) {
  std::vector<std::string> names;
  for (Entry& entry : entries) {
    if (entry.name == name) return &entry;
    names.push_back(entry.name);
  }
  const auto near = closest(name, names);
  return Error{source,
               fmt::format("unknown {} {}, {}", what, shown(name),
                           near ? "did you mean `" + *near + "`?"
                                : fmt::format("expected one of: {}", fmt::join(names, ", ")))};
}

Status read_parameter(std::string_view setting, const std::string& source, SyntheticSet& set) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos)
    return Error{source, "expected key=value, found " + shown(setting)};
  const Result<Parameter*> found =
      find_named(set.parameters, setting.substr(0, equals), source, "key");
  if (!found) return found.error();
  Parameter& parameter = **found;
  const auto value = parse_double(setting.substr(equals + 1));
  const bool fits = value && *value >= parameter.least && *value <= parameter.most &&
                    (!parameter.whole || *value == std::floor(*value));
  if (!fits)
    return Error{source,
                 fmt::format("{}: expected a {}number from {} to {}, found {}", parameter.name,
                             parameter.whole ? "whole " : "", parameter.least, parameter.most,
                             shown(setting.substr(equals + 1)))};
  parameter.value = *value;
  return success();
}

/// Refuses what could not be held in memory, before trying.
Status check_size(const std::string& source, const SyntheticSet& set) {
  constexpr double most_values = 2e9;
  double values = set.parameters.size() == 1 ? 13 : 1;
  for (const Parameter& parameter : set.parameters)
    if (parameter.name != "condition" && parameter.name != "scale") values *= parameter.value;
  if (values <= most_values) return success();
  return Error{source,
               fmt::format("about {:.2g} values, expected at most {:.2g}", values, most_values)};
}

}  // namespace

bool is_synthetic(std::string_view source) { return source.starts_with(prefix); }

Result<Dataset> make_synthetic(const std::string& source, TargetKind kind, std::uint64_t seed) {
  const auto parts = split(std::string_view(source).substr(prefix.size()), ',');
  std::vector<SyntheticSet> sets = known_sets();
  const Result<SyntheticSet*> set = find_named(sets, parts[0], source, "synthetic set");
  if (!set) return set.error();
  for (std::size_t k = 1; k < parts.size(); ++k) {
    const Status read = read_parameter(parts[k], source, **set);
    if (!read) return read.error();
  }
  const Status size = check_size(source, **set);
  if (!size) return size.error();
  return make_dataset(source, (*set)->make((*set)->parameters, kind, seed), kind);
}

}  // namespace grove
