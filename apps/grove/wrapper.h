#pragma once

#include <string>

namespace grove::app {

/// Splits this process in two: a child, in which the call returns, and a wrapper that waits for it
/// and exits with its exit code. A launcher reports a killed process by an exit code of its own
/// choice; the wrapper says which process was lost, and exits with 4. Signals are passed on, and
/// the child does not outlive its wrapper. To be called before anything starts threads.
void stand_guard(const std::string& process_name);

}  // namespace grove::app
