// Reading LIBSVM text against LIBLINEAR's reader, on the texts of ijcnn1 and w8a (GROVE_DATA_DIR,
// default ../shared/data). Each timing is the first read of a fresh process, the file in the page
// cache: for LIBLINEAR read_problem of Debian's liblinear-train (see support/liblinear_probe.cpp),
// for Grove load_dataset, from opening the file to the matrix and the labels as 0 and 1. One thread
// is compared by processor time, which is what a core has to do; two by the clock.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "grove/data/dataset.h"
#include "grove/data/text_blocks.h"
#include "support/table.h"

namespace {

using namespace grove;

constexpr int repetitions = 15;
const std::string read_flag = "--read";

/// Seconds by the clock and of the processor.
struct Times {
  double clock = INFINITY;
  double processor = INFINITY;
};

/// `parsing --read FILE THREADS`: what a child process does.
int read_once(const std::string& file, int threads) {
  const std::clock_t worked = std::clock();
  const auto began = std::chrono::steady_clock::now();
  const auto dataset = load_dataset(file, TargetKind::two_classes, 1, {.threads = threads});
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  if (!dataset) fmt::print(stderr, "{}\n", dataset.error().text());
  fmt::print("{:.9f} {:.9f}\n", passed.count(),
             static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC);
  return dataset ? 0 : 1;
}

/// The two numbers a command prints; infinite where it fails.
Times times_from(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"),
                                                               ::pclose);
  Times times;
  if (!output || std::fscanf(output.get(), "%lf %lf", &times.clock, &times.processor) != 2)
    return {};
  return times;
}

/// Writes the text inside a compressed file to `path`; false where there is no such file.
bool unpack(const std::string& compressed, const std::string& path) {
  const auto blocks = open_blocks(compressed);
  if (!blocks) return false;
  std::ofstream text(path, std::ios::binary);
  for (auto block = (*blocks)->next(); block && !block->text.empty(); block = (*blocks)->next())
    text << block->text;
  return true;
}

class Contest {
 public:
  Contest(std::string self, std::string folder)
      : self_(std::move(self)), folder_(std::move(folder)) {}

  /// The contenders take turns, and the best time of each counts.
  std::vector<bench::Row> rows(const std::string& set, const std::string& compressed) const {
    const std::string file = folder_ + "/" + set;
    if (!unpack(compressed, file)) {
      fmt::print("{}: not found, left out\n", compressed);
      return {};
    }
    const std::vector<std::string> commands{
        fmt::format("LD_PRELOAD='{}' liblinear-train -s 6 '{}' /dev/null 2>/dev/null",
                    GROVE_LIBLINEAR_PROBE, file),
        reader(file, 1), reader(file, 2), reader(compressed, 1)};
    std::vector<Times> best(commands.size());
    for (int k = 0; k < repetitions; ++k)
      for (std::size_t contender = 0; contender < commands.size(); ++contender) {
        const Times times = times_from(commands[contender]);
        best[contender] = {std::min(best[contender].clock, times.clock),
                           std::min(best[contender].processor, times.processor)};
      }
    const double megabytes = static_cast<double>(std::filesystem::file_size(file)) * 1e-6;
    return {
        {set + ", LIBLINEAR's reader", megabytes / best[0].processor, "MB/s"},
        {set + ", one thread", megabytes / best[1].processor, "MB/s"},
        {set + ", one thread over LIBLINEAR", best[0].processor / best[1].processor, "x", 5},
        {set + ", LIBLINEAR's reader, by the clock", megabytes / best[0].clock, "MB/s"},
        {set + ", two threads, by the clock", megabytes / best[2].clock, "MB/s"},
        {set + ", two threads over LIBLINEAR", best[0].clock / best[2].clock, "x", 8},
        {set + ".bz2, one thread (of text)", megabytes / best[3].processor, "MB/s"},
    };
  }

 private:
  std::string reader(const std::string& file, int threads) const {
    return fmt::format("'{}' {} '{}' {}", self_, read_flag, file, threads);
  }

  std::string self_, folder_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && argv[1] == read_flag) return read_once(argv[2], std::atoi(argv[3]));
  const char* const data = std::getenv("GROVE_DATA_DIR");
  std::string folder = (std::filesystem::temp_directory_path() / "grove-parsing-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  if (std::system("command -v liblinear-train >/dev/null") != 0)
    fmt::print("liblinear-train is missing (Debian: liblinear-tools): nothing to compare with\n");
  const Contest contest(std::filesystem::canonical("/proc/self/exe").string(), folder);
  std::vector<bench::Row> rows;
  for (const std::string set : {"ijcnn1", "w8a"}) {
    const auto more =
        contest.rows(set, fmt::format("{}/{}.bz2", data ? data : "../shared/data", set));
    rows.insert(rows.end(), more.begin(), more.end());
  }
  std::filesystem::remove_all(folder);
  return bench::report("Reading LIBSVM text", rows, argc, argv);
}
