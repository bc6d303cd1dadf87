// The text of a study.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/peer/study/study.h"
#include "grove/peer/training_keys.h"
#include "grove/setup/suggestion.h"
#include "grove/setup/toml_text.h"
#include "grove/train/fit_options.h"

namespace grove::peer {
namespace {

constexpr std::string_view format_name = "grove-study/1";

/// A basic string of TOML, which escapes like JSON.
std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

/// Keys that are written even where they have their usual values: a reader wants to know them.
bool is_always_written(const Study& study, const std::string& name) {
  static const std::set<std::string> always{"method", "sums", "tolerance", "l1", "l2"},
      of_fits{"family"}, of_numbers{"loss", "intercept", "weighting"};
  return always.contains(name) || (fits_formula(study.terms) ? of_fits : of_numbers).contains(name);
}

std::string problem_text(const Study& study) {
  Study own = study, usual;
  const std::vector<Option> options = problem_options(own), defaults = problem_options(usual);
  std::string text = "\n[problem]\n";
  for (const Option& option : options) {
    const nlohmann::json value = option.get();
    if (value == find_option(defaults, option.name)->get() &&
        !is_always_written(study, option.name))
      continue;
    text += fmt::format("{} = {}\n", option.name, value.dump());
  }
  return text;
}

std::string link_list(const Study& study) {
  auto list = nlohmann::json::array();
  for (const auto& [a, b] : study.links)
    list.push_back(study.members[a].name + " " + study.members[b].name);
  return list.dump();
}

std::string acceptance_text(const Acceptance& one) {
  return fmt::format("\n[[acceptances]]\nmember = {}\ntime = {}\ndata = {}\n{}signature = {}\n",
                     quoted(one.member), quoted(one.time), quoted(one.data),
                     one.rows > 0 ? fmt::format("rows = {}\n", one.rows) : "",
                     quoted(one.signature));
}

/// Reads the values of one table by name, and knows which ones were not asked for.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string where)
      : table_(table), where_(std::move(where)) {}

  std::string text(const std::string& key) {
    known_.insert(key);
    return table_[key].value_or(std::string());
  }
  std::uint64_t count(const std::string& key) {
    known_.insert(key);
    const auto number = table_[key].value_or(std::int64_t{0});
    return number > 0 ? static_cast<std::uint64_t>(number) : 0;
  }
  const toml::node* node(const std::string& key) {
    known_.insert(key);
    return table_.get(key);
  }
  Status no_others() const {
    for (auto&& [key, node] : table_)
      if (!known_.contains(std::string(key.str())))
        return Error{where_,
                     fmt::format("unknown key '{}'{}", key.str(),
                                 suggestion(key.str(), std::vector(known_.begin(), known_.end())))};
    return success();
  }

 private:
  const toml::table& table_;
  std::string where_;
  std::set<std::string> known_;
};

Status read_problem(const toml::node* node, Study& study, const std::string& where) {
  const toml::table* table = node != nullptr ? node->as_table() : nullptr;
  if (table == nullptr) return Error{where, "[problem] is missing"};
  const std::vector<Option> options = problem_options(study);
  for (auto&& [key, value] : *table) {
    const Option* option = find_option(options, key.str());
    const auto text = option_text(value);
    if (option == nullptr || !text)
      return Error{where, fmt::format("unknown key '{}' in [problem]", key.str())};
    if (Status status = option->set(*text); !status)
      return Error{where, fmt::format("{}: {}", option->name, status.error().what)};
  }
  return success();
}

Status read_member(const toml::table& table, Study& study, const std::string& where) {
  TableReader member(table, where);
  const std::string name = member.text("name");
  auto certificate =
      read_site_certificate(member.text("certificate"), where + ": certificate of " + name);
  if (!certificate) return certificate.error();
  if (certificate->name != name)
    return Error{where, fmt::format("the certificate of {} is that of {}; expected its own", name,
                                    certificate->name)};
  if (member.text("fingerprint") != certificate->fingerprint)
    return Error{where, fmt::format("the certificate of {} has another fingerprint than the study "
                                    "says: it was swapped",
                                    name)};
  study.members.push_back(std::move(*certificate));
  for (const char* derived : {"address", "inbound"}) member.node(derived);
  return member.no_others();
}

Status read_acceptance(const toml::table& table, Study& study, const std::string& where) {
  TableReader entry(table, where);
  study.acceptances.push_back({.member = entry.text("member"),
                               .time = entry.text("time"),
                               .data = entry.text("data"),
                               .rows = entry.count("rows"),
                               .signature = entry.text("signature")});
  return entry.no_others();
}

using ReadEntry = Status (*)(const toml::table&, Study&, const std::string&);

Status read_all(const toml::node* node, Study& study, const std::string& where, ReadEntry read) {
  const toml::array* list = node != nullptr ? node->as_array() : nullptr;
  if (list == nullptr) return success();
  for (const toml::node& one : *list) {
    if (one.as_table() == nullptr) return Error{where, "expected a list of tables"};
    if (Status status = read(*one.as_table(), study, where); !status) return status;
  }
  return success();
}

Status read_links(const toml::node* node, Study& study, const std::string& where) {
  const std::string listed = node != nullptr ? option_text(*node).value_or("") : "";
  for (const std::string_view link : split(listed, ',')) {
    const auto names = split(link, ' ');
    const auto a = study.member(std::string(names.front())),
               b = study.member(std::string(names.back()));
    if (names.size() != 2 || !a || !b)
      return Error{where, fmt::format("links: '{}' is not a link; expected two members", link)};
    study.links.emplace_back(*a, *b);
  }
  return success();
}

Status read_table(const toml::table& table, Study& study, const std::string& where) {
  TableReader top(table, where);
  if (const std::string format = top.text("format"); format != format_name)
    return Error{where, fmt::format("format is '{}'; expected '{}'", format, format_name)};
  study.name = top.text("name");
  study.version = top.count("version");
  study.previous = top.text("previous");
  study.graph = top.text("graph");
  if (Status status = read_problem(top.node("problem"), study, where); !status) return status;
  if (Status status = read_all(top.node("members"), study, where, read_member); !status)
    return status;
  if (Status status = read_links(top.node("links"), study, where); !status) return status;
  if (Status status = read_all(top.node("acceptances"), study, where, read_acceptance); !status)
    return status;
  if (study.members.empty()) return Error{where, "has no members"};
  study.terms.members = study.members.size();
  study.terms.holder = study.members.front().name;
  return top.no_others();
}

/// The number of the first line that differs.
std::size_t first_difference(const std::string& text, const std::string& expected) {
  const auto [found, wanted] = std::ranges::mismatch(text, expected);
  return 1 + static_cast<std::size_t>(std::count(text.begin(), found, '\n'));
}

}  // namespace

PeerConfig usual_terms() {
  PeerConfig terms;
  terms.training.data.clear();
  terms.training.method = Method::automatic;
  terms.training.tolerance = 1e-8;
  return terms;
}

std::vector<Option> problem_options(Study& study) {
  static const std::set<std::string> others{"labels",  "features",      "contributions",
                                            "certify", "feature-bound", "max-scale"};
  static const std::set<std::string> of_sites{"data", "work", "seed"};
  FitOptions fit;
  std::set<std::string> of_fits;
  for (const Option& option : options_of(fit)) of_fits.insert(option.name);
  std::vector<Option> options;
  for (Option& option : options_of(study.terms))
    if ((training_keys().contains(option.name) && !of_sites.contains(option.name)) ||
        others.contains(option.name) || of_fits.contains(option.name)) {
      if (option.name == "columns") option.help = "columns that each member's data has (not said)";
      options.push_back(std::move(option));
    }
  return options;
}

std::string Study::terms_text() const {
  std::string text = fmt::format(
      "# A study of Grove. A change of anything here makes it another study.\n"
      "format = {}\nname = {}\nversion = {}\n",
      quoted(std::string(format_name)), quoted(name), version);
  if (!previous.empty()) text += fmt::format("previous = {}\n", quoted(previous));
  text += fmt::format("graph = {}\nlinks = {}\n", quoted(graph), link_list(*this));
  text += problem_text(*this);
  for (const SiteCertificate& one : members)
    text += fmt::format(
        "\n[[members]]\nname = {}\naddress = {}\ninbound = {}\nfingerprint = {}\n"
        "certificate = '''\n{}'''\n",
        quoted(one.name), quoted(one.address), one.inbound, quoted(one.fingerprint), one.pem);
  return text;
}

std::string Study::text() const {
  std::string result = terms_text();
  for (const Acceptance& one : acceptances) result += acceptance_text(one);
  return result;
}

Result<Study> parse_study(const std::string& text, const std::string& where) {
  Study study;
  try {  // toml++ reports syntax errors by exception
    const toml::table table = toml::parse(text);
    if (Status status = read_table(table, study, where); !status) return status.error();
  } catch (const toml::parse_error& error) {
    return Error{fmt::format("{}:{}", where, error.source().begin.line),
                 fmt::format("is not TOML: {}", error.description())};
  }
  if (Status status = check(study); !status) return Error{where, status.error().text()};
  if (const std::string expected = study.text(); text != expected)
    return Error{fmt::format("{}:{}", where, first_difference(text, expected)),
                 "is not as grove study wrote it: the file was changed"};
  return study;
}

}  // namespace grove::peer
