#include "grove/peer/peer_config.h"

#include <algorithm>
#include <set>

#include <sys/stat.h>

#include "grove/base/text.h"
#include "grove/peer/training_keys.h"
#include "grove/peer/wire.h"
#include "grove/setup/config_file.h"
#include "grove/train/fit_options.h"

namespace grove::peer {
namespace {

Option neighbours_option(std::vector<NeighbourAddress>& target) {
  return {
      "neighbours",
      "[\"NAME@HOST:PORT\", ...]",
      "the peers that this one has links to",
      "Network",
      [&target](std::string_view given) -> Status {
        target.clear();
        if (given.empty()) return success();
        for (std::string_view entry : split(given, ',')) {
          entry = trim(entry);
          const auto at = entry.find('@');
          if (at == std::string_view::npos || !is_peer_name(entry.substr(0, at)) ||
              !is_address(entry.substr(at + 1)))
            return Error{"", fmt::format("'{}' is not possible; expected NAME@HOST:PORT, the "
                                         "name of lower-case letters, digits and hyphens",
                                         entry)};
          target.push_back({std::string(entry.substr(0, at)), std::string(entry.substr(at + 1))});
        }
        return success();
      },
      [&target] {
        auto list = nlohmann::json::array();
        for (const auto& entry : target) list.push_back(entry.name + "@" + entry.address);
        return list;
      }};
}

Option labels_option(std::optional<LabelNames>& target) {
  return {"labels",
          "[NEGATIVE, POSITIVE]",
          "the two labels of the whole network's data; a shard may lack one",
          "Data",
          [&target](std::string_view given) -> Status {
            const auto parts = split(given, ',');
            if (parts.size() != 2 || trim(parts.front()) == trim(parts.back()))
              return Error{"", fmt::format("'{}' is not possible; expected two labels", given)};
            const auto negative = parse_double(trim(parts.front())),
                       positive = parse_double(trim(parts.back()));
            if (negative && positive)
              target = LabelNames{*negative, *positive};
            else
              target = LabelNames{
                  .texts = {std::string(trim(parts.front())), std::string(trim(parts.back()))}};
            return success();
          },
          [&target]() -> nlohmann::json {
            if (!target) return nullptr;
            if (target->are_texts()) return {target->texts[0], target->texts[1]};
            return {target->negative, target->positive};
          }};
}

void add_network_options(PeerConfig& config, std::vector<Option>& options) {
  const std::string network = "Network";
  options.push_back(
      text_option({"network", "NAME", "name of the network", network}, config.network));
  options.push_back(
      text_option({"name", "NAME", "of this peer, as in its certificate", network}, config.name));
  options.push_back(text_option(
      {"listen", "HOST:PORT", "where neighbours reach this peer", network}, config.listen));
  options.push_back(neighbours_option(config.neighbours));
  options.push_back(count_option(
      {"members", "N", "peers to wait for before stopping (self and neighbours)", network},
      config.members, 1, max_members));
  options.push_back(text_option(
      {"holder", "NAME", "the peer that applies the regularizer", network}, config.holder));
  options.push_back(switch_option(
      {"join", "", "neighbours do not list this peer yet: dial them all", network}, config.join));
  options.push_back(
      switch_option({"accept-new", "", "link to unlisted peers that have a certificate", network},
                    config.accept_new));
  options.push_back(
      text_option({"ca", "FILE", "certificate of the network's authority", network}, config.ca));
  options.push_back(
      text_option({"certificate", "FILE", "of this peer", network}, config.certificate));
  options.push_back(
      text_option({"key", "FILE", "private key, readable by its owner only", network}, config.key));
  options.push_back(switch_option(
      {"insecure", "", "no TLS: anyone may read, join and forge", network}, config.insecure));
  options.push_back(switch_option(
      {"float32", "", "send rounded iterates to neighbours that agree", network}, config.float32));
}

void add_running_options(PeerConfig& config, std::vector<Option>& options) {
  const std::string running = "Running";
  const Range positive = Range::positive(), wait = Range::non_negative();
  options.push_back(
      text_option({"state", "DIR", "checkpoint and model (state)", running}, config.state));
  options.push_back(
      number_option({"checkpoint-every", "S", "seconds between checkpoints (5)", running},
                    config.checkpoint_seconds, positive));
  options.push_back(number_option(
      {"forget-after", "S", "a member that is silent for longer has left (600)", running},
      config.forget_seconds, positive));
  options.push_back(
      number_option({"linger", "S", "how long to help the others finish (30)", running},
                    config.linger_seconds, wait));
  options.push_back(switch_option(
      {"stay", "", "go on after the end: for those that come later, or train again", running},
      config.stay));
  options.push_back(
      number_option({"contact-wait", "S",
                     "without a checkpoint, time to wait for the neighbours' values (2)", running},
                    config.contact_seconds, wait));
  options.push_back(
      number_option({"patience", "S", "how long to wait for the slowest neighbour (0.02)", running},
                    config.wait_timeout_seconds, positive));
  options.push_back(number_option({"heartbeat", "S", "seconds between heartbeats (0.2)", running},
                                  config.heartbeat_seconds, positive));
  options.push_back(text_option(
      {"metrics", "HOST:PORT", "serve Prometheus metrics there (off)", running}, config.metrics));
  options.push_back(log_format_option(config.log_format, running));
  options.push_back(number_option(
      {"fault-loss", "P", "for tests: lose iterates with this probability (0)", running},
      config.fault_loss, Range{.low = 0, .high = 1, .high_open = true}));
  options.push_back(number_option(
      {"fault-delay", "S", "for tests: delay iterates by up to S seconds (0)", running},
      config.fault_delay_seconds, wait));
  options.push_back(count_option(
      {"features", "D", "columns of the whole network's data (as in the file)", "Data"},
      config.features, 1));
  options.push_back(labels_option(config.labels));
  options.push_back(number_option(
      {"scale", "W", "weight of this peer's samples: n D_i / sum D with weighting = sample (1)",
       "Data"},
      config.scale, positive));
  options.push_back(number_option(
      {"feature-bound", "R",
       "no feature of any site is larger; bounds every site's influence (off)", "Data"},
      config.influence.feature_bound, wait));
  options.push_back(number_option(
      {"max-scale", "W", "with feature-bound: no site has a larger scale (1)", "Data"},
      config.influence.max_scale, positive));
}

Option allowed_columns_option(std::vector<std::string>& target) {
  return {"disclosure.columns",
          "[\"NAME\", ...]",
          "the columns that may be used (all)",
          "Disclosure",
          [&target](std::string_view given) -> Status {
            target.clear();
            for (const std::string_view name : split(given, ',')) target.emplace_back(trim(name));
            return success();
          },
          [&target] { return nlohmann::json(target); }};
}

void add_disclosure_options(PeerConfig& config, std::vector<Option>& options) {
  const std::string group = "Disclosure";
  DisclosureRules& rules = config.disclosure;
  options.push_back(
      {"disclosure", "off", "take part whatever the rules say; is logged", group,
       [&rules](std::string_view given) -> Status {
         if (given != "on" && given != "off")
           return Error{"", fmt::format("'{}' is not possible; expected on or off", given)};
         return rules.mode = given, success();
       },
       [&rules] { return nlohmann::json(rules.mode); }});
  options.push_back(count_option(
      {"disclosure.min-rows", "N", "fewest rows of this site (10)", group}, rules.min_rows, 0));
  options.push_back(number_option(
      {"disclosure.max-ratio", "R", "most coefficients, over the rows of this site (1/3)", group},
      rules.max_ratio, Range::positive()));
  options.push_back(
      count_option({"disclosure.min-count", "N",
                    "fewest rows with a class or a value of a binary column (3)", group},
                   rules.min_count, 0));
  options.push_back(
      count_option({"disclosure.min-members", "N", "fewest members of the network (3)", group},
                   rules.min_members, 0));
  options.push_back(allowed_columns_option(rules.columns));
  options.push_back(
      text_option({"audit", "FILE", "append a line for every message that is sent (off)", group},
                  config.audit));
  options.push_back(switch_option(
      {"contributions", "", "all members see the signed gradient of each at the answer", group},
      config.contributions));
  options.push_back(choice_option<Certify>(
      {"certify", "",
       "methods with links stop only after exact sums at the answer, which are masked, or open: "
       "the parent of a leaf sees the leaf's Hessian there (auto: masked where members = 3 or "
       "more)",
       group},
      config.certify,
      {{"auto", Certify::automatic},
       {"masked", Certify::masked},
       {"open", Certify::open},
       {"off", Certify::off}}));
}

void make_absolute(std::string& name, const std::filesystem::path& folder) {
  if (!name.empty() && !name.starts_with("synthetic:") && std::filesystem::path(name).is_relative())
    name = (folder / name).lexically_normal().string();
}

Status check_names(const PeerConfig& config) {
  if (!is_peer_name(config.name))
    return Error{"",
                 "name: missing or not possible; expected lower-case letters, digits and hyphens"};
  if (config.name == "operator")
    return Error{
        "", "name: operator is reserved for the certificate that may stop peers; expected another"};
  if (config.holder.empty())
    return Error{"", "holder: missing; expected the name of the peer that applies the regularizer"};
  if (!is_peer_name(config.holder))
    return Error{"", fmt::format("holder: '{}' is not possible; expected the name of a peer",
                                 config.holder)};
  std::set<std::string> names{config.name};
  for (const auto& neighbour : config.neighbours)
    if (!names.insert(neighbour.name).second)
      return Error{"",
                   fmt::format("neighbours: {} is listed twice, or is this peer", neighbour.name)};
  return success();
}

Status check_security(const PeerConfig& config) {
  if (config.insecure) return success();
  for (const auto& [key, value] :
       {std::pair{"ca", config.ca}, {"certificate", config.certificate}, {"key", config.key}})
    if (value.empty())
      return Error{"", fmt::format("{}: missing; expected a file, or insecure = true", key)};
  struct stat status {};
  if (::stat(config.key.c_str(), &status) != 0)
    return Error{"", fmt::format("key: cannot read {}", config.key)};
  if ((status.st_mode & 077) != 0)
    return Error{"", fmt::format("key: {} may be read by others (mode {:o}); expected 600",
                                 config.key, status.st_mode & 0777)};
  return success();
}

/// What the promise of differential privacy rests on.
Status check_privacy(const PeerConfig& config) {
  const Config& training = config.training;
  if (training.dp.empty()) return success();
  const auto needs = [](std::string_view what) {
    return Error{"", fmt::format("dp: needs {}", what)};
  };
  if (!training.dp.meaning()) return Error{"", "dp: " + training.dp.meaning().error().what};
  if (!std::holds_alternative<LogisticLoss>(training.loss) || fits_formula(config))
    return needs("loss = \"logistic\" and no formula: one row may change other sums by any amount");
  if (training.weighting != Weighting::sample)
    return needs("weighting = \"sample\": a row of a small site would count for more than others");
  if (training.sums != SumsKind::masked)
    return needs("sums = \"masked\": the noise is in totals, and too small for sums of a part");
  if (config.contributions)
    return needs("contributions = false: a gradient that is signed has no noise");
  if (config.insecure)
    return needs("certificates that sign the keys of masks; got insecure = true");
  return success();
}

bool has_dot(const Syntax& syntax) {
  return syntax.kind == Syntax::Kind::dot || std::ranges::any_of(syntax.children, has_dot);
}

/// A formula says what columns mean, so that the keys of numbers have no meaning beside it.
Status check_fit(const PeerConfig& config) {
  const FitOptions& fit = config.fit;
  const auto syntax = parse_syntax(fit.formula);
  if (!syntax) return Error{"", "formula: " + syntax.error().text()};
  if (has_dot(*syntax) && fit.columns.empty())
    return Error{"",
                 "formula: `.` stands for other columns at other sites; expected their names "
                 "in `columns`"};
  const bool numbers = config.features > 0 || config.labels || config.scale != 1 ||
                       !config.training.label_column.empty() ||
                       config.influence.feature_bound > 0 || config.contributions;
  if (numbers)
    return Error{"",
                 "formula: beside it there is no features, labels, label-column, scale, "
                 "feature-bound or contributions"};
  if (config.training.data == "-") return Error{"", "data: expected a file, found standard input"};
  return success();
}

}  // namespace

Status check_terms(const PeerConfig& config) {
  if (fits_formula(config))
    if (Status status = check_fit(config); !status) return status;
  if (!is_druid(config.training.method) && !config.training.method.traits().sums_over_tree)
    return Error{"", fmt::format("method: {} needs lock-step rounds; expected auto, tree-newton or "
                                 "one of the DRUID family",
                                 config.training.method.name())};
  if (const auto* huber = std::get_if<HuberLoss>(&config.training.loss))
    if (huber->of_target_scale)
      return Error{"",
                   "loss: peers do not agree on a scale of their targets; expected huber:DELTA"};
  const bool masked = config.training.sums == SumsKind::masked;
  if (masked && !config.training.method.traits().sums_over_tree)
    return Error{"", fmt::format("sums: masked needs method = \"tree-newton\"; {} sends its own "
                                 "numbers to every neighbour",
                                 config.training.method.name())};
  if (masked && config.members < fewest_masked_agents)
    return Error{"",
                 fmt::format("sums: masked hides nothing among {} members; expected members = {} "
                             "or more",
                             config.members, fewest_masked_agents)};
  if (Status status = check_privacy(config); !status) return status;
  if (config.certify == Certify::masked && config.members < fewest_masked_agents)
    return Error{"",
                 fmt::format("certify: masks hide nothing among {} members; expected members = {} "
                             "or more, or certify = \"open\" or \"off\"",
                             config.members, fewest_masked_agents)};
  if (config.float32 && config.training.method == Method::tree_newton)
    return Error{"", "float32: tree-newton sends no iterates; expected float32 = false"};
  if (config.training.penalty.published_form() && !can_publish_weights(config.training))
    return Error{"", fmt::format("penalty: {}", published_weights_need)};
  if (config.scale != 1 && config.training.weighting != Weighting::sample)
    return Error{"", "scale: only with weighting = \"sample\"; otherwise every peer has weight 1"};
  if (config.influence.max_scale != 1 && config.influence.feature_bound == 0)
    return Error{"", "max-scale: only with feature-bound"};
  if (config.float32 && config.training.tolerance < 1e-6)
    return Error{
        "", "float32: rounding keeps residuals above 1e-7; expected a tolerance of 1e-6 or more"};
  return success();
}

Status check(const PeerConfig& config) {
  if (Status status = check_names(config); !status) return status;
  if (!is_address(config.listen))
    return Error{"", fmt::format("listen: '{}' is not possible; expected HOST:PORT, such as "
                                 "127.0.0.1:7000",
                                 config.listen)};
  if (!config.metrics.empty() && !is_address(config.metrics))
    return Error{"", fmt::format("metrics: '{}' is not possible; expected HOST:PORT, such as "
                                 "127.0.0.1:9100",
                                 config.metrics)};
  if (config.contributions && config.insecure)
    return Error{"", "contributions: need certificates to sign with; expected no insecure = true"};
  if (Status status = check_security(config); !status) return status;
  return check_terms(config);
}

bool is_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const auto port = parse_integer(text.substr(colon + 1));
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-.:[]%_").find(c) != std::string_view::npos;
  };
  return port && *port >= 1 && *port <= 65'535 && std::ranges::all_of(text, plain);
}

Option log_format_option(LogFormat& target, const std::string& group) {
  return choice_option<LogFormat>(
      {"log-format", "", "lines of text, or a JSON object on each (text)", group}, target,
      {{"text", LogFormat::text}, {"json", LogFormat::json}});
}

Certify settled_certify(const PeerConfig& config) {
  const bool fits = fits_formula(config);  // its table needs exact sums
  if (config.certify != Certify::automatic && !(config.certify == Certify::off && fits))
    return config.certify;
  if (config.members >= fewest_masked_agents) return Certify::masked;
  return fits ? Certify::open : Certify::off;
}

Method usual_fit_method(const Config& training) {
  return training.sums == SumsKind::masked ? Method::tree_newton : Method::automatic;
}

std::vector<Option> options_of(PeerConfig& config) {
  std::vector<Option> options = options_of(config.training);
  std::erase_if(options,
                [](const Option& option) { return !training_keys().contains(option.name); });
  for (Option& option : options_of(config.fit)) options.push_back(std::move(option));
  add_network_options(config, options);
  add_running_options(config, options);
  add_disclosure_options(config, options);
  return options;
}

Result<PeerConfig> read_peer_config(const std::filesystem::path& path) {
  PeerConfig config;
  config.training.tolerance =
      1e-8;  // of the local residual; the error is about 10 to 100 times larger
  config.training.data.clear();
  const auto places = read_config_file(path, options_of(config));
  if (!places) return places.error();
  const auto folder = std::filesystem::absolute(path).parent_path();
  for (std::string* name : {&config.training.data, &config.ca, &config.certificate, &config.key,
                            &config.state, &config.audit})
    make_absolute(*name, folder);
  if (fits_formula(config)) {
    if (!places->contains("method")) config.training.method = usual_fit_method(config.training);
    prepare_fit(config);
  }
  // A number of members that a peer only guesses from its links is no agreement on masks.
  if (config.certify == Certify::automatic && config.members == 0)
    config.certify = fits_formula(config) ? Certify::open : Certify::off;
  if (config.members == 0) config.members = 1 + config.neighbours.size();
  if (Status status = check(config); !status) return Error{path.string(), status.error().what};
  return config;
}

}  // namespace grove::peer
