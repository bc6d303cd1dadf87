#include "grove/setup/config.h"

#include <algorithm>
#include <functional>

#include "grove/base/text.h"
#include "grove/setup/loss_option.h"

namespace grove {
namespace {

Option constraint_option(Constraint& target) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {"constraint",
          "none | nonnegative | box:LOW:HIGH",
          "bounds on every coefficient (none)",
          "Problem",
          [&target](std::string_view given) -> Status {
            if (given == "none") return target = Constraint{}, success();
            if (given == "nonnegative") return target = Constraint{.low = 0}, success();
            const auto parts = split(given, ':');
            if (parts.size() == 3 && parts[0] == "box") {
              const auto low = parse_double(parts[1]), high = parse_double(parts[2]);
              if (low && high && *low < *high) return target = Constraint{*low, *high}, success();
            }
            return Error{"", fmt::format("'{}' is unknown; expected none, nonnegative or "
                                         "box:LOW:HIGH with LOW below HIGH",
                                         given)};
          },
          [&target]() -> nlohmann::json {
            if (target.low == -infinity && target.high == infinity) return "none";
            if (target.low == 0 && target.high == infinity) return "nonnegative";
            return fmt::format("box:{}:{}", exact(target.low), exact(target.high));
          }};
}

Option slow_rank_option(std::optional<SlowRank>& target) {
  return {"slow-rank",
          "R:FACTOR",
          "with mpi: process R takes FACTOR times as long, to see what slow ones cost",
          "Where agents run",
          [&target](std::string_view given) -> Status {
            const auto parts = split(given, ':');
            const auto rank = parse_integer(parts[0]);
            const double factor = parts.size() == 2 ? parse_double(parts[1]).value_or(0) : 0;
            if (!rank || *rank < 0 || *rank > 1'000'000 || !(factor >= 1))
              return Error{"", fmt::format("'{}': expected R:FACTOR with a process number and a "
                                           "factor of 1 or more",
                                           given)};
            target = SlowRank{static_cast<int>(*rank), factor};
            return success();
          },
          [&target]() -> nlohmann::json {
            if (!target) return nullptr;
            return fmt::format("{}:{}", target->rank, exact(target->factor));
          }};
}

/// A setting that is understood once, when it is given.
template <class Meaning>
Option spec_option(const OptionText& text, Spec<Meaning>& target,
                   std::function<Spec<Meaning>(std::string_view)> read = nullptr) {
  if (!read) read = [](std::string_view given) { return Spec<Meaning>(given); };
  return {text.name,
          text.value,
          text.help,
          text.group,
          [&target, read](std::string_view given) -> Status {
            Spec<Meaning> spec = read(given);
            if (!spec.meaning()) return Error{"", spec.meaning().error().what};
            target = std::move(spec);
            return success();
          },
          [&target]() -> nlohmann::json { return target.text(); }};
}

/// One that is null in records until it is given.
template <class Meaning>
Option unset_spec_option(const OptionText& text, Spec<Meaning>& target) {
  Option option = spec_option(text, target);
  option.get = [&target]() -> nlohmann::json {
    return target.empty() ? nlohmann::json(nullptr) : nlohmann::json(target.text());
  };
  return option;
}

/// Splits NAME[:ARGUMENTS].
std::pair<std::string_view, std::string_view> name_and_arguments(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  return {text.substr(0, colon), colon == text.size() ? "" : text.substr(colon + 1)};
}

template <class Row, class Show>
std::string listed(const std::vector<Row>& rows, const char* between, Show show) {
  std::string text;
  for (const Row& row : rows) text += (text.empty() ? "" : between) + std::invoke(show, row);
  return text;
}

Option graph_option(GraphSpec& target, const Registry& registry) {
  return spec_option<GraphChoice>(
      {"graph", listed(registry.topologies, " | ", &Topology::form) + " | FILE",
       "communication graph; a FILE has `i j` on a line, or `i j weight` for a mixing matrix "
       "(erdos-renyi:0.3)",
       "Data and network"},
      target, [topologies = registry.topologies](std::string_view given) {
        return GraphSpec(std::string(given), GraphChoice::parse(given, topologies));
      });
}

Status set_regularizer(std::optional<RegularizerChoice>& target,
                       const std::vector<RegularizerEntry>& rows, std::string_view given) {
  if (given == "none") return target.reset(), success();
  const auto [name, arguments] = name_and_arguments(given);
  const auto row = std::ranges::find(rows, name, &RegularizerEntry::name);
  if (row == rows.end())
    return Error{
        "", fmt::format("'{}' is unknown; expected one of: none{}{}", given,
                        rows.empty() ? "" : ", ", listed(rows, ", ", &RegularizerEntry::form))};
  auto term = row->make(arguments);
  if (!term) return Error{"", fmt::format("'{}' is not possible; {}", given, term.error().what)};
  target = RegularizerChoice{std::string(given), std::move(*term)};
  return success();
}

Option regularizer_option(std::optional<RegularizerChoice>& target, const Registry& registry) {
  std::string forms = "none";
  for (const RegularizerEntry& row : registry.regularizers) forms += " | " + row.form;
  return {"regularizer",
          forms,
          "a registered regularizer, in place of --l1 and --constraint (none)",
          "Problem",
          [&target, rows = registry.regularizers](std::string_view given) {
            return set_regularizer(target, rows, given);
          },
          [&target]() -> nlohmann::json { return target ? target->text : "none"; }};
}

Option metrics_option(std::vector<Metric>& target, const Registry& registry) {
  return {"metrics",
          "a,b,c",
          "further numbers of every measured round, for the record: " +
              listed(registry.metrics, ", ", &Metric::name) + " (none)",
          "Stopping and measuring",
          [&target, rows = registry.metrics](std::string_view given) -> Status {
            std::vector<Metric> chosen;
            for (const std::string_view name : split(given, ',')) {
              if (trim(name).empty()) continue;
              const auto row = std::ranges::find(rows, trim(name), &Metric::name);
              if (row == rows.end())
                return Error{"", fmt::format("'{}' is unknown; expected some of: {}", trim(name),
                                             listed(rows, ", ", &Metric::name))};
              chosen.push_back(*row);
            }
            target = std::move(chosen);
            return success();
          },
          [&target]() -> nlohmann::json {
            if (target.empty()) return nullptr;
            return listed(target, ",", &Metric::name);
          }};
}

/// A text that is null in records until it is given.
Option unset_text_option(const OptionText& text, std::string& target) {
  Option option = text_option(text, target);
  option.get = [&target]() -> nlohmann::json {
    return target.empty() ? nlohmann::json(nullptr) : nlohmann::json(target);
  };
  return option;
}

Option agents_option(Config& config) {
  Option option = count_option(
      {"agents", "N", "agents in the network (10; with mpi one per process)", "Data and network"},
      config.agents, 1, 1'000'000);
  option.set = [set = option.set, &config](std::string_view given) {
    config.agents_given = true;
    return set(given);
  };
  return option;
}

/// The help has one line for every registered method.
Option method_option(Method& target, const Registry& registry) {
  std::vector<std::pair<std::string, Method>> choices;
  std::string help = fmt::format("({})", target.name());
  for (const Method& method : registry.methods) {
    choices.emplace_back(method.name(), method);
    help += fmt::format("\n{}: {}", method.name(), method.help());
  }
  Option option = choice_option<Method>({"method", "", help, "Method"}, target, std::move(choices));
  option.get = [&target]() -> nlohmann::json { return target.name(); };  // of any registry
  return option;
}

void add_problem_options(Config& config, const Registry& registry, std::vector<Option>& options) {
  const std::string data = "Data and network", problem = "Problem";
  options.push_back(text_option({"data", "DATA",
                                 "LIBSVM or CSV file (also .bz2, .gz, .xz), or "
                                 "synthetic:NAME[,key=value...]",
                                 data},
                                config.data));
  options.push_back(
      unset_text_option({"shards", "PATTERN",
                         "with mpi: each process reads a file of its own instead, {rank} "
                         "standing for its number",
                         data},
                        config.shards));
  options.push_back(unset_text_option(
      {"label-column", "NAME", "label column of a CSV file (label, target, y or the last)", data},
      config.label_column));
  options.push_back(count_option({"features", "D",
                                  "features of a LIBSVM file (0: up to the largest index, unless "
                                  "that is one line's alone and a hundred times all others)",
                                  data},
                                 config.features, 0, 100'000'000));
  options.push_back(agents_option(config));
  options.push_back(count_option({"samples", "M", "train on a random sub-sample of M (all)", data},
                                 config.samples, 0));
  options.push_back(count_option(
      {"seed", "S", "the one seed everything random derives from (1)", data}, config.seed, 0));
  options.push_back(spec_option({"partition", "even | stride | label-skew:A | size-skew:A | FILE",
                                 "how samples reach agents (even)", data},
                                config.partition));
  options.push_back(graph_option(config.graph, registry));
  options.push_back(choice_option<LinkChoice>(
      {"links", "",
       "links of the graph that agents use: all, or a sparse connected subset of a graph with more "
       "than 12 links an agent (auto: sparse for druid-vl with matrix weights, but not between "
       "peers; all otherwise)",
       data},
      config.links,
      {{"auto", LinkChoice::automatic}, {"all", LinkChoice::all}, {"sparse", LinkChoice::sparse}}));
  options.push_back(
      count_option({"regularizer-agent", "Q",
                    "agent that applies the regularizer where one agent does (0)", data},
                   config.regularizer_agent, 0));
  options.push_back(loss_option(config.loss, registry.losses));
  options.push_back(number_option({"l1", "W", "adds W |x|_1, by prox (0)", problem}, config.l1,
                                  Range::non_negative()));
  options.push_back(
      number_option({"l2", "W", "adds (W/2)|x|^2 to every local objective (0)", problem}, config.l2,
                    Range::non_negative()));
  options.push_back(constraint_option(config.constraint));
  options.push_back(regularizer_option(config.regularizer, registry));
  options.push_back(choice_option<Weighting>(
      {"weighting", "", "equal weight per agent, or per sample (agent)", problem}, config.weighting,
      {{"agent", Weighting::agent}, {"sample", Weighting::sample}}));
  options.push_back(switch_option({"intercept", "", "fit an intercept, never regularized", problem},
                                  config.intercept));
}

void add_method_options(Config& config, const Registry& registry, std::vector<Option>& options) {
  const std::string method = "Method";
  options.push_back(method_option(config.method, registry));
  options.push_back(choice_option<SumsKind>(
      {"sums", "", "of tree-newton: parents see sums of subtrees, or masked: only totals (open)",
       method},
      config.sums, {{"open", SumsKind::open}, {"masked", SumsKind::masked}}));
  options.push_back(unset_spec_option<PrivacyChoice>(
      {"dp", "epsilon=E,delta=D,bound=R[,steps=T]",
       "of tree-newton: differential privacy of each row by noise on masked sums of T gradients "
       "(50); longer rows are shortened to length R",
       method},
      config.dp));
  options.push_back(
      penalty_option({"penalty", "auto | MU | scalar | diagonal | low-rank:K | full | sparse",
                      "link weight: the scalar mu_z, or a matrix from the Hessians of both ends "
                      "(auto: a matrix for druid-vl; for other methods, minibatch, linearized "
                      "and --prox tuned a scalar from the mean Hessian diagonal at the start)",
                      method},
                     config.penalty));
  options.push_back(number_option(
      {"theta-penalty", "MU",
       "mu_theta, weight of the regularizer's copy (2 mu_z; not used by matrix weights)", method},
      config.theta_penalty, Range::positive()));
  options.push_back(
      prox_option({"prox", "EPS | a,b,c | auto | tuned[:c=C,zeta=Z,work=E,eps=EPS]",
                   "eps_i, proximal weight of every agent; auto: the least that keeps its local "
                   "model stable; tuned (druid-vl): by its work load (2 mu_z; matrix weights: 0; "
                   "druid-gd: at least the smoothness constant)",
                   method},
                  config.prox));
  options.push_back(choice_option<bool>(
      {"safeguard", "",
       "druid-vl with matrix weights: where links converge slowly, Newton steps on exact sums (see "
       "tree-newton) begin beside them; none with --tolerance 0 and above 300 coefficients (on)",
       method},
      config.safeguard, {{"on", true}, {"off", false}}));
  options.push_back(number_option({"step", "A", "step of pg-extra, p2d2, nids (1/L)", method},
                                  config.step, Range::positive()));
}

/// What an agent does in one activation.
void add_local_options(Config& config, std::vector<Option>& options) {
  const std::string method = "Method";
  options.push_back(
      spec_option({"work", "auto[:a,b,c] | E | a,b,c | equal:E | uniform:A:B | extreme:A:B",
                   "local steps per activation (auto: 5, with --speeds or --latency "
                   "1 to 10; fewer where a step leaves nothing to gain)",
                   method},
                  config.work));
  options.push_back(choice_option<LocalModelKind>(
      {"local-model", "", "what several local steps follow (augmented)", method},
      config.local_model,
      {{"augmented", LocalModelKind::augmented}, {"linearized", LocalModelKind::linearized}}));
  options.push_back(choice_option<SamplingKind>(
      {"sampling", "", "samples a local step looks at (full)", method}, config.sampling,
      {{"full", SamplingKind::full},
       {"minibatch", SamplingKind::minibatch},
       {"variance-reduced", SamplingKind::variance_reduced},
       {"adaptive", SamplingKind::adaptive}}));
  options.push_back(count_option(
      {"batch-gradient", "B", "gradient batch of minibatch, the first of the others (100)", method},
      config.batch_gradient, 1));
  options.push_back(count_option(
      {"batch-hessian", "B", "Hessian batch of minibatch, the first of the others (100)", method},
      config.batch_hessian, 1));
  options.push_back(
      number_option({"exact-tolerance", "T",
                     "gradient norm at which exact-admm ends a sub-problem (1e-5)", method},
                    config.exact_tolerance, Range::positive()));
}

void add_asynchrony_options(Config& config, std::vector<Option>& options) {
  const std::string asynchrony = "Asynchrony";
  options.push_back(spec_option({"participation", "P | p1,p2,...",
                                 "probability that an agent works in a round (1)", asynchrony},
                                config.participation));
  options.push_back(choice_option<LinkKind>(
      {"link", "",
       "one broadcast per round, or one message per edge, which tolerates loss and delay "
       "(broadcast)",
       asynchrony},
      config.link, {{"broadcast", LinkKind::broadcast}, {"edge", LinkKind::edge}}));
  options.push_back(
      number_option({"loss-rate", "L", "probability that a message is lost (0)", asynchrony},
                    config.loss_rate, Range{.low = 0, .high = 1, .high_open = true}));
  options.push_back(
      count_option({"delay", "K", "messages arrive 0 to K rounds late (0)", asynchrony},
                   config.delay, 0, 1'000'000));
}

void add_run_options(Config& config, const Registry& registry, std::vector<Option>& options) {
  const std::string run = "Stopping and measuring", where = "Where agents run";
  options.push_back(count_option({"rounds", "T", "round limit (500)", run}, config.rounds, 0));
  options.push_back(
      number_option({"tolerance", "T",
                     "stop when the objective is certified to be at most this share above the "
                     "optimum, and all agents agree as well (1e-6; 0: never)",
                     run},
                    config.tolerance, Range::non_negative()));
  options.push_back(switch_option(
      {"no-reference", "", "do not compute the centralized optimum to compare with", run},
      config.no_reference));
  options.push_back(
      switch_option({"keep-estimates", "", "put every agent's model into the run record", run},
                    config.keep_estimates));
  options.push_back(count_option(
      {"measure-every", "K", "measure every K rounds (1; 0: only at start and end)", run},
      config.measure_every, 0));
  options.push_back(metrics_option(config.metrics, registry));
  options.push_back(choice_option<RuntimeKind>(
      {"runtime", "", "(simulator)", where}, config.runtime,
      {{"simulator", RuntimeKind::simulator}, {"mpi", RuntimeKind::mpi}}));
  options.push_back(count_option(
      {"threads", "N", "worker threads of each process (0: its share of the cores)", where},
      config.threads, 0, 4096));
  options.push_back(switch_option(
      {"free-running", "",
       "with edge links: no rounds, every agent (with mpi: process) at its own pace", where},
      config.free_running));
  options.push_back(unset_spec_option(
      {"speeds", "S | a,b,c | uniform:A:B | extreme:A:B",
       "simulated machines: counts simulated seconds, 1 being a billion operations per second (1)",
       where},
      config.speeds));
  options.push_back(
      unset_spec_option({"latency", "SECONDS | uniform:A:B | extreme:A:B",
                         "simulated seconds that a message takes, by link (0)", where},
                        config.latency));
  options.push_back(slow_rank_option(config.slow_rank));
  options.push_back(unset_text_option(
      {"checkpoint", "DIR", "keep checkpoints there, and go on from the one that is there", run},
      config.checkpoint));
  options.push_back(count_option({"checkpoint-every", "K", "rounds between checkpoints (100)", run},
                                 config.checkpoint_every, 1));
}

}  // namespace

std::vector<Option> options_of(Config& config, const Registry& registry) {
  std::vector<Option> options;
  add_problem_options(config, registry, options);
  add_method_options(config, registry, options);
  add_local_options(config, options);
  add_asynchrony_options(config, options);
  add_run_options(config, registry, options);
  return options;
}

nlohmann::json options_json(const Config& config) {
  Config copy = config;  // options are bound to what they can set
  return to_json(options_of(copy));
}

bool simulates_time(const Config& config) {
  return config.runtime == RuntimeKind::simulator &&
         (config.free_running || !config.speeds.empty() || !config.latency.empty());
}

bool can_publish_weights(const Config& config) {
  return config.method.traits().publishes_weights && config.sampling != SamplingKind::minibatch &&
         config.local_model == LocalModelKind::augmented &&
         !(config.prox && std::holds_alternative<TunedProx>(config.prox->value));
}

}  // namespace grove
