#pragma once

#include <string>
#include <vector>

#include "grove/peer/study/site.h"
#include "grove/peer/study/study.h"

namespace grove::peer {

/// One thing that was looked at.
struct Finding {
  enum class Kind {
    good,
    others,  ///< another site has to do something, or the network between
    bad      ///< this site has to do something
  };
  Kind kind = Kind::good;
  std::string subject, text;
};

/// Looks at certificates, clock, port, data and neighbours of a site for a study, and at its peer,
/// if one runs. Sends nothing but requests for the status of peers. No data: empty.
std::vector<Finding> diagnose(const Study& study, const Site& site, const std::string& data);

/// What an error of a connection means in plain words.
std::string reason_of(const std::string& error, const std::string& address);

}  // namespace grove::peer
