#include "grove/setup/config_file.h"

#include <algorithm>
#include <vector>

#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/setup/suggestion.h"
#include "grove/setup/toml_text.h"

namespace grove {
namespace {

struct Entry {
  std::string name;  ///< with the name of its table, as in disclosure.min-rows
  const toml::key* key;
  const toml::node* node;
};

/// toml++ keeps keys by name; the first mistake to report is the first in the file.
std::vector<Entry> in_file_order(const toml::table& table) {
  std::vector<Entry> entries;
  for (auto&& [key, node] : table) {
    const std::string name(key.str());
    const auto* inner = node.as_table();
    if (inner != nullptr && !inner->empty())
      for (auto&& [part, value] : *inner)
        entries.push_back({fmt::format("{}.{}", name, part.str()), &part, &value});
    else
      entries.push_back({name, &key, &node});
  }
  std::ranges::sort(entries, std::less{},
                    [](const Entry& entry) { return entry.key->source().begin; });
  return entries;
}

Error unknown_key(std::string where, std::string_view key, std::span<const Option> options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back(option.name);
  return Error{std::move(where), fmt::format("unknown key '{}'{}", key, suggestion(key, names))};
}

}  // namespace

std::optional<std::string> option_text(const toml::node& node) {
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return std::to_string(value->get());
  if (const auto* value = node.as_floating_point()) return exact(value->get());
  if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
  if (const auto* values = node.as_array()) {
    std::string joined;
    for (const toml::node& element : *values) {
      const auto text = element.is_array() ? std::nullopt : option_text(element);
      if (!text) return std::nullopt;
      joined += (joined.empty() ? "" : ",") + *text;
    }
    return joined;
  }
  return std::nullopt;
}

Result<OptionPlaces> read_config_file(const std::filesystem::path& path,
                                      std::span<const Option> options,
                                      const std::set<std::string>& skip) {
  const auto text = read_file(path);
  if (!text) return text.error();
  toml::table table;
  try {  // toml++ reports syntax errors by exception
    table = toml::parse(*text);
  } catch (const toml::parse_error& error) {
    return Error{fmt::format("{}:{}", path.string(), error.source().begin.line),
                 fmt::format("is not TOML: {}", error.description())};
  }
  OptionPlaces places;
  for (const auto& [name, key, node] : in_file_order(table)) {
    const auto where = fmt::format("{}:{}", path.string(), key->source().begin.line);
    const Option* option = find_option(options, name);
    if (option == nullptr) return unknown_key(where, name, options);
    const auto value = option_text(*node);
    if (!value) return Error{where, fmt::format("{}: expected a value or a flat list", name)};
    if (skip.contains(option->name)) continue;
    if (Status status = option->set(*value); !status)
      return Error{where, fmt::format("{}: {}", name, status.error().what)};
    places[option->name] = where;
  }
  return places;
}

Error located(const Error& error, const OptionPlaces& places) {
  if (!error.where.starts_with("--")) return error;
  const std::string name = error.where.substr(2);
  const auto place = places.find(name);
  return place == places.end() ? error : Error{place->second, name + ": " + error.what};
}

}  // namespace grove
