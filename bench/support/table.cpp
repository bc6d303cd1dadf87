#include "support/table.h"

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

}  // namespace grove::bench
