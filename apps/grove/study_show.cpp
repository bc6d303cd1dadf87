#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "study.h"

namespace grove::app {
namespace {

using peer::Certify;
using peer::PeerConfig;
using peer::Study;

/// The lines below [problem] in the study file.
void print_problem(const Study& study) {
  const std::string text = study.terms_text();
  const auto begin = text.find("\n[problem]\n") + std::string_view("\n[problem]\n").size();
  fmt::print("What is computed\n");
  std::string line = "  ";
  for (const char c : text.substr(begin, text.find("\n\n", begin) + 1 - begin)) {
    line += c;
    if (c != '\n') continue;
    fmt::print("{}", line);
    line = "  ";
  }
}

void print_members(const Study& study, const std::string& own) {
  fmt::print("\nWith whom (graph {})\n", study.graph);
  for (std::size_t k = 0; k < study.members.size(); ++k) {
    const peer::SiteCertificate& one = study.members[k];
    std::vector<std::string> neighbours;
    for (const std::size_t j : study.neighbours(k)) neighbours.push_back(study.members[j].name);
    fmt::print("  {:<24} {:<24} linked to {}{}{}\n    fingerprint {}\n", one.name, one.address,
               fmt::join(neighbours, ", "), one.inbound ? "" : "; dials only",
               one.name == own ? "  (this site)" : "", one.fingerprint);
  }
}

/// Of the sums with which a method with links certifies its answer.
void print_certify_disclosed(Certify certify) {
  if (certify == Certify::open)
    fmt::print("  to a neighbour:  the Hessian of this site's data at the answer\n");
  if (certify == Certify::masked)
    fmt::print(
        "  to all members:  sums over all members of loss, gradient and Hessian at the answer;\n"
        "                   every site's own part is masked\n");
}

/// docs/reference/security.md says more. The method `auto` with open sums may choose either.
void print_disclosed(const Study& study) {
  const Config& training = study.terms.training;
  const bool masked = training.sums == SumsKind::masked;
  fmt::print("\nWhat leaves this site (never a row)\n");
  if (!training.dp.empty())
    fmt::print(
        "  to all members:  sums over all members of gradients and curvature, with noise: {}\n",
        training.dp.text());
  else if (masked)
    fmt::print(
        "  to all members:  sums over all members of loss, gradient and Hessian; every site's own\n"
        "                   part is masked, so that nobody sees it\n");
  else if (training.method == Method::automatic || training.method.traits().sums_over_tree)
    fmt::print(
        "  to a neighbour:  loss, gradient and Hessian of this site's data, or sums with those of\n"
        "                   the sites behind it (sums = \"masked\" would hide them)\n");
  if (!masked && !training.method.traits().sums_over_tree)
    fmt::print(
        "  to neighbours:   estimates of the coefficients, from which the gradient of this site's\n"
        "                   data follows, and weights made of its Hessian\n");
  if (study.terms.contributions)
    fmt::print("  to all members:  the signed gradient of this site's data at the answer\n");
  if (!masked && !training.method.traits().sums_over_tree)
    print_certify_disclosed(settled_certify(study.terms));
  if (fits_formula(study.terms))
    fmt::print(
        "  to all members:  a summary of this site's table: its columns, rows, missing cells, and\n"
        "                   the values of its factors\n");
  if (training.weighting == Weighting::sample && !fits_formula(study.terms))
    fmt::print("  to all members:  the number of this site's rows, in its acceptance\n");
  fmt::print("  to all members:  the answer, names of columns and labels, residuals, counters\n");
}

void print_rules(const PeerConfig& config) {
  const peer::DisclosureRules& rules = config.disclosure;
  fmt::print("\nRules of this site\n");
  if (!rules.enforced()) {
    fmt::print("  disclosure = \"off\": none\n");
    return;
  }
  fmt::print(
      "  at least {} rows, {} members, and {} rows of each class or value of a binary column\n"
      "  at most {:.3g} coefficients for each row\n",
      rules.min_rows, rules.min_members, rules.min_count, rules.max_ratio);
  if (!rules.columns.empty()) fmt::print("  only the columns {}\n", fmt::join(rules.columns, ", "));
}

void print_acceptances(const Study& study) {
  fmt::print("\nWho has accepted\n");
  for (const peer::Acceptance& one : study.acceptances)
    fmt::print("  {:<24} {}{}\n", one.member, one.time,
               one.rows > 0 ? fmt::format(", {} rows", one.rows) : "");
  const auto waiting = study.waiting();
  if (!waiting.empty()) fmt::print("  not yet: {}\n", fmt::join(waiting, ", "));
}

}  // namespace

void print_study(const Study& study, const PeerConfig* config) {
  fmt::print("Study {}, version {}{}\ndigest {}\n\n", study.name, study.version,
             study.previous.empty() ? "" : ", follows " + study.previous, study.digest());
  print_problem(study);
  print_members(study, config != nullptr ? config->name : "");
  print_disclosed(study);
  if (config != nullptr) print_rules(*config);
  print_acceptances(study);
}

}  // namespace grove::app
