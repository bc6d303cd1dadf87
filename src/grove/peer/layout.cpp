#include "grove/peer/layout.h"

#include <algorithm>
#include <set>

#include <fmt/ranges.h>

#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/data/dataset.h"
#include "grove/data/labels.h"
#include "grove/methods/tree_newton.h"
#include "grove/network/link_subset.h"
#include "grove/network/topology.h"
#include "grove/peer/certificates.h"
#include "grove/peer/disclosure.h"
#include "grove/peer/free_ports.h"
#include "grove/peer/hosts_file.h"
#include "grove/peer/identity_files.h"
#include "grove/peer/problem_parts.h"
#include "grove/peer/training_keys.h"
#include "grove/record/plot.h"
#include "grove/setup/instance.h"
#include "grove/setup/method_setup.h"
#include "grove/setup/scalar_penalty.h"
#include "grove/train/fit_options.h"

namespace grove::peer {
namespace {

namespace fs = std::filesystem;

/// The contents of the peers' files.
struct Plan {
  Dataset data;
  std::vector<std::string> tables;  ///< of a fit: one file for each peer, in place of the data
  bool forbidden = false;           ///< of a fit: a rule forbids what a table would disclose
  std::vector<std::vector<std::uint32_t>> shards;
  Graph graph;
  std::vector<int> work;
  std::vector<Host> hosts;

  const std::string& name(std::size_t agent) const { return hosts[agent].name; }
  const std::string& address(std::size_t agent) const { return hosts[agent].address; }
};

/// Those of --hosts, or of a try-out on this machine.
Result<std::vector<Host>> hosts_of(const LayoutOptions& options) {
  if (!options.hosts.empty()) return read_hosts(options.hosts);
  const std::size_t agents = options.training.agents;
  const auto ports = free_ports(agents);
  if (!ports) return ports.error();
  const auto digits = std::to_string(agents - 1).size();
  std::vector<Host> hosts;
  for (std::size_t agent = 0; agent < agents; ++agent)
    hosts.push_back(
        {fmt::format("peer-{:0{}}", agent, digits), fmt::format("127.0.0.1:{}", (*ports)[agent])});
  return hosts;
}

/// One line of --hosts is one peer.
Status count_hosts(LayoutOptions& options) {
  if (options.hosts.empty()) return success();
  const auto hosts = read_hosts(options.hosts);
  if (!hosts) return hosts.error();
  Config& config = options.training;
  if (config.agents_given && config.agents != hosts->size())
    return Error{"--agents", fmt::format("one line of {} is one peer: expected {}, found {}",
                                         options.hosts, hosts->size(), config.agents)};
  config.agents = hosts->size();
  config.agents_given = true;
  return success();
}

/// Peers keep all links unless told otherwise: a network with more of them survives more failures.
Result<Graph> make_links(const Config& config) {
  auto graph = make_graph(config.graph, config.agents, config.seed);
  if (!graph || config.links != LinkChoice::sparse) return graph;
  auto subset = sparse_subset(*graph, config.seed);
  if (!subset) return graph;
  return std::move(*subset);
}

Result<Plan> make_plan(const LayoutOptions& options) {
  const Config& config = options.training;
  auto graph = make_links(config);
  if (!graph) return graph.error();
  auto work = make_work_loads(config.work, config.agents, config.seed);
  if (!work) return work.error();
  const auto kind = is_classification(config.loss) ? TargetKind::two_classes : TargetKind::number;
  auto loaded = load_dataset(config.data, kind, config.seed, {.label_column = config.label_column});
  if (!loaded) return loaded.error();
  auto data = subsample(std::move(*loaded), config.samples, config.seed);
  if (!data) return data.error();
  auto shards = partition(data->samples, config.partition, config.agents, config.seed);
  if (!shards) return shards.error();
  auto hosts = hosts_of(options);
  if (!hosts) return hosts.error();
  return Plan{.data = std::move(*data),
              .tables = {},
              .shards = std::move(*shards),
              .graph = std::move(*graph),
              .work = std::move(*work),
              .hosts = std::move(*hosts)};
}

/// Whether the default rules forbid one of the peers to take part.
bool any_forbidden(const LayoutOptions& options, const std::vector<Table>& tables,
                   const FitData& data) {
  PeerConfig config;
  config.fit = options.fit;
  config.members = tables.size();
  for (std::size_t k = 0; k < tables.size(); ++k)
    if (find_fit_violation(config, tables[k]) ||
        find_design_violation(config.disclosure, data, data.designs[k], config.members))
      return true;
  return false;
}

/// One table is one peer. What is wrong with formula and tables is said here, and not by the peers.
Result<Plan> make_fit_plan(LayoutOptions& options) {
  Config& config = options.training;
  std::vector<std::string> files;
  std::vector<Table> tables;
  for (const std::string_view name : split(config.data, ',')) {
    files.emplace_back(trim(name));
    auto table = read_table(files.back(), options.fit.table);
    if (!table) return table.error();
    tables.push_back(std::move(*table));
  }
  if (config.agents_given && config.agents != tables.size())
    return Error{options.hosts.empty() ? "--agents" : options.hosts,
                 fmt::format("one file of --data is one peer: expected {}, found {}", tables.size(),
                             config.agents)};
  config.agents = tables.size();
  config.agents_given = true;
  const auto data = make_fit_data(options.fit, config, tables);
  if (!data) return data.error();
  auto graph = make_links(config);
  if (!graph) return graph.error();
  auto work = make_work_loads(config.work, config.agents, config.seed);
  if (!work) return work.error();
  auto hosts = hosts_of(options);
  if (!hosts) return hosts.error();
  return Plan{.data = {},
              .tables = std::move(files),
              .forbidden = any_forbidden(options, tables, *data),
              .shards = {},
              .graph = std::move(*graph),
              .work = std::move(*work),
              .hosts = std::move(*hosts)};
}

/// `table` with the endings of the file, which say what it is.
std::string table_name(const std::string& file) {
  const std::string name = fs::path(file).filename().string();
  const auto dot = name.find('.');
  return "table" + (dot == std::string::npos ? "" : name.substr(dot));
}

/// Computes the penalty from at most 4,000 rows of all shards, which only `grove network init` has.
double default_penalty(const Config& config, const Plan& plan) {
  std::vector<std::uint32_t> rows;
  const auto total = static_cast<std::uint32_t>(plan.data.samples.count());
  const std::uint32_t stride = std::max<std::uint32_t>(1, total / 2000);
  for (std::uint32_t row = 0; row < total; row += stride) rows.push_back(row);
  const auto objective =
      make_shard_objective(take_rows(plan.data.samples, rows),
                           {.loss = config.loss, .l2 = config.l2, .intercept = config.intercept});
  return automatic_scalar_penalty(*objective, Vector::Zero(objective->dimension()), plan.graph);
}

/// Every peer resolves `auto` to the same weight form by itself. A scalar depends on all shards and
/// is resolved here.
Status resolve_penalty(Config& config, const Plan& plan) {
  const Index dimension = plan.data.samples.dimension() + (config.intercept ? 1 : 0);
  if (config.penalty.is_auto() && !automatic_weight_form(config, dimension))
    config.penalty = default_penalty(config, plan);
  const LinkWeightForm* form = config.penalty.published_form();
  if (form == nullptr) return success();
  if (!can_publish_weights(config)) return Error{"--penalty", std::string(published_weights_need)};
  if (form->rank > dimension)
    return Error{"--penalty", fmt::format("low-rank:{} keeps more eigenpairs than there are "
                                          "coefficients; expected at most {}",
                                          form->rank, dimension)};
  return success();
}

/// A delta in units of the targets' scale depends on all shards and is resolved here.
void resolve_loss(Config& config, const Plan& plan) {
  std::vector<double> scales;
  for (const auto& rows : plan.shards)
    scales.push_back(log_target_scale(take_rows(plan.data.samples, rows).targets));
  config.loss = in_target_units(config.loss, scales);
}

/// Every peer chooses the same method by itself. Here the choice only decides whether links need a
/// penalty.
bool will_sum_over_tree(const Config& config, const Plan& plan) {
  if (config.method == Method::tree_newton || config.sums == SumsKind::masked) return true;
  return config.method == Method::automatic &&
         plan.data.samples.dimension() + (config.intercept ? 1 : 0) <= largest_lazy;
}

std::string shard_text(const Dataset& data, const std::vector<std::uint32_t>& rows) {
  std::string text;
  for (const std::uint32_t row : rows) {
    double target = data.samples.targets[row];
    if (data.labels) target = target > 0.5 ? data.labels->positive : data.labels->negative;
    text += exact(target);
    for_each_nonzero(data.samples, row, [&](Index column, double value) {
      fmt::format_to(std::back_inserter(text), " {}:{}", column + 1, value);
    });
    text += '\n';
  }
  return text;
}

std::string disclosure_off(const std::string& rule) {
  return fmt::format(
      "\n# Only for this try-out on one machine, which {} would forbid.\n"
      "# Sites with data of their own remove the line.\ndisclosure = \"off\"\n",
      rule);
}

/// A basic string of TOML, which escapes like JSON.
std::string toml_text(const std::string& text) { return nlohmann::json(text).dump(); }

/// Data with names keep them: the peers compare the names, and their models have them.
std::string csv_shard_text(const Dataset& data, const std::vector<std::uint32_t>& rows) {
  std::string text;
  for (const std::string& name : data.columns->features) text += csv_field(name) + ",";
  text += csv_field(data.columns->label) + "\n";
  std::vector<double> values(data.columns->features.size());
  for (const std::uint32_t row : rows) {
    std::ranges::fill(values, 0);
    for_each_nonzero(data.samples, row,
                     [&](Index column, double value) { values[column] = value; });
    for (const double value : values) text += exact(value) + ",";
    const double target = data.samples.targets[row];
    text +=
        (data.labels ? csv_field(label_text(*data.labels, target > 0.5)) : exact(target)) + "\n";
  }
  return text;
}

std::string shard_name(const Dataset& data) { return data.columns ? "shard.csv" : "shard.libsvm"; }

/// The keys of `grove train` that all peers share.
std::string training_text(const LayoutOptions& options) {
  Config config = options.training;
  std::set<std::string> known = training_keys();
  for (const char* own : {"data", "label-column", "work"}) known.erase(own);
  if (!options.fit.formula.empty())
    for (const char* decided : {"loss", "weighting", "intercept"}) known.erase(decided);
  std::string text;
  for (const Option& option : grove::options_of(config)) {
    const nlohmann::json value = option.get();
    const bool given =
        !value.is_null() && !(value.is_string() && value.get_ref<const std::string&>().empty());
    if (!given || !known.contains(option.name)) continue;
    text += fmt::format("{} = {}\n", option.name, value.dump());
  }
  return text;
}

/// The keys of `grove fit` that were given.
std::string fit_text(const LayoutOptions& options) {
  FitOptions fit = options.fit, usual;
  const std::vector<Option> given = grove::options_of(fit), defaults = grove::options_of(usual);
  std::string text;
  for (std::size_t k = 0; k < given.size(); ++k)
    if (const nlohmann::json value = given[k].get(); value != defaults[k].get())
      text += fmt::format("{} = {}\n", given[k].name, value.dump());
  return text;
}

/// A try-out on one machine discloses nothing to anybody else, so the rules may be turned off
/// there.
std::string disclosure_text(const Config& config, const Plan& plan) {
  if (plan.forbidden) return disclosure_off("a rule");
  for (const auto& rows : plan.shards) {
    const Samples shard = take_rows(plan.data.samples, rows);
    const auto violation = find_violation(
        DisclosureRules(), {.samples = shard,
                            .columns = plan.data.columns,
                            .classes = is_classification(config.loss),
                            .coefficients = shard.dimension() + (config.intercept ? 1 : 0),
                            .members = config.agents});
    if (violation) return disclosure_off("the rule " + violation->rule);
  }
  return "";
}

std::string data_text(const Config& config, const Plan& plan, std::size_t agent) {
  if (!plan.tables.empty())
    return fmt::format("data = {}\n", toml_text(table_name(plan.tables[agent])));
  std::string text = fmt::format("data = \"{}\"\nfeatures = {}\n", shard_name(plan.data),
                                 plan.data.samples.dimension());
  if (plan.data.columns)
    text += fmt::format("label-column = {}\n", toml_text(plan.data.columns->label));
  if (plan.data.labels && plan.data.labels->are_texts())
    text += fmt::format("labels = [{}, {}]\n", toml_text(plan.data.labels->texts[0]),
                        toml_text(plan.data.labels->texts[1]));
  else if (plan.data.labels)
    text +=
        fmt::format("labels = [{}, {}]\n", plan.data.labels->negative, plan.data.labels->positive);
  if (config.weighting == Weighting::sample)
    text += fmt::format("scale = {}\n", static_cast<double>(config.agents) *
                                            static_cast<double>(plan.shards[agent].size()) /
                                            static_cast<double>(plan.data.samples.count()));
  return text;
}

std::string peer_toml(const LayoutOptions& options, const Plan& plan, std::size_t agent) {
  const Config& config = options.training;
  std::vector<std::string> neighbours;
  for (const AgentId other : plan.graph.neighbours(AgentId{static_cast<std::uint32_t>(agent)}))
    neighbours.push_back(
        fmt::format("\"{}@{}\"", plan.name(other.value), plan.address(other.value)));
  std::string text = fmt::format(
      "# One agent of the network {}. Start it with: grove peer --config peer.toml\n"
      "network = \"{}\"\nname = \"{}\"\nlisten = \"{}\"\nneighbours = [{}]\nmembers = {}\n"
      "holder = \"{}\"\n\n"
      "ca = \"{}\"\ncertificate = \"peer.crt\"\nkey = \"peer.key\"\n\n"
      "work = {}\n",
      options.network, options.network, plan.name(agent), plan.address(agent),
      fmt::join(neighbours, ", "), config.agents, plan.name(0),
      options.hosts.empty() ? "../ca.crt" : "ca.crt",
      config.work == WorkSpec("auto") ? "\"auto\"" : std::to_string(plan.work[agent]));
  text += data_text(config, plan, agent);
  return text + "\n" + fit_text(options) + training_text(options) + disclosure_text(config, plan) +
         "\nstate = \"state\"\ncheckpoint-every = 1\n";
}

Status write_peer(const LayoutOptions& options, const Plan& plan, const CertifiedKey& authority,
                  const Layout::Peer& peer, std::size_t agent) {
  std::error_code failed;
  fs::create_directories(peer.folder, failed);
  const auto identity = certify(authority, peer.name);
  if (!identity) return identity.error();
  if (Status status = write_identity(peer.folder, "peer", *identity); !status) return status;
  // A folder that goes to another machine is complete.
  if (!options.hosts.empty())
    if (Status status = write_file_atomically(peer.folder / "ca.crt", authority.certificate);
        !status)
      return status;
  if (!plan.tables.empty()) {
    const auto table = read_file(plan.tables[agent]);
    if (!table) return table.error();
    if (Status status = write_file_atomically(peer.folder / table_name(plan.tables[agent]), *table);
        !status)
      return status;
    return write_file_atomically(peer.folder / "peer.toml", peer_toml(options, plan, agent));
  }
  const auto& rows = plan.shards[agent];
  const std::string shard =
      plan.data.columns ? csv_shard_text(plan.data, rows) : shard_text(plan.data, rows);
  if (Status status = write_file_atomically(peer.folder / shard_name(plan.data), shard); !status)
    return status;
  return write_file_atomically(peer.folder / "peer.toml", peer_toml(options, plan, agent));
}

Status write_network_file(const Layout& layout) {
  nlohmann::json peers = nlohmann::json::array();
  for (const auto& peer : layout.peers)
    peers.push_back({{"name", peer.name}, {"address", peer.address}});
  const nlohmann::json network{
      {"format", "grove-network/1"}, {"network", layout.network}, {"peers", peers}};
  return write_file_atomically(layout.folder / "network.json", network.dump(1) + "\n");
}

Status make_folder(const fs::path& folder) {
  std::error_code failed;
  if (fs::exists(folder, failed) && !fs::is_empty(folder, failed))
    return Error{"--out", folder.string() + " is not empty; expected a new folder"};
  fs::create_directories(folder, failed);
  if (failed)
    return Error{"--out", fmt::format("cannot create {}: {}", folder.string(), failed.message())};
  return success();
}

}  // namespace

TlsFiles Layout::operator_files() const {
  return {(folder / "ca.crt").string(), (folder / "operator.crt").string(),
          (folder / "operator.key").string()};
}

Result<Layout> make_layout(const LayoutOptions& given) {
  LayoutOptions options = given;
  const bool fits = !options.fit.formula.empty();
  if (fits && !options.method_given) options.training.method = usual_fit_method(options.training);
  if (options.out.empty()) return Error{"--out", "missing; expected a new folder"};
  if (!is_druid(options.training.method) && !options.training.method.traits().sums_over_tree)
    return Error{"--method",
                 "peers run asynchronously; expected auto, tree-newton or one of the DRUID family"};
  if (options.training.sums == SumsKind::masked)
    if (Status status = check(options.training); !status) return status.error();
  if (Status status = count_hosts(options); !status) return status.error();
  auto plan = fits ? make_fit_plan(options) : make_plan(options);
  if (!plan) return plan.error();
  if (!fits) resolve_loss(options.training, *plan);
  if (!fits && !will_sum_over_tree(options.training, *plan))
    if (Status status = resolve_penalty(options.training, *plan); !status) return status.error();
  if (Status status = make_folder(options.out); !status) return status.error();

  const auto authority = make_authority(options.network);
  if (!authority) return authority.error();
  const auto operator_identity = certify(*authority, operator_name);
  if (!operator_identity) return operator_identity.error();
  Layout layout{.folder = options.out, .network = options.network, .peers = {}};
  if (Status status = write_identity(layout.folder, "ca", *authority); !status)
    return status.error();
  if (Status status = write_identity(layout.folder, operator_name, *operator_identity); !status)
    return status.error();
  for (std::size_t agent = 0; agent < options.training.agents; ++agent) {
    layout.peers.push_back(
        {plan->name(agent), plan->address(agent), layout.folder / plan->name(agent)});
    if (Status status = write_peer(options, *plan, *authority, layout.peers.back(), agent); !status)
      return status.error();
  }
  if (Status status = write_network_file(layout); !status) return status.error();
  return layout;
}

Result<Layout> read_layout(const fs::path& folder) {
  const auto text = read_file(folder / "network.json");
  if (!text)
    return Error{folder.string(),
                 "has no network.json; expected a folder made by grove network init"};
  try {  // nlohmann-json reports errors by exception
    const auto json = nlohmann::json::parse(*text);
    Layout layout{.folder = folder, .network = json.at("network"), .peers = {}};
    for (const auto& peer : json.at("peers"))
      layout.peers.push_back(
          {peer.at("name"), peer.at("address"), folder / peer.at("name").get<std::string>()});
    return layout;
  } catch (const nlohmann::json::exception& error) {
    return Error{(folder / "network.json").string(), error.what()};
  }
}

}  // namespace grove::peer
