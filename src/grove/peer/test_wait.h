#pragma once

#include <chrono>
#include <thread>

namespace grove::peer {

/// Waits until the condition holds. The limit only keeps a broken test from hanging.
template <class Condition>
bool eventually(const Condition& condition) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace grove::peer
