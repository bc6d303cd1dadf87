#include <cstdio>

#include "grove/runtime/mpi/cluster.h"
#include "grove/train/run.h"
#include "toys.h"

// A method, a loss and a regularizer from outside the library under MPI: the solution of the
// simulator, bit for bit.
namespace {

grove::Config configure(const char* method, const char* regularizer) {
  const grove::Registry registry = toys::registry();
  grove::Config config;
  const auto options = grove::options_of(config, registry);
  const std::pair<const char*, const char*> settings[] = {
      {"method", method},   {"regularizer", regularizer},
      {"loss", "log-cosh"}, {"graph", "wheel"},
      {"agents", "5"},      {"data", "synthetic:gaussian,samples=100,features=4"},
      {"rounds", "25"},     {"tolerance", "0"},
      {"l2", "0.1"},        {"metrics", "squared_norm"}};
  for (const auto& [name, value] : settings)
    if (const auto status = grove::set_option(*grove::find_option(options, name), value); !status)
      std::fprintf(stderr, "%s\n", status.error().text().c_str());
  return config;
}

bool same(grove::Config config, grove::Cluster& cluster) {
  const auto alone = grove::run(config);
  config.runtime = grove::RuntimeKind::mpi;
  const auto together = grove::run(config, {}, &cluster);
  for (const auto* record : {&alone, &together})
    if (!*record) return std::fprintf(stderr, "%s\n", record->error().text().c_str()), false;
  return alone->solution == together->solution &&
         alone->trace.back().metrics == together->trace.back().metrics &&
         alone->trace.back().worst_gap == together->trace.back().worst_gap;
}

}  // namespace

int main() {
  grove::mpi::Session session;
  bool ok = same(configure("toy-extra", "none"), session.cluster());
  ok &= same(configure("druid-vl", "group-lasso:0.1:2"), session.cluster());
  return ok ? 0 : 1;
}
