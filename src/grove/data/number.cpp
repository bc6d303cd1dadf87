#include "grove/data/number.h"

#include <charconv>

namespace grove {

const char* read_any_number(const char* at, const char* end, double& value) {
  if (at != end && *at == '+') {
    ++at;
    if (at != end && *at == '-') return nullptr;
  }
  const auto [stop, error] = std::from_chars(at, end, value);
  return error == std::errc{} ? stop : nullptr;
}

}  // namespace grove
