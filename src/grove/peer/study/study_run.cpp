#include "grove/peer/study/study_run.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/file.h"
#include "grove/peer/fit_agreement.h"
#include "grove/peer/problem_parts.h"
#include "grove/peer/study/acceptances.h"

namespace grove::peer {
namespace {

namespace fs = std::filesystem;

Result<std::size_t> place_of(const Study& study, const Site& site) {
  const auto place = study.member(site.name());
  if (!place)
    return Error{site.file(".crt"),
                 fmt::format("{} is not a member of '{}'; its members are {}", site.name(),
                             study.name, fmt::join(study.member_names(), ", "))};
  if (study.members[*place].fingerprint != site.certificate.fingerprint)
    return Error{site.file(".crt"),
                 fmt::format("is another certificate than the study has for {}; expected that one, "
                             "or a new version of the study with this one",
                             site.name())};
  return *place;
}

/// What the study says, with what the site decides alone (site_keys).
PeerConfig with_settings(PeerConfig config, const PeerConfig& site) {
  config.listen = site.listen;
  config.metrics = site.metrics;
  config.state = site.state;
  config.checkpoint_seconds = site.checkpoint_seconds;
  config.forget_seconds = site.forget_seconds;
  config.linger_seconds = site.linger_seconds;
  config.stay = site.stay;
  config.contact_seconds = site.contact_seconds;
  config.wait_timeout_seconds = site.wait_timeout_seconds;
  config.heartbeat_seconds = site.heartbeat_seconds;
  config.audit = site.audit;
  config.fault_loss = site.fault_loss;
  config.fault_delay_seconds = site.fault_delay_seconds;
  config.disclosure = site.disclosure;
  config.training.work = site.training.work;
  return config;
}

/// Columns that the study wants and the data lack, or that the data have beyond the study.
Status check_columns(const Study& study, const PeerConfig& config, const PeerProblem& problem) {
  if (study.terms.fit.columns.empty()) return success();
  if (!problem.columns)
    return Error{config.training.data, "has no names of columns; expected a CSV file"};
  std::vector<std::string> wanted = study.terms.fit.columns, found = problem.columns->features,
                           missing, more;
  std::ranges::sort(wanted);
  std::ranges::sort(found);
  std::ranges::set_difference(wanted, found, std::back_inserter(missing));
  std::ranges::set_difference(found, wanted, std::back_inserter(more));
  if (!missing.empty())
    return Error{config.training.data,
                 fmt::format("lacks the columns {}", fmt::join(missing, ", "))};
  if (!more.empty())
    return Error{config.training.data,
                 fmt::format("has columns that the study does not use: {}; expected a file without "
                             "them",
                             fmt::join(more, ", "))};
  return success();
}

/// A formula's columns and types. What a site lacks alone, such as a class, others may have.
Result<StudyData> check_table(const PeerConfig& config) {
  const auto table = read_table(config.training.data, config.fit.table);
  if (!table) return table.error();
  if (const auto missing = missing_columns(config.fit, *table); !missing.empty())
    return Error{config.training.data,
                 fmt::format("lacks the columns {}", fmt::join(missing, ", "))};
  StudyData result{.rows = table->rows(), .forbidden = find_fit_violation(config, *table)};
  const auto alone = make_fit_data(config.fit, config.training, {*table});
  if (!alone) {
    result.alone = alone.error().text();
    return result;
  }
  const Design& design = alone->designs.front();
  result.coefficients = alone->column_names().size() + (alone->model.intercept ? 1 : 0);
  if (!result.forbidden)
    result.forbidden = find_design_violation(config.disclosure, *alone, design, config.members);
  return result;
}

}  // namespace

std::string trust_store(const Study& study) {
  std::string text;
  for (const SiteCertificate& one : study.members) text += one.pem;
  return text;
}

std::string kept_study(const Study& study, const Site& site) {
  return (fs::path(site.settings.state) / study.name / (study.name + ".study")).string();
}

Result<PeerConfig> peer_config_of(const Study& study, const Site& site, const std::string& data) {
  const auto place = place_of(study, site);
  if (!place) return place.error();
  PeerConfig config = with_settings(study.terms, site.settings);
  if (fits_formula(config)) prepare_fit(config);
  config.network = study.name;
  config.name = site.name();
  config.members = study.members.size();
  config.holder = study.members.front().name;
  config.join = !site.certificate.inbound;  // it dials all its neighbours
  for (const std::size_t k : study.neighbours(*place)) {
    const SiteCertificate& neighbour = study.members[k];
    config.neighbours.push_back({neighbour.name, neighbour.inbound ? neighbour.address : ""});
  }
  config.training.data = data;
  config.state = (fs::path(site.settings.state) / study.name).string();
  config.ca = (fs::path(config.state) / "members.crt").string();
  config.certificate = site.file(".crt");
  config.key = site.file(".key");
  return config;
}

Result<StudyData> check_data(const Study& study, const PeerConfig& config) {
  if (Status status = check(config); !status) return status.error();
  if (fits_formula(config)) return check_table(config);
  PeerConfig own = config;
  const auto problem = load_problem(own);
  if (!problem) return problem.error();
  if (Status status = check_columns(study, config, *problem); !status) return status.error();
  return StudyData{.rows = problem->rows,
                   .coefficients = static_cast<std::uint64_t>(problem->objective->dimension()),
                   .forbidden = problem->forbidden};
}

Status accept(Study& study, const Site& site, const std::string& data, std::uint64_t rows) {
  const auto place = place_of(study, site);
  if (!place) return place.error();
  auto digest = data_digest(data, site.key);
  if (!digest) return digest.error();
  const bool counts =
      !fits_formula(study.terms) && study.terms.training.weighting == Weighting::sample;
  auto acceptance = sign_acceptance(
      study.digest(),
      {.member = site.name(), .time = utc_now(), .data = *digest, .rows = counts ? rows : 0},
      site.key);
  if (!acceptance) return acceptance.error();
  std::erase_if(study.acceptances,
                [&](const Acceptance& one) { return one.member == site.name(); });
  Study accepted = study;
  accepted.acceptances = {*acceptance};
  return merge(study, accepted);
}

Result<PeerConfig> prepare_peer(const Study& study, const Site& site, const std::string& data) {
  auto config = peer_config_of(study, site, data);
  if (!config) return config.error();
  const auto own = std::ranges::find(study.acceptances, site.name(), &Acceptance::member);
  if (own == study.acceptances.end())
    return Error{"study", fmt::format("{} has not accepted it; expected grove study accept before",
                                      site.name())};
  const auto digest = data_digest(data, site.key);
  if (!digest) return digest.error();
  if (*digest != own->data)
    return Error{"--data", fmt::format("{} accepted the study for other data than {}; expected "
                                       "those, or grove study accept again",
                                       site.name(), data)};
  if (Status status = check(*config); !status) return status.error();
  std::error_code failed;
  fs::create_directories(config->state, failed);
  if (Status status = write_file_atomically(config->ca, trust_store(study)); !status)
    return status.error();
  config->acceptances = std::make_shared<Acceptances>(study, site.name(), kept_study(study, site));
  return config;
}

}  // namespace grove::peer
