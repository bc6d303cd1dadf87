#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "grove/peer/peer.pb.h"
#include "grove/peer/study/study.h"

namespace grove::peer {

/// The acceptances of a study, as a running peer knows them: those of its file, and those in the
/// signed entries of the members. May be used by several threads.
class Acceptances {
 public:
  /// `self` must have accepted. The study with all that is learned is kept in the file `kept`,
  /// which may have some from before.
  Acceptances(Study study, std::string self, std::string kept);

  std::string study_id() const;  ///< equal at all members: name, version and digest
  v1::Acceptance own() const;
  /// Ignores an acceptance that is not that of the member for this study.
  void add(const std::string& member, const v1::Member& entry);
  std::vector<std::string> waiting() const;  ///< names of those that have not accepted
  /// n D_i / sum D of this member, where acceptances have rows; otherwise, or as long as some are
  /// missing, 1.
  double scale() const;

 private:
  void keep() const;

  mutable std::mutex mutex_;
  Study study_;
  const std::string self_, kept_, digest_;
};

}  // namespace grove::peer
