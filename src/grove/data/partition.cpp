#include "grove/data/partition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/data/dataset.h"
#include "grove/data/lines.h"

namespace grove {
namespace {

using RowNumbers = std::vector<std::uint32_t>;

RowNumbers all_rows(std::size_t count) {
  RowNumbers rows(count);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

/// Fisher-Yates; std::shuffle gives other orders with other standard libraries.
void shuffle(RowNumbers& rows, KeyedRandom& random) {
  for (std::size_t k = rows.size(); k > 1; --k) std::swap(rows[k - 1], rows[random.below(k)]);
}

Shards deal_even(std::size_t samples, std::size_t agents, KeyedRandom& random) {
  RowNumbers rows = all_rows(samples);
  shuffle(rows, random);
  Shards shards(agents);
  for (std::size_t k = 0; k < samples; ++k) shards[k * agents / samples].push_back(rows[k]);
  return shards;
}

Shards deal_stride(std::size_t samples, std::size_t agents) {
  Shards shards(agents);
  for (std::size_t row = 0; row < samples; ++row)
    shards[row % agents].push_back(static_cast<std::uint32_t>(row));
  return shards;
}

/// Cuts the shuffled rows where the running sum of the proportions says.
void deal_in_proportion(RowNumbers rows, double concentration, KeyedRandom& random,
                        Shards& shards) {
  shuffle(rows, random);
  const std::vector<double> proportions = dirichlet(concentration, shards.size(), random);
  double sum = 0;
  std::size_t first = 0;
  for (std::size_t agent = 0; agent < shards.size(); ++agent) {
    sum += proportions[agent];
    const bool last_agent = agent + 1 == shards.size();
    const auto cut = static_cast<std::size_t>(std::llround(sum * static_cast<double>(rows.size())));
    const std::size_t end = last_agent ? rows.size() : std::clamp(cut, first, rows.size());
    shards[agent].insert(shards[agent].end(), rows.begin() + static_cast<std::ptrdiff_t>(first),
                         rows.begin() + static_cast<std::ptrdiff_t>(end));
    first = end;
  }
}

/// Gives every empty agent, in order, the last row of the largest shard at that time.
void fill_empty_agents(Shards& shards) {
  for (RowNumbers& shard : shards) {
    if (!shard.empty()) continue;
    RowNumbers& largest = *std::ranges::max_element(shards, {}, &RowNumbers::size);
    shard.push_back(largest.back());
    largest.pop_back();
  }
}

void sort_each(Shards& shards) {
  for (RowNumbers& shard : shards) std::ranges::sort(shard);
}

constexpr std::array<std::string_view, 2> skew_names{"size-skew", "label-skew"};
constexpr double least_concentration = 1e-6;
constexpr double most_concentration = 1e6;

/// Reads `label-skew:A` or `size-skew:A`; nothing where the description is something else.
std::optional<Result<Partition>> read_skew(std::string_view description) {
  for (std::size_t k = 0; k < skew_names.size(); ++k) {
    const std::string_view name = skew_names[k];
    if (description != name && !description.starts_with(std::string(name) + ":")) continue;
    const std::string_view number =
        description.substr(std::min(description.size(), name.size() + 1));
    const auto value = parse_double(number);
    if (!value || !(*value >= least_concentration && *value <= most_concentration))
      return Error{"--partition",
                   fmt::format("expected {}:A with A from {} to {}, found {}", name,
                               least_concentration, most_concentration, shown(description))};
    return Partition{.kind = k == 1 ? Partition::Kind::label_skew : Partition::Kind::size_skew,
                     .concentration = *value};
  }
  return std::nullopt;
}

Result<Shards> deal_skewed(const Vector& targets, const Partition& skew, std::size_t agents,
                           KeyedRandom& random) {
  Shards shards(agents);
  if (skew.kind == Partition::Kind::size_skew) {
    deal_in_proportion(all_rows(static_cast<std::size_t>(targets.size())), skew.concentration,
                       random, shards);
  } else {
    std::array<RowNumbers, 2> classes;
    for (Index row = 0; row < targets.size(); ++row) {
      if (targets[row] != 0 && targets[row] != 1)
        return Error{"--partition", "label-skew: expected data with two classes, found numbers"};
      classes[targets[row] == 1].push_back(static_cast<std::uint32_t>(row));
    }
    for (RowNumbers& rows : classes)
      deal_in_proportion(std::move(rows), skew.concentration, random, shards);
  }
  sort_each(shards);
  fill_empty_agents(shards);
  return shards;
}

Result<Shards> read_partition_file(const std::string& name, std::size_t samples,
                                   std::size_t agents) {
  const std::array<std::string, 4> words{"even", "stride", "label-skew:A", "size-skew:A"};
  std::error_code ignored;
  if (!std::filesystem::exists(name, ignored)) {
    const auto near = closest(name, words);
    return Error{
        "--partition",
        fmt::format("{} is not a file{}; expected {} or a file", shown(name),
                    near ? ", did you mean `" + *near + "`?" : "", fmt::join(words, ", "))};
  }
  const Result<std::string> text = read_file(name);
  if (!text) return text.error();
  return parse_partition(*text, name, samples, agents);
}

}  // namespace

Result<Shards> parse_partition(std::string_view text, const std::string& source,
                               std::size_t samples, std::size_t agents) {
  Shards shards(agents);
  std::uint32_t row = 0;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::string_view whole_line = take_line(text);
    const std::string_view token = trim(whole_line.substr(0, whole_line.find('#')));
    if (token.empty()) continue;
    const auto agent = parse_integer(token);
    if (!agent || *agent < 0 || static_cast<std::uint64_t>(*agent) >= agents)
      return line_error(
          source, line,
          fmt::format("expected an agent from 0 to {}, found {}", agents - 1, shown(token)));
    if (row == samples)
      return line_error(source, line,
                        fmt::format("expected one line for each of the {} samples, "
                                    "found more",
                                    samples));
    shards[static_cast<std::size_t>(*agent)].push_back(row++);
  }
  if (row != samples)
    return Error{source, fmt::format("expected one line for each of the {} samples, found {}",
                                     samples, row)};
  const auto empty = std::ranges::find_if(shards, &RowNumbers::empty);
  if (empty != shards.end())
    return Error{source, fmt::format("expected at least one sample for every agent, found none for "
                                     "agent {}",
                                     empty - shards.begin())};
  return shards;
}

Result<Partition> Partition::parse(std::string_view text) {
  if (text == "even") return Partition{.kind = Kind::even};
  if (text == "stride") return Partition{.kind = Kind::stride};
  if (auto skew = read_skew(text)) return std::move(*skew);
  return Partition{.kind = Kind::file, .file = std::string(text)};
}

Result<Shards> partition(const Vector& targets, const PartitionSpec& spec, std::size_t agents,
                         std::uint64_t seed) {
  if (!spec.meaning()) return spec.meaning().error();
  const Partition& how = *spec.meaning();
  const auto count = static_cast<std::size_t>(targets.size());
  if (agents == 0) return Error{"--agents", "expected at least 1, found 0"};
  if (agents > count)
    return Error{"--agents",
                 fmt::format("expected at most one agent per sample, found {} agents for "
                             "{} samples",
                             agents, count)};
  KeyedRandom random(RandomKey{.seed = seed, .purpose = Purpose::partition});
  switch (how.kind) {
    case Partition::Kind::even: {
      Shards shards = deal_even(count, agents, random);
      sort_each(shards);
      return shards;
    }
    case Partition::Kind::stride:
      return deal_stride(count, agents);
    case Partition::Kind::label_skew:
    case Partition::Kind::size_skew:
      return deal_skewed(targets, how, agents, random);
    case Partition::Kind::file:
      break;
  }
  return read_partition_file(how.file, count, agents);
}

double log_gamma_variate(double shape, KeyedRandom& random) {
  // Gamma(a) = Gamma(a + 1) U^(1/a) for a < 1.
  if (shape < 1)
    return log_gamma_variate(shape + 1, random) + std::log1p(-random.uniform()) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double normal = random.normal();
    const double root = 1 + c * normal;
    if (root <= 0) continue;
    const double cube = root * root * root;
    const double log_uniform = std::log1p(-random.uniform());
    if (log_uniform < normal * normal / 2 + d - d * cube + d * std::log(cube))
      return std::log(d * cube);
  }
}

std::vector<double> dirichlet(double concentration, std::size_t count, KeyedRandom& random) {
  std::vector<double> parts(count);
  for (double& part : parts) part = log_gamma_variate(concentration, random);
  const double largest = *std::ranges::max_element(parts);
  double sum = 0;
  for (double& part : parts) sum += part = std::exp(part - largest);
  for (double& part : parts) part /= sum;
  return parts;
}

}  // namespace grove
