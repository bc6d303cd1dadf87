#pragma once

#include <pybind11/pybind11.h>

namespace grove::python {

/// Problems from arrays, runs, comparisons and their records.
void bind_problems(pybind11::module_& module);

}  // namespace grove::python
