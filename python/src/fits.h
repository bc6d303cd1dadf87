#pragma once

#include <pybind11/pybind11.h>

namespace grove::python {

/// Generalized linear models over tables in memory.
void bind_fits(pybind11::module_& module);

}  // namespace grove::python
