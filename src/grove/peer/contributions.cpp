#include "grove/peer/contributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "grove/base/file.h"
#include "grove/peer/wire.h"

namespace grove::peer {
namespace {

/// Members evaluate their gradients at answers that differ by the tolerance.
constexpr double vanishing_share = 1e-3;

std::optional<v1::Contribution> parse_contribution(const v1::SignedMember& entry, Index dimension) {
  v1::Contribution contribution;
  if (!contribution.ParseFromString(entry.member()) || contribution.gradient_size() != dimension ||
      !is_peer_name(contribution.name()) ||
      !std::ranges::all_of(contribution.gradient(),
                           [](double value) { return std::abs(value) <= max_value; }))
    return std::nullopt;
  return contribution;
}

Vector gradient_of(const v1::Contribution& contribution) {
  return Eigen::Map<const Vector>(contribution.gradient().data(), contribution.gradient_size());
}

/// The part of `sum` that no subgradient of n r at x cancels.
Vector uncancelled(const Vector& sum, const v1::AnswerAudit& audit, double members) {
  Vector result = sum;
  for (Index k = 0; k < static_cast<Index>(audit.regularized()); ++k) {
    const double x = audit.answer(static_cast<int>(k));
    const double l1 = members * audit.l1(), infinite = std::numeric_limits<double>::infinity();
    const double low = x <= audit.low() ? -infinite : (x > 0 ? l1 : -l1);
    const double high = x >= audit.high() ? infinite : (x < 0 ? -l1 : l1);
    result[k] = sum[k] + std::clamp(-sum[k], low, high);
  }
  return result;
}

}  // namespace

void Contributions::set_own(const std::string& run, const Vector& gradient) {
  v1::Contribution contribution;
  contribution.set_name(self_);
  contribution.set_run(run);
  contribution.mutable_gradient()->Add(gradient.begin(), gradient.end());
  entries_[self_] = {run, signer_.sign_contribution(contribution)};
}

void Contributions::merge(const v1::Heartbeat& heartbeat, const std::string& run) {
  for (const v1::SignedMember& entry : heartbeat.contributions()) {
    const auto received = parse_contribution(entry, dimension_);
    if (!received || received->name() == self_ || received->run() != run) continue;
    const auto known = entries_.find(received->name());
    if (known != entries_.end() && known->second.entry.member() == entry.member()) continue;
    if (signer_.verify_contribution(entry, received->name()))
      entries_[received->name()] = {run, entry};
  }
}

void Contributions::add_to(v1::Heartbeat& heartbeat) const {
  if (!entries_.contains(self_)) return;  // this peer has no answer yet
  for (const auto& [name, one] : entries_) {
    v1::SignedMember& copy = *heartbeat.add_contributions();
    copy = one.entry;
    copy.clear_certificate();  // those of the members' entries serve
  }
}

bool Contributions::complete(const std::vector<std::string>& members,
                             const std::string& run) const {
  return std::ranges::all_of(members, [&](const std::string& name) {
    const auto found = entries_.find(name);
    return found != entries_.end() && found->second.run == run;
  });
}

std::vector<v1::SignedMember> Contributions::entries() const {
  std::vector<v1::SignedMember> result;
  for (const auto& [name, one] : entries_) {
    result.push_back(one.entry);
    result.back().set_certificate(signer_.certificate_of(name));
  }
  return result;
}

bool ContributionReport::sum_vanishes() const {
  return missing.empty() && residual <= vanishing_share * longest;
}

bool ContributionReport::any_beyond_bound() const {
  return std::ranges::any_of(members, &MemberContribution::beyond_bound);
}

nlohmann::json to_json(const ContributionReport& report) {
  nlohmann::json lengths = nlohmann::json::object(), beyond = nlohmann::json::array();
  for (const MemberContribution& one : report.members) {
    lengths[one.name] = one.length;
    if (one.beyond_bound) beyond.push_back(one.name);
  }
  return {{"sum_vanishes", report.sum_vanishes()},
          {"residual", report.residual},
          {"gradient_lengths", lengths},
          {"beyond_bound", beyond},
          {"missing", report.missing}};
}

v1::AnswerAudit make_audit(const std::string& network, const std::string& run, const Vector& answer,
                           const Regularizer& regularizer, double bound) {
  v1::AnswerAudit audit;
  audit.set_network(network);
  audit.set_run(run);
  audit.mutable_answer()->Add(answer.begin(), answer.end());
  audit.set_l1(regularizer.l1);
  audit.set_low(regularizer.low);
  audit.set_high(regularizer.high);
  audit.set_regularized(static_cast<std::uint32_t>(regularizer.regularized));
  audit.set_bound(bound);
  return audit;
}

Result<v1::AnswerAudit> read_audit(const std::filesystem::path& path) {
  const auto bytes = read_file(path);
  if (!bytes) return bytes.error();
  v1::AnswerAudit audit;
  if (!audit.ParseFromString(*bytes) || audit.network().empty())
    return Error{path.string(), "is damaged; expected a contributions.bin of a peer"};
  return audit;
}

Result<ContributionReport> check_contributions(const v1::AnswerAudit& audit,
                                               const std::string& authority) {
  const Index dimension = audit.answer_size();
  if (static_cast<Index>(audit.regularized()) > dimension)
    return Error{"regularized", "more coefficients than the answer has"};
  Signer verifier({.ca = authority, .certificate = {}, .key = {}}, audit.network(), {});
  ContributionReport report;
  Vector sum = Vector::Zero(dimension);
  std::set<std::string> missing(audit.members().begin(), audit.members().end());
  for (const v1::SignedMember& entry : audit.entries()) {
    const auto one = parse_contribution(entry, dimension);
    if (!one || one->run() != audit.run() || missing.erase(one->name()) == 0 ||
        !verifier.verify_contribution(entry, one->name()))
      return Error{one ? one->name() : "entry", "is not the signed contribution of a member"};
    const Vector gradient = gradient_of(*one);
    sum += gradient;
    const double length = gradient.norm();
    report.members.push_back({one->name(), length, length > audit.bound()});
    report.longest = std::max(report.longest, length);
  }
  report.missing.assign(missing.begin(), missing.end());
  report.residual = uncancelled(sum, audit, static_cast<double>(report.members.size())).norm();
  return report;
}

}  // namespace grove::peer
