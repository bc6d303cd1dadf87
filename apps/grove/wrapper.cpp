#include "wrapper.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"

namespace grove::app {
namespace {

volatile pid_t guarded = 0;
volatile std::sig_atomic_t asked_to_end = 0;

void pass_on(int signal) {
  asked_to_end = 1;
  const int kept = errno;
  ::kill(guarded, signal);
  errno = kept;
}

[[noreturn]] void wait_for_child(const std::string& process_name) {
  int state = 0;
  while (::waitpid(guarded, &state, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(state)) ::_exit(WEXITSTATUS(state));
  const int signal = WTERMSIG(state);
  if (asked_to_end) ::_exit(128 + signal);  // not lost: the launcher ended it, as a shell would say
  fmt::print(stderr,
             "grove: {} was lost: ended by signal {} ({}); the run stops. Runs with --checkpoint "
             "go on from their last checkpoint when started again\n",
             process_name, signal, ::strsignal(signal));
  std::fflush(stderr);
  ::_exit(transport_failed);
}

}  // namespace

void stand_guard(const std::string& process_name) {
  const pid_t wrapper = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return;  // no wrapper, then
  if (child == 0) {
    ::setpgid(0, 0);  // signals to the group would otherwise come twice
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != wrapper) ::_exit(transport_failed);  // it was gone before the call above
    return;
  }
  guarded = child;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) std::signal(signal, pass_on);
  wait_for_child(process_name);
}

}  // namespace grove::app
