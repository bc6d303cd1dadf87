#include "grove/peer/metrics.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "grove/peer/free_ports.h"

namespace grove::peer {
namespace {

/// The answer to GET /metrics at that address; empty if nobody listens.
std::string fetch(const std::string& host, std::uint16_t port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  std::string answer;
  if (::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    EXPECT_EQ(::write(file, request.data(), request.size()), ssize_t(request.size()));
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(file, buffer, sizeof buffer)) > 0;)
      answer.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(file);
  return answer;
}

PeerStatus example() {
  PeerStatus status{.name = "peer-0", .activations = 17, .residual = 0.25, .members = 3};
  status.links.push_back({.name = "peer-1", .connected = true, .counts = {.bytes_sent = 100}});
  status.links[0].counts.rejected[static_cast<std::size_t>(RejectReason::not_finite)] = 4;
  return status;
}

TEST(Metrics, ServeThePeersStatusToPrometheus) {
  const auto port = free_ports(1)->front();
  const auto metrics = Metrics::serve("127.0.0.1:" + std::to_string(port), example);
  ASSERT_TRUE(metrics) << metrics.error().text();
  const std::string answer = fetch("127.0.0.1", port);
  for (const char* line :
       {"# TYPE grove_activations_total counter", "grove_activations_total{peer=\"peer-0\"} 17",
        "grove_residual{peer=\"peer-0\"} 0.25", "grove_members{peer=\"peer-0\"} 3",
        "grove_waiting{peer=\"peer-0\"} 0", "grove_phase{peer=\"peer-0\",phase=\"starting\"} 1",
        "grove_checkpoint_age_seconds{peer=\"peer-0\"} -1",
        "grove_link_connected{peer=\"peer-0\",neighbour=\"peer-1\"} 1",
        "grove_link_bytes_total{peer=\"peer-0\",neighbour=\"peer-1\"} 100",
        "grove_refused_total{peer=\"peer-0\",from=\"peer-1\",reason=\"not_finite\"} 4"})
    EXPECT_NE(answer.find(line), std::string::npos) << line << "\n" << answer;
}

/// A connection that never completes its request.
int half_sent_request(std::uint16_t port) {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  EXPECT_EQ(::connect(file, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::write(file, "GET /met", 8), 8);
  return file;
}

TEST(Metrics, AreServedWhileOthersSendHalfARequest) {
  const auto port = free_ports(1)->front();
  const auto metrics = Metrics::serve("127.0.0.1:" + std::to_string(port), example);
  ASSERT_TRUE(metrics) << metrics.error().text();
  std::vector<int> files;
  for (int k = 0; k < 12; ++k) files.push_back(half_sent_request(port));
  EXPECT_NE(fetch("127.0.0.1", port).find("grove_members"), std::string::npos);
  for (const int file : files) ::close(file);
}

TEST(Metrics, AreServedAtTheGivenAddressOnly) {
  const auto port = free_ports(1)->front();
  const auto metrics = Metrics::serve("127.0.0.1:" + std::to_string(port), example);
  ASSERT_TRUE(metrics);
  EXPECT_EQ(fetch("127.0.0.2", port), "");  // another address of the same machine
}

TEST(Metrics, NameTheKeyIfTheAddressIsTaken) {
  const auto port = free_ports(1)->front();
  const std::string address = "127.0.0.1:" + std::to_string(port);
  const auto first = Metrics::serve(address, example), second = Metrics::serve(address, example);
  ASSERT_TRUE(first);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().where, "metrics");
  EXPECT_NE(second.error().what.find(address), std::string::npos);
}

}  // namespace
}  // namespace grove::peer
