#include "grove/peer/study/study.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "grove/base/file.h"
#include "grove/data/digest.h"
#include "grove/network/topology.h"
#include "grove/peer/study/reachability.h"

namespace grove::peer {
namespace {

constexpr std::size_t fewest_members = 2;

Error twice(const SiteCertificate& a, const SiteCertificate& b) {
  if (a.name == b.name)
    return {"--members", fmt::format("{} is a member twice; expected each site once", a.name)};
  if (a.public_key == b.public_key)
    return {"--members",
            fmt::format("{} and {} have the same key: one site is a member twice", a.name, b.name)};
  return {"--members", fmt::format("{} and {} have the same address {}; expected one each", a.name,
                                   b.name, a.address)};
}

Status check_members(const Study& study) {
  if (study.members.size() < fewest_members)
    return Error{"--members", fmt::format("{} site; expected the certificates of {} or more",
                                          study.members.size(), fewest_members)};
  for (std::size_t k = 0; k < study.members.size(); ++k) {
    for (std::size_t j = 0; j < k; ++j) {
      const SiteCertificate &a = study.members[j], &b = study.members[k];
      if (a.name == b.name || a.public_key == b.public_key ||
          (a.address == b.address && a.inbound && b.inbound))
        return twice(a, b);
    }
    if (Status status = check_validity(study.members[k]); !status) return status;
  }
  return success();
}

Status check_links(const Study& study) {
  std::vector<Edge> edges;
  for (const auto& [a, b] : study.links)
    edges.emplace_back(AgentId{static_cast<std::uint32_t>(std::min(a, b))},
                       AgentId{static_cast<std::uint32_t>(std::max(a, b))});
  const auto graph = Graph::from_edges(study.members.size(), std::move(edges), "--graph");
  if (!graph) return graph.error();
  return check_reachability(study.members, study.links);
}

/// The errors of settings begin with the name of the key.
Status check_problem(const Study& study) {
  if (const Status terms = check_terms(study.terms); !terms)
    return Error{"", "--" + terms.error().what};
  return success();
}

}  // namespace

std::string Study::digest() const {
  Sha256 digest;
  digest.update(terms_text());
  return digest.finish();
}

std::optional<std::size_t> Study::member(const std::string& site) const {
  const auto found = std::ranges::find(members, site, &SiteCertificate::name);
  if (found == members.end()) return std::nullopt;
  return static_cast<std::size_t>(found - members.begin());
}

std::vector<std::size_t> Study::neighbours(std::size_t member) const {
  std::vector<std::size_t> result;
  for (const auto& [a, b] : links)
    if (a == member || b == member) result.push_back(a == member ? b : a);
  return result;
}

std::vector<std::string> Study::member_names() const {
  std::vector<std::string> names;
  for (const SiteCertificate& one : members) names.push_back(one.name);
  return names;
}

std::vector<std::string> Study::waiting() const {
  std::vector<std::string> names = member_names();
  std::erase_if(names, [&](const std::string& member) {
    return std::ranges::find(acceptances, member, &Acceptance::member) != acceptances.end();
  });
  return names;
}

Status complete(Study& study) {
  if (Status status = check_members(study); !status) return status;
  const GraphSpec spec(study.graph);
  if (Status status = spec.status(); !status) return Error{"--graph", status.error().what};
  const auto graph = make_graph(spec, study.members.size(), 1);
  if (!graph) return graph.error();
  study.links.clear();
  for (const auto& [a, b] : graph->edges()) study.links.emplace_back(a.value, b.value);
  study.terms.members = study.members.size();
  study.terms.holder = study.members.front().name;
  return check(study);
}

Status check(const Study& study) {
  if (Status status = check_site_name(study.name); !status)
    return Error{"study", status.error().what};
  if (Status status = check_members(study); !status) return status;
  if (Status status = check_links(study); !status) return status;
  if (Status status = check_problem(study); !status) return status;
  const std::string digest = study.digest();
  for (const Acceptance& one : study.acceptances)
    if (Status status = check_acceptance(digest, one, study.members); !status) return status;
  return success();
}

Result<Study> read_study(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  return parse_study(*text, path);
}

Status merge(Study& study, const Study& other) {
  if (study.digest() != other.digest())
    return Error{"study",
                 fmt::format("version {} of '{}' is another study than version {} of '{}'; "
                             "expected copies of the same",
                             other.version, other.name, study.version, study.name)};
  for (const Acceptance& one : other.acceptances) {
    const auto found = std::ranges::find(study.acceptances, one.member, &Acceptance::member);
    if (found == study.acceptances.end())
      study.acceptances.push_back(one);
    else if (std::tie(one.time, one.signature) > std::tie(found->time, found->signature))
      *found = one;  // accepted again, for other data
  }
  std::ranges::sort(study.acceptances, {},
                    [&](const Acceptance& one) { return *study.member(one.member); });
  return success();
}

}  // namespace grove::peer
