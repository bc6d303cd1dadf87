#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "grove/peer/study/site.h"
#include "grove/peer/study/study.h"

namespace grove::peer {

/// What a site's data are for a study.
struct StudyData {
  std::uint64_t rows = 0;
  std::uint64_t coefficients = 0;  ///< 0: not known before the members have agreed
  std::string alone;               ///< why these data alone give no model; empty: they do
  std::optional<DisclosureViolation> forbidden;  ///< a rule of the site forbids to take part
};

/// The certificates of all members, which each of them trusts.
std::string trust_store(const Study& study);

/// The file in which a running peer keeps the study with all acceptances that it knows.
std::string kept_study(const Study& study, const Site& site);

/// The configuration with which the site computes its part of the study from `data`. Refuses a site
/// that is not a member, or whose certificate is not the one that the study has.
Result<PeerConfig> peer_config_of(const Study& study, const Site& site, const std::string& data);

/// Reads the data as the peer would, and checks columns, types and the rules of the site.
Result<StudyData> check_data(const Study& study, const PeerConfig& config);

/// Signs the study for these data. The caller has checked them.
Status accept(Study& study, const Site& site, const std::string& data, std::uint64_t rows);

/// The configuration of a peer that computes the study: the site must have accepted it for exactly
/// these data. Writes the members' certificates, which it trusts, to the state folder.
Result<PeerConfig> prepare_peer(const Study& study, const Site& site, const std::string& data);

}  // namespace grove::peer
