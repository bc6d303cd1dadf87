#include "grove/setup/data_split.h"

#include <cassert>
#include <filesystem>
#include <functional>
#include <set>

#include "grove/data/dataset.h"
#include "grove/data/labels.h"
#include "grove/runtime/workers.h"

namespace grove {
namespace {

constexpr std::string_view rank_mark = "{rank}";

std::string shard_name(std::string pattern, int rank) {
  const std::string number = std::to_string(rank);
  for (std::size_t at = pattern.find(rank_mark); at != std::string::npos;
       at = pattern.find(rank_mark, at + number.size()))
    pattern.replace(at, rank_mark.size(), number);
  return pattern;
}

ReadOptions read_options(const Config& config) {
  return {.label_column = config.label_column,
          .features = config.features,
          .threads = static_cast<int>(config.threads)};
}

Status status_of(const Result<Dataset>& result) {
  return result ? success() : Status(result.error());
}

/// A target that the loss does not take, by its place in the file.
Status check_targets(const Loss& loss, const Dataset& dataset) {
  const Vector& targets = dataset.samples.targets;
  for (Index row = 0; row < targets.size(); ++row)
    if (const auto complaint = target_complaint(loss, targets[row]))
      return Error{dataset.source, fmt::format("sample {}: label of --loss {}: {}, found {}", row,
                                               name_of(loss), *complaint, targets[row])};
  return success();
}

/// Labels as a model names them: found in all shards together, as one may hold a single class.
Result<LabelNames> common_labels(const Vector& targets, Cluster& cluster) {
  constexpr std::size_t enough = 8;  // three are too many already; more make a better message
  std::set<double> values;
  for (const double target : targets)
    if (values.size() < enough) values.insert(target);
  const std::vector<double> own(values.begin(), values.end());
  const std::vector<double> all = cluster.gather(own);
  return find_labels("--shards",
                     Eigen::Map<const Vector>(all.data(), static_cast<Index>(all.size())));
}

/// Column k of one shard must be column k of all. Rank 0 has the names that others must have; a
/// LIBSVM shard has none.
Status same_columns(const Dataset& own, Cluster& cluster) {
  std::string names;
  if (own.columns)
    for (const std::string& name : own.columns->features) names += name + '\n';
  const auto digest = static_cast<double>(std::hash<std::string>{}(names) >> 11);  // exact
  const std::vector<double> all = cluster.gather(std::vector{digest});
  const bool same = digest == all.front();
  return first_error(cluster, same ? success()
                                   : Status(Error{own.source,
                                                  "has other columns, or in another order, "
                                                  "than the shard of rank 0; expected the "
                                                  "same header in all files of --shards"}));
}

Index total(Cluster& cluster, Index own) {
  double sum = 0;
  for (const double count : cluster.gather(std::vector{static_cast<double>(own)})) sum += count;
  return static_cast<Index>(sum);
}

}  // namespace

Result<DataSplit> split_data(const Config& config, AgentRange range) {
  const auto kind = is_classification(config.loss) ? TargetKind::two_classes : TargetKind::number;
  auto loaded = load_dataset(config.data, kind, config.seed, read_options(config));
  if (!loaded) return loaded.error();
  if (Status status = check_targets(config.loss, *loaded); !status) return status.error();
  auto dataset = subsample(std::move(*loaded), config.samples, config.seed);
  if (!dataset) return dataset.error();
  const auto shards = partition(dataset->samples, config.partition, config.agents, config.seed);
  if (!shards) return shards.error();
  DataSplit dealt{.labels = dataset->labels,
                  .columns = dataset->columns,
                  .samples = dataset->samples.count(),
                  .features = dataset->samples.dimension()};
  dealt.shards.resize(range.size());
  Workers(static_cast<int>(config.threads)).for_each(range.size(), [&](std::size_t k) {
    dealt.shards[k] = take_rows(dataset->samples, (*shards)[range.first + k]);
  });
  return dealt;
}

Result<DataSplit> read_shards(const Config& config, AgentRange own, Cluster& cluster) {
  auto dataset = load_dataset(shard_name(config.shards, cluster.rank()), TargetKind::number,
                              config.seed, read_options(config));
  const Status readable = dataset ? check_targets(config.loss, *dataset) : status_of(dataset);
  if (Status all = first_error(cluster, readable); !all) return all.error();
  if (is_classification(config.loss)) {
    const auto labels = common_labels(dataset->samples.targets, cluster);
    if (!labels) return labels.error();  // the same everywhere
    [[maybe_unused]] const Status mapped = apply_labels(*labels, *dataset);
    assert(mapped);
  }
  if (Status same = same_columns(*dataset, cluster); !same) return same.error();
  const Index features = cluster.allreduce_max(dataset->samples.dimension());
  const Samples samples = widen(std::move(dataset->samples), features);
  DataSplit dealt{.labels = dataset->labels,
                  .columns = dataset->columns,
                  .samples = total(cluster, samples.count()),
                  .features = features};
  const auto rows = partition(samples, config.partition, own.size(), config.seed);
  if (Status all = first_error(cluster, rows ? success() : Status(rows.error())); !all)
    return all.error();
  for (const auto& shard : *rows) dealt.shards.push_back(take_rows(samples, shard));
  return dealt;
}

std::optional<std::string> note_on_unread_shards(const std::string& pattern, int processes) {
  const auto exists = [&](int rank) {
    std::error_code ignored;  // what cannot be looked at cannot be read either
    return std::filesystem::exists(shard_name(pattern, rank), ignored);
  };
  int end = processes;
  while (exists(end)) ++end;
  const int unread = end - processes;
  if (unread == 0) return std::nullopt;
  const std::string first = shard_name(pattern, processes);
  return fmt::format(
      "--shards: {} not read, as there {}; expected {} processes to read all of them",
      unread == 1
          ? first + " is"
          : fmt::format("{} files ({} to {}) are", unread, first, shard_name(pattern, end - 1)),
      processes == 1 ? "is 1 process" : fmt::format("are {} processes", processes), end);
}

}  // namespace grove
