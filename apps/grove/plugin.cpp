#include "plugin.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>

#include <dlfcn.h>
#include <fmt/format.h>

namespace grove::app {
namespace {

namespace fs = std::filesystem;

struct Plugin {
  std::string_view file;
  std::string_view contents;  ///< as in "this build has no peers"
  std::string_view packages;  ///< of Debian, that it is built with
};

constexpr Plugin peers{"peers.so", "peers",
                       "libgrpc++-dev, protobuf-compiler-grpc, libspdlog-dev and "
                       "prometheus-cpp-dev"};
constexpr Plugin mpi{"mpi.so", "MPI", "libopenmpi-dev and openmpi-bin"};
constexpr Plugin downloads{"downloads.so", "downloads", "libcurl4-openssl-dev"};
constexpr Plugin view{"view.so", "view", "libcpp-httplib-dev"};
constexpr Plugin experiments{"experiments.so", "experiments", ""};

struct PluginCommand {
  std::string_view name;
  std::string_view summary;
  const Plugin* plugin;
};

constexpr std::array known_commands{
    PluginCommand{"data", data_summary, &downloads},
    PluginCommand{"reproduce", reproduce_summary, &experiments},
    PluginCommand{"theory", theory_summary, &experiments},
    PluginCommand{"peer", peer_summary, &peers},
    PluginCommand{"network", network_summary, &peers},
    PluginCommand{"audit", audit_summary, &peers},
    PluginCommand{"site", site_summary, &peers},
    PluginCommand{"study", study_summary, &peers},
    PluginCommand{"doctor", doctor_summary, &peers},
    PluginCommand{"view", view_summary, &view},
};

/// Beside the program in a build folder; in the library folder where it is installed.
fs::path path_of(const Plugin& plugin) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path beside = program / "plugins" / plugin.file;
  return fs::exists(beside, error) ? beside : program / GROVE_INSTALLED_PLUGINS / plugin.file;
}

/// The function of that name. The plug-in stays loaded until the program ends. Its symbols are
/// global: Open MPI loads components of its own, which look for those of libmpi.
Result<void*> load(const Plugin& plugin, std::string_view asked, const char* function) {
  const fs::path path = path_of(plugin);
  std::error_code error;
  if (!fs::exists(path, error))
    return Error{
        std::string(asked),
        fmt::format(
            "this build has no {}; {}build all of the program, as ./run does", plugin.contents,
            plugin.packages.empty() ? "" : fmt::format("install {}, then ", plugin.packages))};
  void* loaded = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* found = loaded != nullptr ? ::dlsym(loaded, function) : nullptr;
  if (found == nullptr)
    return Error{std::string(asked), fmt::format("cannot load {}: {}", path.string(), ::dlerror())};
  return found;
}

}  // namespace

Result<std::vector<Command>> plugin_commands(std::string_view wanted) {
  std::vector<Command> commands;
  for (const PluginCommand& known : known_commands) {
    Command command{.name = std::string(known.name), .summary = std::string(known.summary)};
    if (wanted == known.name || wanted == every_plugin) {
      const auto function = load(*known.plugin, wanted, "grove_plugin_commands");
      if (!function && wanted == every_plugin) continue;
      if (!function) return function.error();
      std::vector<Command> loaded;
      reinterpret_cast<decltype(&grove_plugin_commands)> (*function)(loaded);
      command = *std::ranges::find(loaded, known.name, &Command::name);
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

Result<ClusterSession*> start_session() {
  const auto function = load(mpi, "--runtime", "grove_plugin_session");
  if (!function) return function.error();
  return reinterpret_cast<decltype(&grove_plugin_session)>(*function)();
}

Result<std::unique_ptr<ViewServer>> start_view(const std::string& listen,
                                               const std::shared_ptr<LiveRuns>& runs) {
  const auto function = load(view, "--view", "grove_plugin_view");
  if (!function) return function.error();
  std::optional<Error> error;
  ViewServer* server =
      reinterpret_cast<decltype(&grove_plugin_view)>(*function)(listen, runs, error);
  if (server == nullptr) return *error;
  return std::unique_ptr<ViewServer>(server);
}

Result<std::unique_ptr<PeerWatch>> start_watch(const std::string& folder,
                                               const std::vector<std::string>& addresses) {
  const auto function = load(peers, "--peer", "grove_plugin_watch");
  if (!function) return function.error();
  std::optional<Error> error;
  PeerWatch* watch =
      reinterpret_cast<decltype(&grove_plugin_watch)>(*function)(folder, addresses, error);
  if (watch == nullptr) return *error;
  return std::unique_ptr<PeerWatch>(watch);
}

}  // namespace grove::app
