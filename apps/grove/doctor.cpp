#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "command.h"
#include "grove/peer/study/doctor.h"
#include "study.h"

namespace grove::app {
namespace {

using peer::Finding;

struct DoctorSettings {
  std::string study, data, site;
};

const char* word_of(Finding::Kind kind) {
  if (kind == Finding::Kind::good) return "good";
  return kind == Finding::Kind::bad ? "BAD" : "wait";
}

Result<int> run_doctor(const DoctorSettings& settings) {
  ::setenv("GRPC_VERBOSITY", "NONE", 0);  // what fails is said below, in plain words
  const auto study = peer::read_study(settings.study);
  if (!study) return study.error();
  const auto site = site_of(*study, settings.study, settings.site);
  if (!site) return site.error();
  const auto findings = diagnose(*study, *site, settings.data);
  for (const Finding& one : findings)
    fmt::print("{:<5} {:<22} {}\n", word_of(one.kind), one.subject, one.text);
  const auto any = [&](Finding::Kind kind) {
    return std::ranges::find(findings, kind, &Finding::kind) != findings.end();
  };
  if (any(Finding::Kind::bad)) return bad_input;
  return any(Finding::Kind::others) ? ended_without_members : ok;
}

}  // namespace

Command doctor_command() {
  auto settings = std::make_shared<DoctorSettings>();
  Command command{.name = "doctor",
                  .summary = doctor_summary,
                  .positionals = {{"study", true}},
                  .run = [settings] { return run_doctor(*settings); }};
  command.options.push_back(
      text_option({"study", "FILE", "the study file", "Doctor"}, settings->study));
  command.options.push_back(text_option(
      {"data", "FILE", "this site's data, to be checked too", "Doctor"}, settings->data));
  command.options.push_back(text_option(
      {"site", "NAME", "this site's files, where several lie here", "Doctor"}, settings->site));
  return command;
}

}  // namespace grove::app
