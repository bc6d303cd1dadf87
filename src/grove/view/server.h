#pragma once

#include <memory>
#include <string>

#include "grove/base/result.h"
#include "grove/view/live.h"

namespace grove {

/// Serves the view over HTTP, to those who have its address: the path begins with a random token.
/// It answers GET of three paths, and only to requests for its own host that no other site made:
/// the page, `runs.json` with all that is shown, and `events` (server-sent) with what comes next.
/// At most four pages follow at once. A page that does not read for two seconds is cut off, and
/// may come back.
class ViewServer {
 public:
  /// `listen`: HOST:PORT; port 0 is any free one.
  static Result<std::unique_ptr<ViewServer>> start(const std::string& listen,
                                                   std::shared_ptr<LiveRuns> runs);
  virtual ~ViewServer() = default;  ///< ends the server
  virtual std::string address() const = 0;
};

}  // namespace grove
