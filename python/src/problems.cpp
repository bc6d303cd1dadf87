#include "problems.h"

#include <optional>
#include <string>
#include <vector>

#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "grove/record/comparison.h"
#include "grove/record/summary.h"
#include "grove/train/problem.h"
#include "options.h"
#include "parts.h"

namespace grove::python {
namespace {

using Doubles = py::array_t<double, py::array::c_style>;
using Integers = py::array_t<std::int32_t, py::array::c_style>;

/// A problem and the arrays that hold its numbers.
struct ArrayProblem {
  Problem problem;
  std::vector<py::object> memory;
};

std::span<const double> span_of(const Doubles& numbers) {
  return {numbers.data(), static_cast<std::size_t>(numbers.size())};
}

ArrayProblem problem_of(const FeatureView& view, const Doubles& targets,
                        const std::optional<Doubles>& weights, Index classes,
                        std::vector<py::object> memory) {
  SampleDetails details{.classes = classes};
  if (weights) details.weights = span_of(*weights);
  return {value_of(Problem::from_samples(view, span_of(targets), details)), std::move(memory)};
}

ArrayProblem dense_problem(const Doubles& features, const Doubles& targets,
                           const std::optional<Doubles>& weights, Index classes) {
  if (features.ndim() != 2) throw Failure{{"features", "expected a matrix"}};
  const DenseView view{features.data(), features.shape(0), features.shape(1)};
  return problem_of(view, targets, weights, classes, {features});
}

ArrayProblem sparse_problem(const Integers& offsets, const Integers& indices, const Doubles& values,
                            Index columns, const Doubles& targets,
                            const std::optional<Doubles>& weights, Index classes) {
  if (offsets.size() < 1 || indices.size() != values.size() ||
      offsets.at(offsets.size() - 1) != values.size())
    throw Failure{{"features", "offsets, indices and values of the rows do not fit together"}};
  const CsrView view{offsets.data(), indices.data(), values.data(), offsets.size() - 1, columns};
  return problem_of(view, targets, weights, classes, {offsets, indices, values});
}

/// Options of one run: texts by name, and the user's own parts. The configuration borrows a method
/// of the parts.
class RunOptions {
 public:
  RunOptions(const py::dict& texts, const py::dict& parts, std::shared_ptr<PythonCalls> calls)
      : parts_(std::make_unique<Parts>(parts, std::move(calls))) {
    set_options(options_of(config_, parts_->registry()), texts, "train");
    parts_->adapt(config_, texts);
  }

  const Config& config() const { return config_; }

 private:
  std::unique_ptr<Parts> parts_;
  Config config_;
};

const RunRecord* itself(const RunRecord& record) { return &record; }

RunRecord run_arrays(const ArrayProblem& arrays, const py::dict& texts, const py::dict& parts,
                     const std::optional<Vector>& start, const py::object& progress,
                     bool /*trace*/) {
  Watch watch(progress);
  const RunOptions options(texts, parts, watch.calls());
  const RunHooks hooks = watch.hooks(options.config().rounds);
  Problem problem = arrays.problem;
  if (start) problem.start_at(*start);
  return watch.watch([&] { return run(problem, options.config(), hooks); }, itself);
}

/// texts_and_parts: of each run. The problem is prepared once.
std::vector<RunRecord> run_each(const std::optional<ArrayProblem>& arrays,
                                const std::vector<std::pair<py::dict, py::dict>>& texts_and_parts,
                                const py::object& progress) {
  Watch watch(progress);
  std::vector<RunOptions> options;
  for (const auto& [texts, parts] : texts_and_parts)
    options.emplace_back(texts, parts, watch.calls());
  std::vector<RunRecord> records;
  if (options.empty()) return records;
  const PreparedProblem prepared = watch.watch(
      [&] {
        Config first = options[0].config();
        if (options.size() > 1 && first.links == LinkChoice::automatic)
          first.links = LinkChoice::all;  // methods are compared on one graph
        return arrays ? prepare(arrays->problem, first) : prepare(first);
      },
      [](const PreparedProblem&) -> const RunRecord* { return nullptr; });
  for (const RunOptions& one : options) {
    Config config = one.config();
    if (arrays) config = value_of(options_for(arrays->problem, std::move(config)));
    const RunHooks hooks = watch.hooks(config.rounds);
    records.push_back(watch.watch([&] { return run_prepared(config, prepared, hooks); }, itself));
  }
  return records;
}

std::string comparison_of(const std::vector<std::string>& names,
                          const std::vector<RunRecord>& records) {
  std::vector<RunSeries> series;
  for (std::size_t k = 0; k < names.size(); ++k) series.push_back({names[k], {records.at(k)}});
  return comparison_table(series);
}

}  // namespace

void bind_problems(py::module_& module) {
  const py::class_<ArrayProblem> problem(module, "Problem", "Samples in arrays, where they stay.");
  py::class_<RunRecord>(module, "Record")
      .def_readonly("solution", &RunRecord::solution)
      .def_readonly("objective", &RunRecord::objective)
      .def_readonly("notes", &RunRecord::notes)
      .def_readonly("explanations", &RunRecord::explanations)
      .def_property_readonly("status",
                             [](const RunRecord& record) { return name_of(record.outcome.status); })
      .def_property_readonly("detail",
                             [](const RunRecord& record) { return record.outcome.detail; })
      .def_property_readonly("rounds",
                             [](const RunRecord& record) { return record.outcome.rounds; })
      .def_property_readonly("seconds",
                             [](const RunRecord& record) { return record.outcome.seconds; })
      .def("json", [](const RunRecord& record) { return to_json(record).dump(); })
      .def("summary", [](const RunRecord& record) { return summary_text(record); });
  // noconvert: the arrays are used where they are, or refused.
  module.def("dense_problem", &dense_problem, py::arg("features").noconvert(), py::arg("targets"),
             py::arg("weights"), py::arg("classes"));
  module.def("sparse_problem", &sparse_problem, py::arg("offsets").noconvert(),
             py::arg("indices").noconvert(), py::arg("values").noconvert(), py::arg("columns"),
             py::arg("targets"), py::arg("weights"), py::arg("classes"));
  module.def("run", &run_arrays, py::arg("problem"), py::arg("options"), py::arg("parts"),
             py::arg("start"), py::arg("progress"), py::arg("trace"));
  module.def("run_each", &run_each, py::arg("problem"), py::arg("options_and_parts"),
             py::arg("progress"));
  module.def("comparison", &comparison_of, py::arg("names"), py::arg("records"));
}

}  // namespace grove::python
