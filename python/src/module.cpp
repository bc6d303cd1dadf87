// The module grove._core: the public door (grove/grove.h) for Python.
#include <pybind11/pybind11.h>

#include "failure.h"
#include "fits.h"
#include "parts.h"
#include "problems.h"

namespace py = pybind11;

PYBIND11_MODULE(_core, module) {
  using namespace grove::python;
  module.doc() = "Grove's library. Use the package grove.";
  static const py::object error_type = [&] {
    const py::object made = py::reinterpret_steal<py::object>(
        PyErr_NewExceptionWithDoc("grove.Error", "Bad input; the text is that of the command line.",
                                  PyExc_ValueError, nullptr));
    module.attr("Error") = made;
    return made;
  }();
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      PyErr_SetString(error_type.ptr(), failure.error.text().c_str());
    }
  });
  bind_problems(module);
  bind_parts(module);
  bind_fits(module);
}
