#include "fits.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/eigen.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include "grove/train/fit_options.h"
#include "options.h"
#include "parts.h"

namespace grove::python {
namespace {

/// Columns by name: numbers, or codes and the texts that they stand for.
using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Codes = py::array_t<std::int32_t, py::array::c_style | py::array::forcecast>;

template <class Number, int flags>
std::vector<Number> copied(const py::array_t<Number, flags>& numbers) {
  return {numbers.data(), numbers.data() + numbers.size()};
}

Table table_of(const std::string& name, const py::list& columns) {
  std::vector<TableColumn> made;
  for (const auto& one : columns) {
    const auto cells = one.cast<py::tuple>();
    TableColumn column{.name = cells[0].cast<std::string>(), .is_text = cells.size() == 3};
    if (column.is_text) {
      column.codes = copied(cells[1].cast<Codes>());
      column.texts = cells[2].cast<std::vector<std::string>>();
    } else {
      column.numbers = copied(cells[1].cast<Numbers>());
    }
    made.push_back(std::move(column));
  }
  return value_of(make_table(name, std::move(made)));
}

/// A fit and what was said about its tables.
struct FitResult {
  Fit fit;
  std::vector<std::string> notes;
};

FitResult fit_tables(const py::dict& texts, const py::dict& parts,
                     const std::vector<std::pair<std::string, py::list>>& sites,
                     const py::object& progress) {
  Watch watch(progress);
  const Parts own(parts, watch.calls());
  FitOptions options;
  Config config = default_fit_config();
  set_options(options_of(options, config, own.registry()), texts, "fit");
  own.adapt(config, texts);
  std::vector<Table> tables;
  for (const auto& [name, columns] : sites) {
    options.sites.push_back(name);
    tables.push_back(table_of(name, columns));
  }
  const RunHooks hooks = watch.hooks(config.rounds);
  FitResult result;
  const auto work = [&]() -> Result<Fit> {
    const auto data = make_fit_data(options, config, tables);
    if (!data) return data.error();
    result.notes = data->notes;
    return fit(options, config, *data, hooks);
  };
  result.fit = watch.watch(work, [](const Fit& found) { return &found.record; });
  return result;
}

/// A row per row of the table, NaN where cells of the model are missing: linear predictors, or
/// means; probabilities of all classes where the response has classes.
Matrix predict(const FitResult& result, const std::string& name, const py::list& columns,
               bool linear) {
  const FittedModel& model = result.fit.model;
  const Table table = table_of(name, columns);
  Encoding encoding = model.encoding;
  if (table.find(encoding.roles.weights) == nullptr) encoding.roles.weights.clear();
  const Design design = value_of(make_design(table, encoding, {.needs_response = false}));
  const bool classes = !encoding.classes.empty();
  if (!linear && classes && model.family.kind == Family::Kind::squared_hinge)
    throw Failure{{"which", "squared-hinge has no probabilities; expected 'linear'"}};
  const Matrix eta = linear_predictors(model, design);
  const Index width = linear || !classes ? eta.cols() : static_cast<Index>(encoding.classes.size());
  Matrix predicted = Matrix::Constant(static_cast<Index>(table.rows()), width,
                                      std::numeric_limits<double>::quiet_NaN());
  for (Index k = 0; k < eta.rows(); ++k) {
    auto row = predicted.row(static_cast<Index>(design.rows[static_cast<std::size_t>(k)]));
    if (linear)
      row = eta.row(k);
    else if (classes)
      row = class_probabilities(eta.row(k)).transpose();
    else
      row[0] = mean_at(model.family, eta(k, 0));
  }
  return predicted;
}

double quantile(const FitResult& result, double confidence) {
  if (!(confidence > 0 && confidence < 1))
    throw Failure{{"alpha", "expected a number above 0 and below 1"}};
  return interval_quantile(result.fit.model.inference, confidence);
}

}  // namespace

void bind_fits(py::module_& module) {
  py::class_<FitResult>(module, "FitResult")
      .def_property_readonly("record", [](const FitResult& result) { return result.fit.record; })
      .def_readonly("notes", &FitResult::notes)
      .def("json", [](const FitResult& result) { return to_json(result.fit.model).dump(); })
      .def("summary", [](const FitResult& result) { return summary_text(result.fit.model); })
      .def("predict", &predict, py::arg("name"), py::arg("columns"), py::arg("linear"))
      .def("quantile", &quantile, py::arg("confidence"));
  module.def("fit", &fit_tables, py::arg("options"), py::arg("parts"), py::arg("sites"),
             py::arg("progress"));
}

}  // namespace grove::python
