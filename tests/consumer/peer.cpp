#include <cstdio>

#include <grove/peer.h>

// A peer that is given no configuration says so; the libraries of peers are all linked.
int main() {
  const auto outcome = grove::peer::run_peer("no-such-peer.toml", {});
  if (outcome) return 1;
  std::printf("%s\n", outcome.error().text().c_str());
  return outcome.error().text().find("no-such-peer.toml") == std::string::npos ? 1 : 0;
}
