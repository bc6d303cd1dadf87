#include "study.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "command.h"
#include "grove/base/file.h"
#include "grove/base/text.h"
#include "grove/peer/study/study_run.h"

namespace grove::app {
namespace {

namespace fs = std::filesystem;
using peer::Study;

struct StudySettings {
  std::string action, studies, members, graph, out, data, site, add, remove, replace;
  bool yes = false, sums_given = false;
  Study study;  ///< of `new`; its problem options are bound to it

  /// The names or files that were given.
  std::vector<std::string> given() const {
    std::vector<std::string> result;
    for (const std::string_view one : split(studies, argument_end))
      if (!one.empty()) result.emplace_back(one);
    return result;
  }
};

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> result;
  for (const std::string_view part : split(list, ','))
    if (!trim(part).empty()) result.emplace_back(trim(part));
  return result;
}

Result<std::vector<peer::SiteCertificate>> read_members(const std::string& files) {
  std::vector<peer::SiteCertificate> members;
  for (const std::string& file : parts_of(files)) {
    const auto text = read_file(file);
    if (!text) return text.error();
    auto member = peer::read_site_certificate(*text, file);
    if (!member) return member.error();
    members.push_back(std::move(*member));
  }
  return members;
}

Status write_study(const Study& study, const std::string& path) {
  return write_file_atomically(path, study.text());
}

Result<int> make_study(StudySettings& settings) {
  Study& study = settings.study;
  study.name = settings.given().front();
  const std::string out = settings.out.empty() ? study.name + ".study" : settings.out;
  std::error_code failed;
  if (fs::exists(out, failed)) return Error{"--out", out + " exists; expected a new file"};
  auto members = read_members(settings.members);
  if (!members) return members.error();
  study.members = std::move(*members);
  if (!settings.graph.empty()) study.graph = settings.graph;
  // Where sums can hide the parts of the members, they do, unless the study says otherwise.
  if (!settings.sums_given && study.members.size() >= fewest_masked_agents &&
      study.terms.training.method.traits().sums_over_tree)
    study.terms.training.sums = SumsKind::masked;
  if (Status status = complete(study); !status) return status.error();
  if (Status status = write_study(study, out); !status) return status.error();
  fmt::print(
      "Wrote {}: version {}, {} members, digest {}\nEach member reads it with grove study "
      "show, and takes part with grove study accept.\n",
      out, study.version, study.members.size(), study.digest());
  return ok;
}

/// A new version of a study, which nobody has accepted yet.
Result<int> change_study(StudySettings& settings) {
  auto read = peer::read_study(settings.given().front());
  if (!read) return read.error();
  Study study = std::move(*read);
  if (settings.out.empty()) return Error{"--out", "missing; expected the file of the new version"};
  study.previous = study.digest();
  ++study.version;
  study.acceptances.clear();
  for (const std::string& name : parts_of(settings.remove)) {
    const auto place = study.member(name);
    if (!place) return Error{"--remove", name + " is not a member"};
    study.members.erase(study.members.begin() + static_cast<std::ptrdiff_t>(*place));
  }
  auto replaced = read_members(settings.replace), added = read_members(settings.add);
  if (!replaced) return replaced.error();
  if (!added) return added.error();
  for (peer::SiteCertificate& one : *replaced) {
    const auto place = study.member(one.name);
    if (!place) return Error{"--replace", one.name + " is not a member; expected --add"};
    study.members[*place] = std::move(one);
  }
  for (peer::SiteCertificate& one : *added) study.members.push_back(std::move(one));
  if (!settings.graph.empty()) study.graph = settings.graph;
  if (Status status = complete(study); !status) return status.error();
  if (Status status = write_study(study, settings.out); !status) return status.error();
  fmt::print("Wrote {}: version {}, {} members, digest {}\n", settings.out, study.version,
             study.members.size(), study.digest());
  return ok;
}

bool agrees(const StudySettings& settings) {
  if (settings.yes) return true;
  fmt::print("\nTake part, and sign this study with these data? [y/N] ");
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "yes";
}

Result<int> accept_study(const StudySettings& settings) {
  const std::string file = settings.given().front();
  auto study = peer::read_study(file);
  if (!study) return study.error();
  if (settings.data.empty()) return Error{"--data", "missing; expected this site's data"};
  const auto site = site_of(*study, file, settings.site);
  if (!site) return site.error();
  const auto config = peer_config_of(*study, *site, settings.data);
  if (!config) return config.error();
  const auto data = check_data(*study, *config);
  if (!data) return data.error();
  print_study(*study, &*config);
  fmt::print("\nThese data: {} has {} rows{}.\n", settings.data, data->rows,
             data->alone.empty()
                 ? fmt::format("; the model has {} coefficients", data->coefficients)
                 : "; alone they give no model: " + data->alone);
  if (data->forbidden) {
    fmt::print(stderr, "grove: study: forbidden by {} of {}: {}\n", data->forbidden->rule,
               site->file(".toml"), data->forbidden->detail);
    return disclosure_forbidden;
  }
  if (!settings.yes && ::isatty(STDIN_FILENO) == 0)
    return Error{"--yes", "missing; without a terminal nobody can be asked"};
  if (!agrees(settings)) {
    fmt::print("Not signed.\n");
    return ended_by_user;
  }
  if (Status status = accept(*study, *site, settings.data, data->rows); !status)
    return status.error();
  const std::string& out = settings.out.empty() ? file : settings.out;
  if (Status status = write_study(*study, out); !status) return status.error();
  fmt::print("{} has accepted version {} of {}; signed in {}.\n", site->name(), study->version,
             study->name, out);
  return ok;
}

Result<int> verify_study(const StudySettings& settings) {
  const auto study = peer::read_study(settings.given().front());
  if (!study) return study.error();
  const auto waiting = study->waiting();
  fmt::print("{}: version {}, digest {}\n{} of {} members have accepted{}\n", study->name,
             study->version, study->digest(), study->acceptances.size(), study->members.size(),
             waiting.empty() ? "" : fmt::format("; not yet: {}", fmt::join(waiting, ", ")));
  return waiting.empty() ? ok : ended_without_members;
}

/// The first file gets what the others have.
Result<int> merge_studies(const StudySettings& settings) {
  const auto files = settings.given();
  auto study = peer::read_study(files.front());
  if (!study) return study.error();
  for (std::size_t k = 1; k < files.size(); ++k) {
    const auto other = peer::read_study(files[k]);
    if (!other) return other.error();
    if (const Status merged = merge(*study, *other); !merged)
      return Error{files[k], merged.error().what};
  }
  const std::string& out = settings.out.empty() ? files.front() : settings.out;
  if (Status status = write_study(*study, out); !status) return status.error();
  fmt::print("{}: {} of {} members have accepted\n", out, study->acceptances.size(),
             study->members.size());
  return ok;
}

Result<int> show_study(const StudySettings& settings) {
  const std::string file = settings.given().front();
  const auto study = peer::read_study(file);
  if (!study) return study.error();
  const auto site = site_of(*study, file, settings.site);
  if (!site && !settings.site.empty()) return site.error();
  const auto config = site ? peer_config_of(*study, *site, "") : Result<peer::PeerConfig>(Error{});
  print_study(*study, config ? &*config : nullptr);
  return ok;
}

Result<int> run_study(StudySettings& settings) {
  if (settings.given().empty())
    return Error{"study " + settings.action, "expected the name of a new study, or a study file"};
  if (settings.action == "new") return make_study(settings);
  if (settings.action == "change") return change_study(settings);
  if (settings.action == "show") return show_study(settings);
  if (settings.action == "accept") return accept_study(settings);
  if (settings.action == "verify") return verify_study(settings);
  if (settings.action == "merge") return merge_studies(settings);
  return Error{"study",
               fmt::format("'{}' is unknown; expected new, show, accept, verify, merge or change",
                           settings.action)};
}

void add_study_options(StudySettings& settings, std::vector<Option>& options) {
  const std::string group = "Study";
  options.push_back(text_option({"action", "new | show | accept | verify | merge | change",
                                 "what to do with the study", group},
                                settings.action));
  options.push_back(text_option(
      {"study", "NAME|FILE", "name of a new study; otherwise its file", group}, settings.studies));
  options.push_back(text_option(
      {"members", "FILE,...", "of new: certificates of the members", group}, settings.members));
  options.push_back(
      text_option({"graph", "GRAPH", "links of the members (ring)", group}, settings.graph));
  options.push_back(text_option({"out", "FILE", "the study file to write", group}, settings.out));
  options.push_back(
      text_option({"data", "FILE", "of accept: this site's data", group}, settings.data));
  options.push_back(text_option(
      {"site", "NAME", "this site's files, where several lie here", group}, settings.site));
  options.push_back(
      switch_option({"yes", "", "of accept: sign without asking", group}, settings.yes));
  options.push_back(text_option(
      {"add", "FILE,...", "of change: certificates of new members", group}, settings.add));
  options.push_back(
      text_option({"remove", "NAME,...", "of change: members that leave", group}, settings.remove));
  options.push_back(
      text_option({"replace", "FILE,...", "of change: renewed certificates of members", group},
                  settings.replace));
}

}  // namespace

Result<peer::Site> site_of(const Study& study, const std::string& file, const std::string& given) {
  if (!given.empty()) return peer::read_site(given);
  return peer::find_site(study.member_names(), {fs::path("."), fs::path(file).parent_path()});
}

Command study_command() {
  auto settings = std::make_shared<StudySettings>();
  Command command{.name = "study",
                  .summary = study_summary,
                  .positionals = {{"action", true}, {"study", false, true}},
                  .options = peer::problem_options(settings->study),
                  .run = [settings] { return run_study(*settings); },
                  .takes_config = true};
  for (Option& option : command.options)
    if (option.name == "sums")
      option.set = [settings, set = option.set](std::string_view given) {
        settings->sums_given = true;
        return set(given);
      };
  add_study_options(*settings, command.options);
  return command;
}

}  // namespace grove::app
