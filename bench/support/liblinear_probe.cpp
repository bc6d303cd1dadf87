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
double worked = 0;

/// Of this thread: the BLAS that the program links starts others, which wait busily.
double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
}  // namespace

extern "C" void set_print_string_function(void (*)(const char*)) {
  began = std::chrono::steady_clock::now();
  worked = processor_seconds();
}

extern "C" const char* check_parameter(const void*, const void*) {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  std::printf("%.9f %.9f\n", passed.count(), processor_seconds() - worked);
  std::fflush(stdout);
  std::_Exit(0);
}
