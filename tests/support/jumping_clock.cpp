// Preloaded (LD_PRELOAD) into a program: its wall clock jumps by an hour to and fro, many times a
// second. The monotonic clock is left alone.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static std::atomic<unsigned> calls = 0;
  const long failed = ::syscall(SYS_clock_gettime, clock, time);
  constexpr unsigned calls_between_jumps = 7;
  if (failed == 0 && clock == CLOCK_REALTIME && ++calls / calls_between_jumps % 2 == 1)
    time->tv_sec += 3600;
  return static_cast<int>(failed);
}
