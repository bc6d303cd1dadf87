#include "support/table.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <limits>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace grove::bench {

int report(const std::string& title, const std::vector<Row>& rows, int argc, char** argv) {
  nlohmann::json json = {{"benchmark", title}, {"rows", nlohmann::json::array()}};
  fmt::print("{}\n", title);
  for (const Row& row : rows) {
    const std::string goal =
        row.goal == 0 ? "" : fmt::format("{} {:.4g}", row.at_least ? ">=" : "<=", row.goal);
    fmt::print("  {:<62} {:>10.4g} {:<6} {:>9}  {}\n", row.name, row.value, row.unit, goal,
               row.goal == 0 ? "" : (row.reached() ? "reached" : "MISSED"));
    json["rows"].push_back(
        {{"name", row.name},
         {"value", row.value},
         {"unit", row.unit},
         {"goal", row.goal == 0 ? nlohmann::json(nullptr) : nlohmann::json(row.goal)},
         {"reached", row.reached()}});
  }
  for (int k = 1; k + 1 < argc; ++k)
    if (std::string_view(argv[k]) == "--json") std::ofstream(argv[k + 1]) << json.dump(1) << "\n";
  return 0;
}

double best_seconds(int repetitions, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < repetitions; ++k) {
    const auto began = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - began).count());
  }
  return best;
}

namespace {

double thread_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

std::vector<double> contest(int repetitions, const std::vector<std::function<void()>>& contenders) {
  std::vector<double> best(contenders.size(), std::numeric_limits<double>::infinity());
  for (int repetition = 0; repetition < repetitions; ++repetition)
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      const double began = thread_seconds();
      contenders[k]();
      best[k] = std::min(best[k], thread_seconds() - began);
    }
  return best;
}

}  // namespace grove::bench
