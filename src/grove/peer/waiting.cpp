#include "grove/peer/waiting.h"

#include <algorithm>

#include <fmt/format.h>

namespace grove::peer {
namespace {

constexpr double first_seconds = 10;
constexpr std::size_t most_named = 8;

std::string one_text(const AwaitedMember& one, double forget_seconds, double since_start) {
  const std::string who =
      one.name.empty() ? fmt::format("{} more that nobody has seen", one.count) : one.name;
  if (one.working) return fmt::format("{} (still working)", who);
  const double silent = one.silent_seconds < 0 ? since_start : one.silent_seconds;
  return fmt::format("{} (silent for {:.0f} s; {:.0f} s left)", who, silent,
                     std::max(0.0, forget_seconds - silent));
}

}  // namespace

std::string waiting_text(const std::vector<AwaitedMember>& awaited, double forget_seconds,
                         double seconds_since_start) {
  std::string text;
  for (std::size_t k = 0; k < std::min(awaited.size(), most_named); ++k)
    text += (k > 0 ? ", " : "") + one_text(awaited[k], forget_seconds, seconds_since_start);
  if (awaited.size() > most_named)
    text += fmt::format(" and {} others", awaited.size() - most_named);
  return text;
}

bool WaitingLog::is_due(const std::string& text, double now) {
  if (text.empty()) {
    since_ = -1;
    return false;
  }
  if (since_ < 0) {
    since_ = now;
    next_ = now + first_seconds;
  }
  if (now < next_) return false;
  next_ = now + std::max(first_seconds, now - since_);
  return true;
}

}  // namespace grove::peer
