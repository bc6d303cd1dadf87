#include "grove/data/table_statistics_packages.h"

#ifdef GROVE_WITH_READSTAT

#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include <readstat.h>

#include "grove/base/text.h"

namespace grove {
namespace {

/// What the callbacks of ReadStat fill.
struct PackageReader {
  std::string source;
  std::vector<std::string> names;
  std::vector<std::string> label_sets;  ///< of the values, by column; empty: none
  std::map<std::string, std::map<std::string, std::string>> labels;  ///< set, value, text
  std::optional<TableBuilder> builder;
};

PackageReader& reader_of(void* context) { return *static_cast<PackageReader*>(context); }

std::string key_of(readstat_value_t value) {
  if (readstat_value_type(value) == READSTAT_TYPE_STRING) {
    const char* text = readstat_string_value(value);
    return text == nullptr ? "" : text;
  }
  return exact(readstat_double_value(value));
}

int on_variable(int, readstat_variable_t* variable, const char* label_set, void* context) {
  PackageReader& reader = reader_of(context);
  reader.names.emplace_back(readstat_variable_get_name(variable));
  reader.label_sets.emplace_back(label_set == nullptr ? "" : label_set);
  return READSTAT_HANDLER_OK;
}

int on_label(const char* set, readstat_value_t value, const char* label, void* context) {
  reader_of(context).labels[set][key_of(value)] = label;
  return READSTAT_HANDLER_OK;
}

int on_value(int row, readstat_variable_t* variable, readstat_value_t value, void* context) {
  PackageReader& reader = reader_of(context);
  if (!reader.builder) reader.builder.emplace(reader.source, reader.names);
  const auto column = static_cast<std::size_t>(readstat_variable_get_index(variable));
  if (column == 0) reader.builder->begin_row(static_cast<std::size_t>(row) + 1);
  if (readstat_value_is_missing(value, variable) != 0) {
    reader.builder->add_number(std::numeric_limits<double>::quiet_NaN());
    return READSTAT_HANDLER_OK;
  }
  const auto set = reader.labels.find(reader.label_sets[column]);
  if (set != reader.labels.end())
    if (const auto label = set->second.find(key_of(value)); label != set->second.end()) {
      reader.builder->add_text(label->second);
      return READSTAT_HANDLER_OK;
    }
  if (readstat_value_type(value) == READSTAT_TYPE_STRING)
    reader.builder->add_text(trim(key_of(value)));
  else
    reader.builder->add_number(readstat_double_value(value));
  return READSTAT_HANDLER_OK;
}

}  // namespace

Result<Table> read_statistics_package(const std::string& path) {
  PackageReader reader{.source = path};
  const std::unique_ptr<readstat_parser_t, void (*)(readstat_parser_t*)> parser(
      readstat_parser_init(), readstat_parser_free);
  readstat_set_variable_handler(parser.get(), on_variable);
  readstat_set_value_label_handler(parser.get(), on_label);
  readstat_set_value_handler(parser.get(), on_value);
  const bool stata = std::filesystem::path(path).extension() == ".dta";
  // Stata writes its labels behind the values: the first pass is for them.
  const auto parse = stata ? readstat_parse_dta : readstat_parse_sav;
  readstat_error_t error = READSTAT_OK;
  for (int pass = 0; pass < 2 && error == READSTAT_OK; ++pass) {
    reader.names.clear();
    reader.label_sets.clear();
    reader.builder.reset();
    error = parse(parser.get(), path.c_str(), &reader);
  }
  if (error != READSTAT_OK) return Error{path, readstat_error_message(error)};
  if (!reader.builder) return Error{path, "has no rows"};
  return std::move(*reader.builder).finish();
}

}  // namespace grove

#else

namespace grove {

Result<Table> read_statistics_package(const std::string& path) {
  return Error{path,
               "this build reads no Stata or SPSS files; expected CSV, or a build with "
               "libreadstat-dev installed"};
}

}  // namespace grove

#endif
