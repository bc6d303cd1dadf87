#pragma once

#include <memory>
#include <vector>

#include <pybind11/pybind11.h>

#include "grove/setup/config.h"
#include "watch.h"

namespace grove::python {

/// A method, loss, regularizer or graph of the user's own, by the name of its option. The registry
/// has a row for each; the options take its name.
class Parts {
 public:
  /// parts: `method` a class of agents (grove.Agent), `loss` a grove.Loss, `regularizer` a
  /// grove.Regularizer, `graph` a pair of the number of agents and the list of links.
  Parts(const py::dict& parts, std::shared_ptr<PythonCalls> calls);

  const Registry& registry() const { return registry_; }
  /// What parts in Python do not allow, and one thread unless the texts of the options say
  /// otherwise: Python runs one at a time.
  void adapt(Config& config, const py::dict& texts) const;

 private:
  void add_method(const py::object& type);
  void add_loss(const py::object& loss);
  void add_regularizer(const py::object& regularizer);
  void add_graph(const py::tuple& graph);

  std::shared_ptr<PythonCalls> calls_;
  std::unique_ptr<MethodEntry> method_;  ///< a Method borrows its row
  Registry registry_ = built_in_registry();
  bool compute_ = false;  ///< something of every round is computed in Python
};

/// The class AgentContext, which agents in Python are given.
void bind_parts(py::module_& module);

}  // namespace grove::python
