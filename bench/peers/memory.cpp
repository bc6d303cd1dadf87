#include "peers/memory.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "grove/base/random.h"
#include "grove/peer/clock.h"
#include "grove/peer/layout.h"
#include "grove/peer/operator.h"
#include "grove/peer/supervisor.h"

namespace grove::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t agents = 4;  // complete graph, so the degree is 3
constexpr std::uint32_t samples_per_agent = 250;
constexpr std::uint32_t nonzeros_per_sample = 40;

/// An empty folder, which the destructor removes.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "grove-bench-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path path;
};

void write_sparse_data(const fs::path& path, Index dimension) {
  KeyedRandom random({.seed = 1, .purpose = Purpose::synthetic});
  std::ofstream file(path);
  const auto stride = static_cast<std::uint64_t>(dimension) / nonzeros_per_sample;
  for (std::uint32_t row = 0; row < agents * samples_per_agent; ++row) {
    file << (row % 2 == 0 ? "+1" : "-1");
    for (std::uint64_t k = 0; k < nonzeros_per_sample; ++k)
      file << ' ' << k * stride + random.below(stride) + 1 << ':' << random.normal();
    file << '\n';
  }
}

/// "VmRSS:   12345 kB" of /proc/PID/status, in bytes.
double memory_of(int process, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string name; status >> name;) {
    double kilobytes = 0;
    if (name == field + ":" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

struct Reading {
  double resident = 0, peak = 0;
};

/// Runs the peers of the layout, and reads the memory of the first after its `activations`.
Reading run_and_read(const peer::Layout& layout, const std::string& program,
                     std::uint64_t activations) {
  const auto identity = peer::load_identity(layout.operator_files());
  peer::Supervisor supervisor(layout, program);
  std::vector<double> resident;
  double peak = 0;
  const double limit = peer::monotonic_seconds() + 60;
  while (resident.size() < 20 && peer::monotonic_seconds() < limit) {
    supervisor.poll(peer::monotonic_seconds());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto status = peer::ask_status(layout.peers[0], *identity);
    if (!status || status->at("activations") < activations) continue;
    const int process = status->at("process");
    resident.push_back(memory_of(process, "VmRSS"));
    peak = memory_of(process, "VmHWM");
  }
  if (resident.empty()) return {};
  std::ranges::nth_element(resident, resident.begin() + std::ssize(resident) / 2);
  return {resident[resident.size() / 2], peak};
}

peer::Layout lay_out(Config training, const fs::path& out) {
  training.tolerance = 1e-12;  // the peers keep working during the measurement
  auto layout = peer::make_layout({.training = std::move(training), .out = out.string()});
  if (!layout) std::fprintf(stderr, "peers: %s\n", layout.error().text().c_str());
  return layout ? std::move(*layout) : peer::Layout{};
}

}  // namespace

PeerMemory measure_memory(const std::string& program, Index dimension) {
  const Folder folder;
  Config small;
  small.data = "synthetic:ijcnn-like,samples=1000";
  small.agents = 2;
  small.graph = "complete";
  peer::Layout alone = lay_out(small, folder.path / "small");
  alone.peers.resize(1);  // the neighbour is never started
  const Reading idle = run_and_read(alone, program, 1);

  Config large;
  large.data = (folder.path / "data.libsvm").string();
  large.agents = agents;
  large.graph = "complete";
  large.method = Method::druid_gd;  // Newton steps would need d x d numbers
  write_sparse_data(large.data, dimension);
  const Reading working = run_and_read(lay_out(large, folder.path / "large"), program, 30);

  const double vector_bytes = 8.0 * static_cast<double>(dimension);
  const double data_bytes =
      samples_per_agent * (nonzeros_per_sample * (sizeof(double) + sizeof(std::int32_t)) + 16.0);
  return {.idle_bytes = idle.resident,
          .working_bytes = working.resident,
          .peak_bytes = working.peak,
          .needed_bytes = data_bytes + (4 + 3 * (agents - 1)) * vector_bytes};
}

}  // namespace grove::bench
