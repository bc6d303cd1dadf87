#include <cstdio>
#include <memory>

#include <unistd.h>

#include "command.h"
#include "grove/data/fetch.h"
#include "grove/data/registry.h"
#include "grove/record/json_format.h"
#include "grove/record/summary.h"
#include "outputs.h"
#include "terminal.h"

namespace grove::app {
namespace {

struct DataSettings {
  std::string action, name, out = ".", mirror, url;
  Outputs outputs;
};

int list(const DataSettings& settings) {
  if (settings.outputs.json) {
    nlohmann::json sets = nlohmann::json::array();
    for (const PublicSet& set : public_sets())
      sets.push_back({{"name", set.name},
                      {"samples", set.samples},
                      {"features", set.features},
                      {"bytes", set.bytes},
                      {"sha256", set.sha256},
                      {"url", fmt::format("{}/{}", public_sets_url, set.path)}});
    print_result(json_text(sets));
    return ok;
  }
  constexpr auto row = "{:<12} {:>8} {:>9} {:>9}  {}\n";
  std::string table = fmt::format(row, "name", "samples", "features", "size", "task");
  for (const PublicSet& set : public_sets())
    table += fmt::format(row, set.name, set.samples, set.features,
                         human_bytes(static_cast<double>(set.bytes)),
                         set.kind == TargetKind::two_classes ? "two classes" : "regression");
  print_result(table);
  return ok;
}

int get(const DataSettings& settings) {
  if (settings.name.empty())
    return fail({"data get", "expected the name of a set; see grove data list"});
  const auto set = find_public_set(settings.name);
  if (!set) return fail(set.error());
  watch_for_interrupts();
  const bool visible = !settings.outputs.quiet && ::isatty(STDERR_FILENO);
  FetchOptions options{.url = settings.url, .folder = settings.out};
  if (!settings.mirror.empty()) options.base_url = settings.mirror;
  options.progress = [&](const FetchProgress& progress) {
    if (visible)
      fmt::print(stderr, "\r\033[K{}: {} of {} downloaded", settings.name,
                 human_bytes(static_cast<double>(progress.received_bytes)),
                 human_bytes(static_cast<double>(progress.total_bytes)));
    return !interrupted();
  };
  const auto path = fetch(*set, options);
  if (visible) fmt::print(stderr, "\r\033[K");
  if (!path) {
    const int failed = fail(path.error());
    return interrupted() ? ended_by_user : failed;
  }
  if (settings.outputs.json)
    print_result(json_text({{"name", settings.name}, {"file", path->string()}}));
  else if (!settings.outputs.quiet)
    print_result(path->string() + "\n");
  return ok;
}

int run_data(const DataSettings& settings) {
  if (settings.action == "list" && !settings.name.empty())
    return fail(
        {"data list", fmt::format("takes no name, found '{}'; see grove data get", settings.name)});
  if (settings.action == "list") return list(settings);
  if (settings.action == "get") return get(settings);
  return fail({"data", fmt::format("'{}' is unknown; expected list or get", settings.action)});
}

}  // namespace

Command data_command() {
  auto settings = std::make_shared<DataSettings>();
  Command command{.name = "data",
                  .summary = data_summary,
                  .positionals = {{"action", true}, {"name"}},
                  .run = [settings] { return run_data(*settings); }};
  auto& options = command.options;
  options.push_back(text_option({"action", "list | get", "list the sets, or download one", "Data"},
                                settings->action));
  options.push_back(text_option({"name", "NAME", "the set to download", "Data"}, settings->name));
  options.push_back(text_option({"out", "DIR", "folder for the file (.)", "Data"}, settings->out));
  options.push_back(text_option(
      {"mirror", "URL", "another site with the same paths below it", "Data"}, settings->mirror));
  options.push_back(text_option(
      {"url", "URL", "address of the file, instead of the known one", "Data"}, settings->url));
  add_quiet_and_json(settings->outputs, options);
  return command;
}

}  // namespace grove::app
