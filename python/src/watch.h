#pragma once

#include <atomic>
#include <exception>
#include <memory>

#include <pybind11/pybind11.h>

#include "grove/record/record.h"
#include "grove/train/run.h"

#include "failure.h"

namespace grove::python {

namespace py = pybind11;

/// A Python object that may be released by any thread, with or without the interpreter's lock.
class Held {
 public:
  Held() = default;
  explicit Held(py::object object) : object_(std::move(object)) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    const py::gil_scoped_acquire lock;
    object_ = py::object();
  }

  const py::object& get() const { return object_; }
  void set(py::object object) { object_ = std::move(object); }

 private:
  py::object object_;
};

/// Calls of Python code during a run. The library knows no exceptions: after the first one no more
/// code is called, the run is interrupted, and the exception raised when it has ended.
class PythonCalls {
 public:
  /// Calls body with the interpreter's lock; false if it raises or an earlier call did.
  template <class Body>
  bool call(const Body& body) {
    if (raised()) return false;
    const py::gil_scoped_acquire lock;
    try {
      body();
      return true;
    } catch (...) {
      if (!exception_) exception_ = std::current_exception();
      raised_ = true;
      return false;
    }
  }

  bool raised() const { return raised_; }
  /// Raises what a call raised, with the record so far as the exception's attribute `record`.
  void raise(const RunRecord* record) const;

 private:
  std::atomic<bool> raised_ = false;
  std::exception_ptr exception_;  ///< under the interpreter's lock
};

/// The hooks of a run that goes on without the interpreter's lock. Python sees a measured round
/// at most ten times a second, and signals as often.
class Watch {
 public:
  /// progress: None, or called with round, limit of rounds, objective, stationarity and consensus
  /// error.
  explicit Watch(py::object progress) : progress_(std::move(progress)) {}

  const std::shared_ptr<PythonCalls>& calls() const { return calls_; }
  RunHooks hooks(std::uint64_t rounds);

  /// Calls work, which returns a Result of something with a record, without the lock.
  template <class Work, class RecordOf>
  auto watch(const Work& work, const RecordOf& record_of) {
    std::optional<decltype(work())> result;
    {
      const py::gil_scoped_release unlocked;
      result.emplace(work());
    }
    if (!*result) {
      calls_->raise(nullptr);  // what Python raised is the reason of the error
      throw Failure{result->error()};
    }
    calls_->raise(record_of(**result));
    return std::move(**result);
  }

 private:
  static constexpr double seconds_between_looks = 0.1;

  static bool due(double& last);
  void show(const TracePoint& point, std::uint64_t rounds);
  bool interrupted();

  py::object progress_;
  double last_shown_ = 0, last_look_ = 0;
  std::shared_ptr<PythonCalls> calls_ = std::make_shared<PythonCalls>();
};

}  // namespace grove::python
