#pragma once

#include <string>
#include <vector>

#include "grove/peer/members.h"

namespace grove::peer {

/// A sentence that says for whom a peer waits and for how long; empty if for nobody. Members that
/// are silent for `forget_seconds` are no longer waited for.
std::string waiting_text(const std::vector<AwaitedMember>& awaited, double forget_seconds,
                         double seconds_since_start);

/// Decides when the sentence is logged: after ten seconds, and then at intervals that double.
class WaitingLog {
 public:
  bool is_due(const std::string& text, double now);

 private:
  double since_ = -1, next_ = 0;
};

}  // namespace grove::peer
