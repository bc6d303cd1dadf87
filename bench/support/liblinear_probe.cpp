// Loaded into liblinear-train (LD_PRELOAD) to time its reader alone: the program calls the first
// function just before read_problem and the second right after it, and both come from its library.
// Prints the seconds between the two, by the clock and of the processor, and ends the program
// before it trains.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {
std::chrono::steady_clock::time_point began;
std::clock_t worked;
}  // namespace

extern "C" void set_print_string_function(void (*)(const char*)) {
  began = std::chrono::steady_clock::now();
  worked = std::clock();
}

extern "C" const char* check_parameter(const void*, const void*) {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  std::printf("%.9f %.9f\n", passed.count(),
              static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC);
  std::fflush(stdout);
  std::_Exit(0);
}
