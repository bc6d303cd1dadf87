#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grove/base/result.h"
#include "grove/peer/peer_config.h"
#include "grove/peer/study/acceptance.h"
#include "grove/peer/study/site_certificate.h"

namespace grove::peer {

/// Problem and method where a study says nothing else.
PeerConfig usual_terms();

/// What members compute together, with whom, and who has accepted it: the contents of a study file.
/// Everything but the acceptances has one text, which each acceptance signs.
struct Study {
  std::string name;
  std::uint64_t version = 1;
  std::string previous;  ///< digest of the version before; empty: there is none
  std::string graph = "ring";
  std::vector<SiteCertificate> members;
  std::vector<std::pair<std::size_t, std::size_t>> links;  ///< of members
  std::vector<Acceptance> acceptances;                     ///< in the order of the members

  PeerConfig terms = usual_terms();  ///< problem and method

  std::string terms_text() const;  ///< all but the acceptances
  std::string text() const;
  std::string digest() const;  ///< SHA-256 of terms_text()

  /// The place of the member of that name; nothing for a stranger.
  std::optional<std::size_t> member(const std::string& site) const;
  std::vector<std::size_t> neighbours(std::size_t member) const;
  std::vector<std::string> member_names() const;
  std::vector<std::string> waiting() const;  ///< names of those that have not accepted
};

/// The options of the problem, as `grove study new` takes them, bound to the study.
std::vector<Option> problem_options(Study& study);

/// Links the members by the graph, and checks the study. Errors name the flag.
Status complete(Study& study);

/// Checks what no single field can see alone: members, links, problem, signatures.
Status check(const Study& study);

/// Reads a study file, which must be exactly as it was written, and checks it.
Result<Study> read_study(const std::string& path);
/// The same for its text. `where` names it in errors.
Result<Study> parse_study(const std::string& text, const std::string& where);

/// Adds the acceptances that another copy of the same study has.
Status merge(Study& study, const Study& other);

}  // namespace grove::peer
