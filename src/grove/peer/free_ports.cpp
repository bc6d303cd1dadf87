#include "grove/peer/free_ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace grove::peer {
namespace {

constexpr std::uint16_t first_port = 10'000;
constexpr std::uint16_t last_port = 32'000;

bool is_free(std::uint16_t port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = ::bind(file, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(file);
  return bound;
}

}  // namespace

Result<std::vector<std::uint16_t>> free_ports(std::size_t count) {
  constexpr unsigned range = last_port - first_port;
  // Concurrent processes start their search at different ports.
  const unsigned offset = static_cast<unsigned>(::getpid()) * 7919u % range;
  std::vector<std::uint16_t> ports;
  for (unsigned k = 0; k < range && ports.size() < count; ++k) {
    const auto port = static_cast<std::uint16_t>(first_port + (offset + k) % range);
    if (is_free(port)) ports.push_back(port);
  }
  if (ports.size() < count) return Error{"--agents", "not enough free ports on this machine"};
  return ports;
}

}  // namespace grove::peer
