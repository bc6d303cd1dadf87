#pragma once

#include <utility>

#include "grove/base/result.h"

namespace grove::python {

/// An Error of the library on its way to Python, where it is a grove.Error.
struct Failure {
  Error error;
};

template <class T>
T value_of(Result<T> result) {
  if (!result) throw Failure{result.error()};
  return std::move(*result);
}

}  // namespace grove::python
