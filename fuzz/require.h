#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace grove {

/// Stops the fuzzer, which then keeps the input, where something is wrong.
inline void require_no_flaw(const std::string& flaw) {
  if (flaw.empty()) return;
  std::fprintf(stderr, "%s\n", flaw.c_str());
  std::abort();
}

}  // namespace grove
