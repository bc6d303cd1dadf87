#pragma once

// A web server for one file on the loopback interface, for the tests of downloads.

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace grove::testing_files {

struct ServerBehaviour {
  std::string content;
  bool ignores_ranges = false;
  std::string status;       ///< e.g. "404 Not Found": answered instead of the content
  std::string redirect_to;  ///< address to redirect to
  std::size_t drop_after =
      ~std::size_t{0};  ///< closes the connection after that many content bytes
};

class TestServer {
 public:
  explicit TestServer(ServerBehaviour behaviour) : behaviour_(std::move(behaviour)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 8);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;
  ~TestServer() {
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  const std::string& url() const { return url_; }
  /// The requests so far, headers and all.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

 private:
  void serve() {
    while (!stopping_) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) continue;
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::recv(connection, buffer, sizeof buffer, 0);
        if (got <= 0) break;
        request.append(buffer, static_cast<std::size_t>(got));
      }
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      send_all(connection, answer(request));
      ::close(connection);
    }
  }

  std::string answer(const std::string& request) const {
    const std::string closing = "Connection: close\r\n";
    if (!behaviour_.status.empty())
      return "HTTP/1.1 " + behaviour_.status + "\r\n" + closing + "Content-Length: 0\r\n\r\n";
    if (!behaviour_.redirect_to.empty())
      return "HTTP/1.1 302 Found\r\nLocation: " + behaviour_.redirect_to + "\r\n" + closing +
             "Content-Length: 0\r\n\r\n";
    const std::string& content = behaviour_.content;
    std::size_t first = 0;
    const std::size_t range = request.find("Range: bytes=");
    const bool partial = range != std::string::npos && !behaviour_.ignores_ranges;
    if (partial) first = std::strtoull(request.c_str() + range + 13, nullptr, 10);
    if (first >= content.size() && partial)
      return "HTTP/1.1 416 Range Not Satisfiable\r\n" + closing + "Content-Length: 0\r\n\r\n";
    std::string head = partial ? "HTTP/1.1 206 Partial Content\r\n" : "HTTP/1.1 200 OK\r\n";
    if (partial)
      head += "Content-Range: bytes " + std::to_string(first) + "-" +
              std::to_string(content.size() - 1) + "/" + std::to_string(content.size()) + "\r\n";
    head += closing + "Content-Length: " + std::to_string(content.size() - first) + "\r\n\r\n";
    return head + content.substr(first, behaviour_.drop_after);
  }

  static void send_all(int connection, const std::string& bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t now =
          ::send(connection, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return;
      sent += static_cast<std::size_t>(now);
    }
  }

  ServerBehaviour behaviour_;
  int listener_ = -1;
  std::string url_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;  // guards requests_
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace grove::testing_files
