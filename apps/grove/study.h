#pragma once

#include <string>

#include "grove/peer/study/site.h"
#include "grove/peer/study/study.h"

namespace grove::app {

/// The site that was given, or the only member whose key lies in this folder or beside the study.
Result<peer::Site> site_of(const peer::Study& study, const std::string& file,
                           const std::string& given);

/// What is computed, with whom, what leaves this site and who has accepted. `config` has this
/// site's rules; null: the reader is not a member.
void print_study(const peer::Study& study, const peer::PeerConfig* config);

}  // namespace grove::app
