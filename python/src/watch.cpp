#include "watch.h"

#include <chrono>

namespace grove::python {
namespace {

double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

void PythonCalls::raise(const RunRecord* record) const {
  if (!raised()) return;
  try {
    std::rethrow_exception(exception_);
  } catch (py::error_already_set& error) {
    if (record != nullptr) py::setattr(error.value(), "record", py::cast(*record));
    throw;
  }
}

RunHooks Watch::hooks(std::uint64_t rounds) {
  return {.seconds = monotonic_seconds,
          .measured = [this, rounds](const TracePoint& point) { show(point, rounds); },
          .interrupted = [this] { return interrupted(); }};
}

bool Watch::due(double& last) {
  const double now = monotonic_seconds();
  if (now - last < seconds_between_looks) return false;
  last = now;
  return true;
}

void Watch::show(const TracePoint& point, std::uint64_t rounds) {
  if (progress_.is_none() || !due(last_shown_)) return;
  calls_->call([&] {
    progress_(point.round, rounds, point.objective, point.stationarity, point.consensus_error);
  });
}

bool Watch::interrupted() {
  if (!calls_->raised() && due(last_look_))
    calls_->call([] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
  return calls_->raised();
}

}  // namespace grove::python
