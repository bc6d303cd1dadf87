#pragma once

#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "grove/base/result.h"

namespace grove {

/// Serves the view over HTTP, to those who have its address: the path begins with a random token.
/// It answers GET of two paths, and only to requests for its own host that no other site made.
class ViewServer {
 public:
  /// `listen`: HOST:PORT; port 0 is any free one.
  static Result<std::unique_ptr<ViewServer>> start(const std::string& listen,
                                                   const nlohmann::json& runs);
  virtual ~ViewServer() = default;  ///< ends the server
  virtual std::string address() const = 0;
};

}  // namespace grove
