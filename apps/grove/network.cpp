#include <cstdio>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <unistd.h>

#include "command.h"
#include "grove/base/file.h"
#include "grove/peer/layout.h"
#include "grove/peer/operator.h"
#include "grove/peer/supervisor.h"
#include "grove/record/summary.h"
#include "outputs.h"
#include "run_view.h"
#include "terminal.h"

namespace grove::app {
namespace {

using nlohmann::json;
using peer::Layout;
using peer::Supervisor;

struct NetworkSettings {
  std::string action, dir;
  peer::LayoutOptions layout;
  Outputs outputs;
};

/// The status of every peer; null for a peer that does not answer. All are queried at once, as a
/// hung peer takes its whole time limit.
std::vector<json> ask_all(const Layout& layout, const peer::TlsIdentity& identity,
                          double timeout_seconds = 2) {
  std::vector<std::future<json>> asked;
  for (const auto& peer : layout.peers)
    asked.push_back(std::async(std::launch::async, [&] {
      auto answer = ask_status(peer, identity, timeout_seconds);
      return answer ? std::move(*answer) : json(nullptr);
    }));
  std::vector<json> answers;
  for (auto& one : asked) answers.push_back(one.get());
  return answers;
}

/// The summary that a peer writes when it ends; null: the peer runs or was killed.
json summary_of(const Layout::Peer& peer) {
  const auto text = read_file(peer.folder / "state" / "summary.json");
  auto summary = text ? json::parse(*text, nullptr, false) : json(nullptr);
  return summary.is_object() && summary.contains("outcome") ? summary : json(nullptr);
}

/// Peers with different configurations reject each other for ever: the first such pair, if any.
std::optional<Error> configuration_conflict(const std::vector<json>& answers) {
  for (const json& answer : answers) {
    if (answer.is_null()) continue;
    for (const json& link : answer.at("links"))
      for (const char* kind : {"wrong_problem", "wrong_network", "wrong_protocol"})
        if (link.at("refused").contains(kind))
          return Error{answer.at("name"),
                       fmt::format("refuses {}: {}", link.at("name").get<std::string>(),
                                   link.at("last_refusal").get<std::string>())};
  }
  return std::nullopt;
}

std::string row_of(const std::string& name, const json& status, const std::string& note) {
  if (status.is_null()) return fmt::format("{:<10} {:<10} {}\n", name, "silent", note);
  const auto number = [&](const char* key, const char* form) {
    return status.at(key).is_null() ? "-"
                                    : fmt::format(fmt::runtime(form), status.at(key).get<double>());
  };
  return fmt::format(
      "{:<10} {:<10} {:>11} {:>10} {:>10} {:>7} {:>7} {:>10} {:>11}  {}\n", name,
      status.value("outcome", status.at("phase").get<std::string>()),
      status.at("activations").get<std::uint64_t>(), number("residual", "{:.2e}"),
      number("network_residual", "{:.2e}"),
      fmt::format("{}/{}", status.at("connected").get<int>(), status.at("neighbours").get<int>()),
      status.at("refused").get<std::uint64_t>(), human_bytes(status.at("bytes").get<double>()),
      status.at("checkpoint_trouble").get<std::string>().empty()
          ? number("checkpoint_age", "{:.1f} s")
          : "failing",
      note);
}

std::string header() {
  return fmt::format("{:<10} {:<10} {:>11} {:>10} {:>10} {:>7} {:>7} {:>10} {:>11}\n", "peer",
                     "phase", "round", "residual", "largest", "alive", "refused", "bytes",
                     "checkpoint");
}

/// The last answer of each peer stays on the screen after it has ended.
class LiveTable {
 public:
  LiveTable(const Layout& layout, bool visible)
      : layout_(layout), visible_(visible), last_(layout.peers.size(), nullptr) {}

  bool visible() const { return visible_; }

  void update(std::vector<json> answers, const Supervisor& supervisor) {
    if (!visible_) return;
    for (std::size_t k = 0; k < last_.size(); ++k)
      if (!answers[k].is_null()) last_[k] = std::move(answers[k]);
    if (drawn_) fmt::print(stderr, "\033[{}A", last_.size() + 1);
    std::string text = header();
    for (std::size_t k = 0; k < last_.size(); ++k)
      text += row_of(layout_.peers[k].name, last_[k], note(supervisor, k));
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 4)
      text.replace(at, 1, "\033[K\n");
    fmt::print(stderr, "{}", text);
    drawn_ = true;
  }

 private:
  static std::string note(const Supervisor& supervisor, std::size_t k) {
    constexpr std::array names{"", "restarting", "converged", "stopped", "failed", "without"};
    std::string text = names[static_cast<std::size_t>(supervisor.state(k))];
    if (supervisor.restarts(k) > 0) text += fmt::format(" (restarts: {})", supervisor.restarts(k));
    return text;
  }

  const Layout& layout_;
  bool visible_;
  bool drawn_ = false;
  std::vector<json> last_;
};

/// The summaries of all peers.
std::vector<json> ended(const Layout& layout) {
  std::vector<json> result;
  for (const auto& peer : layout.peers) result.push_back(summary_of(peer));
  return result;
}

/// What the page shows of each peer: its answer, or its summary if it has ended.
std::vector<PeerAnswer> shown_answers(const Layout& layout, const std::vector<json>& answers) {
  std::vector<PeerAnswer> shown;
  for (std::size_t k = 0; k < layout.peers.size(); ++k)
    shown.push_back(
        {layout.peers[k].name, answers[k].is_null() ? summary_of(layout.peers[k]) : answers[k]});
  return shown;
}

int init(const NetworkSettings& settings) {
  const auto layout = peer::make_layout(settings.layout);
  if (!layout) return fail(layout.error());
  if (settings.outputs.quiet) return ok;
  if (settings.layout.hosts.empty())
    fmt::print("Wrote {} peers to {}. Start them with: grove network up {}\n", layout->peers.size(),
               settings.layout.out, settings.layout.out);
  else
    fmt::print(
        "Wrote {0} peers to {1}. Give each host its folder, such as {1}/{2}, and start there: "
        "grove peer --config peer.toml\n",
        layout->peers.size(), settings.layout.out, layout->peers.front().name);
  return ok;
}

void print_failures(const Layout& layout, const Supervisor& supervisor) {
  for (std::size_t k = 0; k < layout.peers.size(); ++k)
    if (supervisor.state(k) == Supervisor::State::failed)
      fmt::print(stderr, "grove: {}: failed; see {}\n", layout.peers[k].name,
                 (layout.peers[k].folder / "log.txt").string());
}

int supervise(const NetworkSettings& settings, const Layout& layout,
              const peer::TlsIdentity& identity, NetworkView* view) {
  const std::vector<json> running = ask_all(layout, identity);
  for (std::size_t k = 0; k < running.size(); ++k)
    if (!running[k].is_null())
      return fail(
          {layout.peers[k].name,
           fmt::format("is running already, as process {}; end it with grove network down {}",
                       running[k].at("process").get<int>(), layout.folder.string())});
  watch_for_interrupts();
  Supervisor supervisor(layout, "/proc/self/exe");
  LiveTable table(layout, !settings.outputs.quiet && ::isatty(STDERR_FILENO));
  std::optional<Error> conflict;
  const double between_looks = table.visible() || view != nullptr ? 0.5 : 3;
  double next_look = monotonic_seconds() + between_looks;
  do {
    supervisor.poll(monotonic_seconds());
    // The others would wait for ever for a member that cannot run.
    if (interrupted() || supervisor.any_failed() || conflict) supervisor.terminate();
    if (monotonic_seconds() >= next_look) {
      const std::vector<json> answers = ask_all(layout, identity, view != nullptr ? 1 : 2);
      if (view != nullptr) view->show(shown_answers(layout, answers), monotonic_seconds());
      if (!conflict) conflict = configuration_conflict(answers);
      table.update(answers, supervisor);
      next_look = monotonic_seconds() + between_looks;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (supervisor.any_running());
  table.update(ended(layout), supervisor);
  if (view != nullptr) view->show(shown_answers(layout, ended(layout)), monotonic_seconds());
  if (conflict) fail(*conflict);
  print_failures(layout, supervisor);
  if (supervisor.all_converged()) {
    if (!settings.outputs.quiet)
      fmt::print("All {} peers converged; their models are {}/*/state/model.json\n",
                 layout.peers.size(), layout.folder.string());
    return ok;
  }
  if (supervisor.all_converged_or_without()) {
    for (const json& summary : ended(layout))
      if (!summary.is_null() && summary.value("outcome", "") != "converged")
        fmt::print(stderr, "grove: {}: {}: {}\n", summary.at("name").get<std::string>(),
                   summary.at("outcome").get<std::string>(), summary.at("without").dump());
    fmt::print(stderr, "grove: network up: ended without all members\n");
    return ended_without_members;
  }
  fmt::print(stderr, "grove: network up: ended before every peer had converged\n");
  return transport_failed;
}

std::string end_of_network(int code) {
  if (code == ok) return "all peers converged";
  return code == ended_without_members ? "ended without all members"
                                       : "ended before every peer had converged";
}

int up(const NetworkSettings& settings, const Layout& layout, const peer::TlsIdentity& identity) {
  const auto page = RunView::start(settings.outputs);
  if (!page) return fail(page.error());
  if (!*page) return supervise(settings, layout, identity, nullptr);
  NetworkView view((*page)->runs(), layout.network);
  const int code = supervise(settings, layout, identity, &view);
  view.end(end_of_network(code));
  serve_until_interrupted();
  return code;
}

int show_status(const NetworkSettings& settings, const Layout& layout,
                const peer::TlsIdentity& identity) {
  std::vector<json> answers = ask_all(layout, identity);
  for (std::size_t k = 0; k < answers.size(); ++k)
    if (answers[k].is_null()) answers[k] = summary_of(layout.peers[k]);
  if (settings.outputs.json) {
    json result = json::object();
    for (std::size_t k = 0; k < answers.size(); ++k) result[layout.peers[k].name] = answers[k];
    fmt::print("{}\n", result.dump(1));
  } else {
    fmt::print("{}", header());
    for (std::size_t k = 0; k < answers.size(); ++k)
      fmt::print("{}", row_of(layout.peers[k].name, answers[k], ""));
  }
  const auto silent =
      std::ranges::count_if(answers, [](const json& answer) { return answer.is_null(); });
  return silent == 0 ? ok : transport_failed;
}

int down(const NetworkSettings& settings, const Layout& layout, const peer::TlsIdentity& identity) {
  std::size_t reached = 0;
  for (const auto& peer : layout.peers) reached += static_cast<bool>(ask_stop(peer, identity));
  if (!settings.outputs.quiet)
    fmt::print("Asked {} of {} peers to stop.\n", reached, layout.peers.size());
  return ok;
}

int run_network(const NetworkSettings& settings) {
  if (settings.action == "init") return init(settings);
  const bool known =
      settings.action == "up" || settings.action == "status" || settings.action == "down";
  if (!known)
    return fail({"network", fmt::format("'{}' is unknown; expected init, up, status or down",
                                        settings.action)});
  if (settings.dir.empty())
    return fail({"network " + settings.action, "expected the folder that grove network init made"});
  const auto layout = peer::read_layout(settings.dir);
  if (!layout) return fail(layout.error());
  const auto identity = peer::load_identity(layout->operator_files());
  if (!identity) return fail(identity.error());
  if (settings.action == "up") return up(settings, *layout, *identity);
  if (settings.action == "status") return show_status(settings, *layout, *identity);
  return down(settings, *layout, *identity);
}

}  // namespace

Command network_command() {
  auto settings = std::make_shared<NetworkSettings>();
  settings->layout.training.tolerance = 1e-8;
  Command command{.name = "network",
                  .summary = network_summary,
                  .positionals = {{"action", true}, {"dir"}},
                  .options = options_of(settings->layout),
                  .run = [settings] { return run_network(*settings); },
                  .takes_config = true};
  auto& options = command.options;
  options.push_back(
      text_option({"action", "init | up | status | down",
                   "write the configurations, start, show or stop the peers", "Network"},
                  settings->action));
  options.push_back(text_option({"dir", "DIR", "folder of the network", "Network"}, settings->dir));
  add_view_options(settings->outputs, options);
  add_quiet_and_json(settings->outputs, options);
  return command;
}

}  // namespace grove::app
